// Whose call is it? Every call that comes in is looked up among the tests that run: by the mark that the caller's INVITE carried, or
// else by number, line and time. Pure.
//
//   mark of a test that runs      that test's; the party by number and line; of an only party even when the number is another
//   mark of a test that is over   late
//   no mark that is known         the oldest running test that waits for a call at this number; then the youngest that had its call
//   none of these                 a stranger

import Basics

/// A call that came in.
struct PartyArrival: Equatable, Sendable {
    /// The user part, or number, of the Request-URI.
    var number: String
    /// The line that it came by; empty without one.
    var line: String
    /// What the header of the mark has; nil without it.
    var token: String?
}

struct PartyBoard {
    struct Expected {
        /// nil: any.
        var number: String?
        var line: String?
    }

    enum Match: String, Equatable {
        case mark
        case number
    }

    enum Place: Equatable {
        case party(Int, of: Int, by: Match)
        /// It belongs to that test, which has nobody at this number.
        case nobody(test: Int)
        /// It belongs to an attempt that is over.
        case late(String)
        case stranger
    }

    private struct Test {
        let token: String
        let parties: [Expected]
        var calls: [Int]
    }

    private var tests: [Int: Test] = [:]
    private var byToken: [String: Int] = [:]
    /// In which they began.
    private var order: [Int] = []
    /// Tests that are over, by their tokens, oldest first; bounded.
    private var over: [(token: String, words: String)] = []
    private static let remembered = 1000

    /// - Parameters:
    ///   - token: the mark of its caller's INVITE.
    ///   - called: how often each party was called already.
    mutating func open(_ id: Int, token: String, _ parties: [Expected], called: [Int] = []) {
        tests[id] = Test(token: token, parties: parties, calls: called.count == parties.count ? called : parties.map { _ in 0 })
        byToken[token] = id
        order.append(id)
    }

    /// - Parameter words: what it is called when a call of it comes late.
    mutating func close(_ id: Int, _ words: String) {
        guard let test = tests.removeValue(forKey: id) else { return }
        byToken[test.token] = nil
        order.removeAll { $0 == id }
        over.append((test.token, words))
        if over.count > Self.remembered { over.removeFirst(over.count - Self.remembered) }
    }

    /// Finds its place, and counts it there.
    mutating func place(_ arrival: PartyArrival) -> Place {
        if let token = arrival.token {
            if let id = byToken[token], let test = tests[id] {
                let fits = test.parties.indices.filter { isFor(test.parties[$0], arrival) }
                // Of several at the same number: the one that has no call yet.
                let party = fits.first { test.calls[$0] == 0 } ?? fits.first ?? (test.parties.count == 1 ? 0 : nil)
                guard let party else { return .nobody(test: id) }
                return count(party, id, by: .mark)
            }
            if let test = over.last(where: { $0.token == token }) { return .late(test.words) }
        }
        return placeByNumber(arrival)
    }

    private mutating func placeByNumber(_ arrival: PartyArrival) -> Place {
        var again: (party: Int, test: Int)?
        for id in order {
            guard let test = tests[id] else { continue }
            for party in test.parties.indices where isFor(test.parties[party], arrival) {
                if test.calls[party] == 0 { return count(party, id, by: .number) }
                again = (party, id)
            }
        }
        guard let again else { return .stranger }
        return count(again.party, again.test, by: .number)
    }

    private mutating func count(_ party: Int, _ test: Int, by match: Match) -> Place {
        tests[test]?.calls[party] += 1
        return .party(party, of: test, by: match)
    }

    /// Whether a test with that mark runs here.
    func runs(_ token: String?) -> Bool { token.flatMap { byToken[$0] } != nil }

    /// How often each party of a test was called.
    func calls(of id: Int) -> [Int] { tests[id]?.calls ?? [] }

    /// Tests of which a party is called at this number.
    func tests(at number: String, but id: Int) -> [Int] {
        order.filter { other in other != id && tests[other]?.parties.contains { Self.isSame($0.number, number) } == true }
    }

    private func isFor(_ party: Expected, _ arrival: PartyArrival) -> Bool {
        (party.number == nil || Self.isSame(party.number, arrival.number)) && (party.line == nil || party.line == arrival.line)
    }

    /// As people write numbers: separators and the plus sign do not count (RFC 3966 section 5.1.1).
    static func isSame(_ wanted: String?, _ number: String) -> Bool {
        guard let wanted else { return false }
        func plain(_ text: String) -> String { text.lowercased().filter { !"-.() +".contains($0) } }
        return plain(wanted) == plain(number)
    }
}
