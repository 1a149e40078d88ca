// What PostgreSQL alone can do: several at once, a server that goes away, TLS, and secrets that stay secret.

import Foundation
import Reactor
import Store
import TestKit
import Testing

@Suite(.enabled(if: PostgreSQLCluster.shared != nil, "PostgreSQL is not installed"))
struct PostgreSQLTests {
    let cluster: PostgreSQLCluster
    let space = UUID().uuidString

    init() throws { cluster = try #require(PostgreSQLCluster.shared) }

    func open(_ migrations: [String] = [StoreTests.first], patience: Duration = .seconds(10)) throws -> Database {
        try Database(
            postgresql: try PostgreSQLAddress(cluster.url), space: space, migrations: migrations, patience: patience)
    }

    func count(_ store: Database) throws -> Int? {
        try store.performAndWait { connection throws(StoreError) in
            try connection.rows("SELECT count(*) FROM thing")[0][0].integer
        }
    }

    /// Ends the session of a store in the middle, as a server that is started anew does.
    static func cut(_ connection: any StoreConnection, _ cluster: PostgreSQLCluster) throws(StoreError) {
        let session = try connection.rows("SELECT pg_backend_pid()")[0][0]
        let other = try Database(postgresql: try PostgreSQLAddress(cluster.url), space: "other", migrations: [])
        defer { other.close() }
        _ = try other.performAndWait { connection throws(StoreError) in
            try connection.rows("SELECT pg_terminate_backend(?)", [session])
        }
    }

    @Test func manyMigrateAtOnceAndEachStepRunsOnce() throws {
        let failures = Locked<[String]>([])
        let second = "INSERT INTO thing VALUES (1, 'one', 1.0)"
        let ends = (0..<8).map { _ in
            let end = Outcome<Void>()
            Thread.detachNewThread {
                do { try open([StoreTests.first, second]).close() } catch { failures.withLock { $0.append("\(error)") } }
                end.set(())
            }
            return end
        }
        for end in ends { end.wait() }
        #expect(failures.withLock { $0 } == [])
        let store = try open([StoreTests.first, second])
        defer { store.close() }
        #expect(try count(store) == 1)
    }

    @Test func ownersDoNotSeeEachOther() throws {
        let store = try open()
        defer { store.close() }
        let other = try Database(
            postgresql: try PostgreSQLAddress(cluster.url), space: "\"; DROP \(UUID().uuidString.prefix(20))",
            migrations: [StoreTests.first])
        defer { other.close() }
        try store.performAndWait { connection throws(StoreError) in
            _ = try connection.execute("INSERT INTO thing VALUES (1, '?', 0)")
        }
        #expect(try count(store) == 1)
        #expect(try count(other) == 0)
        let long = #expect(throws: StoreError.self) {
            try Database(
                postgresql: try PostgreSQLAddress(cluster.url), space: String(repeating: "x", count: 64), migrations: [])
        }
        #expect(long?.message.contains("too long") == true)
    }

    @Test func rowsThatAreLockedArePassedOver() throws {
        let (store, other) = (try open(), try open())
        defer {
            store.close()
            other.close()
        }
        let claimed = try store.performAndWait { connection throws(StoreError) in
            for id in 1...6 { try connection.execute("INSERT INTO thing VALUES (?, 'x', 0)", [StoreValue(id)]) }
            let select = connection.locking("SELECT id FROM thing ORDER BY id LIMIT 3", skipsLocked: true)
            return try connection.transaction { () throws(StoreError) in
                let mine = try connection.rows(select).map { $0[0].integer }
                let theirs = try other.performAndWait { connection throws(StoreError) in
                    try connection.transaction { () throws(StoreError) in try connection.rows(select).map { $0[0].integer } }
                }
                return [mine, theirs]
            }
        }
        #expect(claimed == [[1, 2, 3], [4, 5, 6]])
    }

    @Test func workGoesOnWhenTheServerIsThereAgain() throws {
        let store = try open()
        defer { store.close() }
        let tries = Locked(0)
        let cluster = cluster
        try store.performAndWait { connection throws(StoreError) in
            let isFirst = tries.withLock { count in
                count += 1
                return count == 1
            }
            try connection.transaction { () throws(StoreError) in
                try connection.execute("INSERT INTO thing VALUES (1, 'x', 0)")
                if isFirst { try Self.cut(connection, cluster) }
                try connection.execute("INSERT INTO thing VALUES (2, 'x', 0)")
            }
        }
        #expect(tries.withLock { $0 } == 2)
        #expect(try count(store) == 2)
    }

