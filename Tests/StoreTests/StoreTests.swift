// The store, on every database that it knows: values come back as they were, a transaction is whole or not at all, migrations run once, and what is wrong is named.

import Foundation
import Reactor
import Store
import TestKit
import Testing

@Suite struct StoreTests {
    final class Folder {
        let url = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString)")
        init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: url) }
        var path: String { url.appending(path: "store.db").path() }
        func open(_ kind: StoreKind, _ migrations: [String] = [StoreTests.first]) throws -> Database {
            try kind.open(path, migrations)
        }
    }

    static let first =
        "CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT NOT NULL, size DOUBLE PRECISION); CREATE INDEX by_size ON thing (size)"

    @Test(arguments: StoreKind.available) func valuesComeBackAsTheyWere(on kind: StoreKind) throws {
        let folder = try Folder()
        let store = try folder.open(kind)
        defer { store.close() }
        let names = ["", "Müller \u{1F600}", "'; DROP TABLE thing; --", String(repeating: "x", count: 100_000)]
        try store.performAndWait { connection throws(StoreError) in
            for (index, name) in names.enumerated() {
                let changed = try connection.execute(
                    "INSERT INTO thing VALUES (?, ?, ?)", [StoreValue(index), .text(name), index == 0 ? nil : 1.5])
                #expect(changed == 1)
            }
        }
        let rows = try store.performAndWait { connection throws(StoreError) in
            try connection.rows("SELECT * FROM thing ORDER BY id")
        }
        #expect(rows.map { $0[1].text } == names)
        #expect(rows.map { $0[0].integer } == [0, 1, 2, 3])
        #expect(rows.map { $0[2] } == [.null, 1.5, 1.5, 1.5])
    }

    @Test(arguments: StoreKind.available) func aTransactionIsWholeOrNotAtAll(on kind: StoreKind) throws {
        let folder = try Folder()
        let store = try folder.open(kind)
        defer { store.close() }
        let failure = #expect(throws: StoreError.self) {
            try store.performAndWait { connection throws(StoreError) in
                try connection.transaction { () throws(StoreError) in
                    try connection.execute("INSERT INTO thing VALUES (1, 'a', 0)")
                    try connection.execute("INSERT INTO thing VALUES (1, 'b', 0)")
                }
            }
        }
        #expect(failure?.kind == .constraint)
        let count = try store.performAndWait { connection throws(StoreError) in try connection.rows("SELECT count(*) FROM thing")
        }
        #expect(count == [[0]])
    }

    @Test(arguments: StoreKind.available) func migrationsRunOnceAndInOrder(on kind: StoreKind) throws {
        let folder = try Folder()
        try folder.open(kind).close()
        let second = "INSERT INTO thing VALUES (7, 'seven', 7.0)"
        for _ in 0..<2 { try folder.open(kind, [Self.first, second]).close() }
        let store = try folder.open(kind, [Self.first, second])
        let rows = try store.performAndWait { connection throws(StoreError) in try connection.rows("SELECT name FROM thing") }
        #expect(rows == [["seven"]])
        store.close()
        let newer = #expect(throws: StoreError.self) { try folder.open(kind) }
        #expect(newer?.kind == .newer)
    }

    @Test(arguments: StoreKind.available) func aFailedMigrationLeavesNothing(on kind: StoreKind) throws {
        let folder = try Folder()
        #expect(throws: StoreError.self) {
            try folder.open(kind, [Self.first + "; CREATE TABLE thing (x INTEGER)"])
        }
        let store = try folder.open(kind)
        store.close()
    }

    @Test func whatIsWrongIsNamed() throws {
        let folder = try Folder()
        try Data(repeating: 0x41, count: 8192).write(to: URL(filePath: folder.path))
        let corrupt = #expect(throws: StoreError.self) { try Database(sqlite: folder.path, migrations: [Self.first]) }
        #expect(corrupt?.kind == .corrupt)
        let missing = #expect(throws: StoreError.self) {
            try Database(sqlite: folder.path + "/not/there.db", migrations: [Self.first])
        }
        #expect(missing?.kind == .disk)
    }

    @Test(arguments: StoreKind.available) func workIsDoneInOrderAndAllOfItBeforeTheEnd(on kind: StoreKind) throws {
        let folder = try Folder()
        let store = try folder.open(kind)
        let done = Locked<[Int]>([])
        for index in 0..<200 {
            store.perform { connection throws(StoreError) in
                try connection.execute("INSERT INTO thing VALUES (?, 'x', 0)", [StoreValue(index)])
            } then: { result in
                if case .success(1) = result { done.withLock { $0.append(index) } }
            }
        }
        store.close()
        #expect(done.withLock { $0 } == Array(0..<200))
        let late = #expect(throws: StoreError.self) {
            try store.performAndWait { connection throws(StoreError) in try connection.rows("SELECT 1") }
        }
        #expect(late?.message == "the store is closed")
    }
}
