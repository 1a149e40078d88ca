// The lines that parties are called by, where several workers could register them: one at a time holds them, the one that has been there the
// longest of those that live. When it is gone the next one registers them, and removes what it had registered.

package import CallEngine
import Foundation

/// The lines of one worker. Used on the campaign's loop.
package final class PartyLines {
    private let engine: Engine
    private let names: [String]
    private var isHeld = false
    private var hasBeenUp = false

    /// - Parameter names: lines of the engine that register.
    package init(_ engine: Engine, _ names: some Sequence<String>) {
        self.engine = engine
        self.names = names.sorted()
    }

    /// Registers the lines when they are this worker's to hold, and ends that when they are another one's.
    /// - Returns: why they cannot be registered; what is refused later is tried again.
    func follow(_ beat: CampaignBeat) -> CampaignProblem? {
        if beat.holdsLines { hold(replacing: beat.leftContacts) } else { release() }
        guard isHeld, !hasBeenUp else { return nil }
        let failed = engine.lines.statuses.first { names.contains($0.name) && $0.state == .failed }
        return failed.map {
            CampaignProblem("the line \($0.name), by which a party is called, is not registered: \($0.detail)")
        }
    }

    private func hold(replacing others: [[String: String]]) {
        guard !isHeld else { return }
        (isHeld, hasBeenUp) = (true, false)
        var gone: [String: [String]] = [:]
        for contacts in others {
            for (line, contact) in contacts { gone[line, default: []].append(contact) }
        }
        engine.startLines(replacing: gone)
    }

    private func release() {
        guard isHeld else { return }
        isHeld = false
        engine.stopLines()
    }

    /// What is registered, by line; empty unless all of them are.
    var contacts: [String: String] {
        guard isHeld else { return [:] }
        let known = names.map { ($0, engine.lines.contact(of: $0)) }
        guard known.allSatisfy({ $0.1 != nil }) else { return [:] }
        hasBeenUp = true
        return Dictionary(uniqueKeysWithValues: known.map { ($0.0, $0.1 ?? "") })
    }
}

/// Contacts by line, as a worker's row has them; empty without any.
enum PartyContacts {
    static func text(_ contacts: [String: String]) -> String {
        guard !contacts.isEmpty, let data = try? JSONEncoder().encode(contacts) else { return "" }
        return String(decoding: data, as: UTF8.self)
    }

    static func read(_ text: String) -> [String: String] {
        (try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))) ?? [:]
    }
}
