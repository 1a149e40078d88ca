// Lists out of a database: what a query finds is called, nothing is written, and what cannot be asked is told.

import Dialer
import FlowEngine
import Foundation
import Store
import TestKit
import Testing

@Suite struct StoredListTests {
    /// A database with customers, somebody else's.
    private final class Town {
        let folder: TemporaryFolder
        let store: String
        let space = "town \(UUID().uuidString.prefix(8))"
        private let database: Database

        init(on kind: StoreKind, customers: Int) throws {
            folder = try TemporaryFolder()
            let table =
                "CREATE TABLE customer (id INTEGER PRIMARY KEY, number TEXT, balance DOUBLE PRECISION, active INTEGER NOT NULL)"
            switch kind {
            case .sqlite:
                database = try Database(sqlite: folder.path("town.db"), migrations: [table])
                store = "sqlite:\(folder.path("town.db"))"
            case .postgresql:
                store = try #require(PostgreSQLCluster.shared?.url)
                database = try Database(postgresql: try PostgreSQLAddress(store), space: space, migrations: [table])
            }
            try database.performAndWait { connection throws(StoreError) in
                try connection.transaction { () throws(StoreError) in
                    for id in 0..<customers {
                        try connection.execute(
                            "INSERT INTO customer VALUES (?, ?, ?, ?)",
                            [StoreValue(id), id == 1 ? nil : .text("0\(id)"), .real(Double(id) + 0.5), StoreValue(id % 2)])
                    }
                }
            }
        }

        deinit { database.close() }

        /// The table as a query names it.
        func table(on kind: StoreKind) -> String { kind == .sqlite ? "customer" : "\"\(space)\".customer" }

        func list(_ query: String) throws -> TargetList {
            try TargetList(.query(query, of: try StorePlace(store)))
        }

        func count(on kind: StoreKind) throws -> Int {
            let rows = try StoredRows("SELECT count(*) FROM \(table(on: kind))", of: try StorePlace(store))
            return try rows.next()?.first?.integer ?? 0
        }
    }

    @Test(arguments: StoreKind.available) func rowsComeInTheirOrderWithTheirKinds(on kind: StoreKind) throws {
        let town = try Town(on: kind, customers: 2501)
        let list = try town.list("SELECT id, number, balance AS owes FROM \(town.table(on: kind)) ORDER BY id")
        var rows: [TargetList.Target] = []
        while let row = try list.next() { rows.append(row) }
        #expect(rows.map(\.line) == Array(1...2501))
        let afterwards = try list.next()
        #expect(afterwards == nil)
        #expect(rows[0].value.json == #"{"id":0,"number":"00","owes":0.5}"#)
        #expect(rows[1].value.json == #"{"id":1,"number":null,"owes":1.5}"#)
        #expect(rows[2500].value.json == #"{"id":2500,"number":"02500","owes":2500.5}"#)
    }

    @Test(arguments: StoreKind.available) func aQueryThatFindsNobodyIsAListWithoutRows(on kind: StoreKind) throws {
        let town = try Town(on: kind, customers: 3)
        let list = try town.list("SELECT * FROM \(town.table(on: kind)) WHERE active = 7")
        let row = try list.next()
        #expect(row == nil)
    }

    @Test(arguments: StoreKind.available) func nothingIsWritten(on kind: StoreKind) throws {
        let town = try Town(on: kind, customers: 3)
        let table = town.table(on: kind)
        for query in [
            "DELETE FROM \(table)", "DELETE FROM \(table) RETURNING *", "INSERT INTO \(table) VALUES (9, '9', 0, 0)",
            "SELECT id FROM \(table); DELETE FROM \(table)", "SELECT nothing FROM \(table)", "", "hello"
        ] {
            _ = try? town.list(query).next()
            let count = try town.count(on: kind)
            #expect(count == 3, "\(query)")
        }
        for query in ["DELETE FROM \(table)", "SELECT nothing FROM \(table)", "", "hello", "SELECT id, id FROM \(table)"] {
            #expect(throws: CSVProblem.self, "\(query)") { _ = try town.list(query) }
        }
    }

    @Test func aDatabaseThatIsNotThereIsTold() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("nobody.db")
        let problem = #expect(throws: CSVProblem.self) {
            try TargetList(.query("SELECT 1 AS number", of: .sqlite(path)))
        }
        #expect(problem?.description == "sqlite:\(path):1: unable to open database file (\(path))")
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test(arguments: StoreKind.available) func aCampaignTakesThemIn(on kind: StoreKind) throws {
        let town = try Town(on: kind, customers: 2500)
        let own = try kind.open(town.folder.path("campaign.db"), CampaignStore.migrations, isInline: true)
        defer { own.close() }
        let source = ListSource.query(
            "SELECT number FROM \(town.table(on: kind)) WHERE active = 1 ORDER BY id", of: try StorePlace(town.store))
        let count = try CampaignStore.importList(source, into: own)
        #expect(count == 1250)
        let again = try CampaignStore.importList(source, into: own)
        #expect(again == 1250)
    }

    // MARK: The campaign's file

    private static func read(_ targets: String) -> CampaignReader.Result {
        CampaignReader.read(
            text: "targets: \(targets)\nflow: f.yaml\nto: \"sip:${target.number}@host\"\n", file: "c/nightly.yaml")
    }

    @Test(arguments: [
        ("{ store: \"sqlite:crm.db\", query: \"SELECT number FROM c\" }", "sqlite:c/crm.db: SELECT number FROM c"),
        ("{ store: \"sqlite:/crm.db\", query: \"SELECT 1\" }", "sqlite:/crm.db: SELECT 1"),
        ("{ store: \"postgresql://dialer@db/crm\", query: \"SELECT 1\" }", "postgresql://dialer@db/crm: SELECT 1"),
        ("list.csv", "c/list.csv")
    ]) func aFileNamesItsList(_ targets: String, _ list: String) throws {
        let result = Self.read(targets)
        #expect(result.diagnostics.isEmpty)
        #expect(result.plan?.list.description == list)
    }

    @Test(arguments: [
        ("{ store: \"sqlite:crm.db\" }", "`query`"), ("{ query: \"SELECT 1\" }", "`store`"),
        ("{ store: crm.db, query: \"SELECT 1\" }", "sqlite:FILE or postgresql://user@host/database, not by crm.db"),
        ("{ store: \"sqlite:\", query: \"SELECT 1\" }", "sqlite:FILE"),
        ("{ store: \"postgresql://a:secret@db/crm\", query: \"SELECT 1\" }", "a password has no place in a campaign's file"),
        ("{ store: \"postgresql://a@db/crm?sslpassword=secret\", query: \"SELECT 1\" }", "a password has no place"),
        ("{ store: \"sqlite:a.db\", table: c, query: \"SELECT 1\" }", "`table`"), ("[ a.csv ]", "`targets`")
    ]) func whatIsWrongWithIt(_ targets: String, _ message: String) {
        let result = Self.read(targets)
        #expect(result.plan == nil)
        let words = result.diagnostics.map(\.description).joined(separator: "\n")
        #expect(words.contains(message), "\(words)")
        #expect(!words.contains("secret"))
    }
}