    @Test func twoThatAreInEachOthersWayBothEnd() throws {
        let (store, other) = (try open(), try open())
        try store.performAndWait { connection throws(StoreError) in
            for id in 1...2 { try connection.execute("INSERT INTO thing VALUES (?, 'x', 0)", [StoreValue(id)]) }
        }
        // Each changes one row and then the other's: the server ends one of them (after a second), which begins anew.
        let haveOne = [Outcome<Void>(), Outcome<Void>()]
        let failures = Locked<[StoreError]>([])
        for (mine, store, rows) in [(0, store, [1, 2]), (1, other, [2, 1])] {
            store.perform { connection throws(StoreError) in
                try connection.transaction { () throws(StoreError) in
                    for (index, id) in rows.enumerated() {
                        try connection.execute("UPDATE thing SET size = size + 1 WHERE id = ?", [StoreValue(id)])
                        guard index == 0 else { continue }
                        haveOne[mine].set(())
                        haveOne[1 - mine].wait()
                    }
                }
            } then: { result in
                if case .failure(let error) = result { failures.withLock { $0.append(error) } }
            }
        }
        store.close()
        other.close()
        #expect(failures.withLock { $0 } == [])
        let last = try open()
        defer { last.close() }
        let sizes = try last.performAndWait { connection throws(StoreError) in try connection.rows("SELECT size FROM thing") }
        #expect(sizes == [[2.0], [2.0]])
    }

    @Test func aServerThatIsNotThereIsSaidToBe() throws {
        let address = try PostgreSQLAddress("postgresql://u:top%20secret@127.0.0.1:1/x")
        let error = #expect(throws: StoreError.self) { try Database(postgresql: address, space: "s", migrations: []) }
        #expect(error?.kind == .lost)
        #expect(error?.message.hasPrefix("postgresql://u@127.0.0.1:1/x: ") == true)
        #expect(error?.message.contains("secret") == false)
    }

    @Test func secretsAreInNoWords() throws {
        #expect("\(try PostgreSQLAddress("postgresql://u:hidden@h:5433/db"))" == "postgresql://u@h:5433/db")
        #expect(try PostgreSQLAddress("postgresql://u@h/db").hasPassword == false)
        #expect(!"\(try PostgreSQLAddress("postgresql://h/db?user=u&password=hidden"))".contains("hidden"))
        for wrong in [
            "postgresql://u:hid@den@h/db", "postgresql://u:hid/den@h/db", "postgresql://u:%zz@h/hidden", "mysql://hidden"
        ] {
            let error = #expect(throws: StoreError.self, "\(wrong)") { try PostgreSQLAddress(wrong) }
            #expect(error?.message.contains("den") == false)
        }
        // Swift's ways to print whatever there is.
        var text = ""
        dump(try PostgreSQLAddress("postgresql://u:hidden@h/db"), to: &text)
        #expect(!text.contains("hidden"))
    }

    @Test func passwordsAndTLSAsTheURLSays() throws {
        let store = try open()
        defer { store.close() }
        try store.performAndWait { connection throws(StoreError) in
            let roles = try connection.rows("SELECT 1 FROM pg_roles WHERE rolname = 'guarded'")
            if roles.isEmpty { try connection.execute("CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'right word'") }
        }
        func connect(_ password: String, _ more: String) throws -> String? {
            let url = "postgresql://guarded:\(password)@127.0.0.1:\(cluster.port)/postgres?\(more)"
            let store = try Database(postgresql: try PostgreSQLAddress(url), space: space, migrations: [StoreTests.first])
            defer { store.close() }
            return try store.performAndWait { connection throws(StoreError) in
                try connection.rows("SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")[0][0].text
            }
        }
        let certificate = "\(cluster.folder)/server.crt"
        #expect(try connect("right%20word", "sslmode=verify-full&sslrootcert=\(certificate)") == "TLSv1.3")
        let plain = #expect(throws: StoreError.self) { try connect("right%20word", "sslmode=disable") }
        #expect(plain?.kind == .other, "\(plain as Any)")
        let unknown = #expect(throws: StoreError.self) {
            try connect("right%20word", "sslmode=verify-full&sslrootcert=/dev/null")
        }
        #expect(unknown?.kind == .other, "\(unknown as Any)")
        let wrong = #expect(throws: StoreError.self) { try connect("wrong%20word", "sslmode=require") }
        #expect(wrong?.kind == .other)
        #expect(wrong?.message.contains("authentication failed") == true && wrong?.message.contains("wrong word") == false)
    }

    @Test func whatTheServerRefusesIsNamed() throws {
        let store = try open()
        defer { store.close() }
        let zero = #expect(throws: StoreError.self) {
            try store.performAndWait { connection throws(StoreError) in
                _ = try connection.execute("INSERT INTO thing VALUES (1, ?, 0)", ["a\0b"])
            }
        }
        #expect(zero?.kind == .constraint)
        let slow = #expect(throws: StoreError.self) {
            try store.performAndWait { connection throws(StoreError) in
                try connection.execute("SET statement_timeout = '50ms'")
                _ = try connection.rows("SELECT pg_sleep(10)")
            }
        }
        #expect(slow?.kind == .busy)
        let unknown = #expect(throws: StoreError.self) {
            try store.performAndWait { connection throws(StoreError) in _ = try connection.rows("SELECT * FROM nothing") }
        }
        #expect(unknown?.message == "relation \"nothing\" does not exist (SELECT * FROM nothing)")
        // More statements than the server keeps of us.
        let sum = try store.performAndWait { connection throws(StoreError) in
            var sum = 0
            for number in 0..<200 { sum += try connection.rows("SELECT \(number)")[0][0].integer ?? 0 }
            return sum
        }
        #expect(sum == 19900)
    }
}
