// Which loop a message belongs to: that of its Call-ID's hash. An INVITE with Replaces (RFC 3891) comes to the loop of the call whose place
// it takes, and the messages of its dialog follow it there.

package import Basics
package import SIP

/// The loops of dialogs. Belongs to the front's loop.
package final class DialogRouting {
    private struct Moved {
        var index: Int
        /// Then it is forgotten; `never` while its dialog lives.
        var until: Instant
    }

    private let count: Int
    private var moved: [[UInt8]: Moved] = [:]
    /// Dialogs that are remembered; a further one stays with its own hash, and finds nothing to replace.
    private static let capacity = 10_000
    /// So long after its end, and before anybody has taken it, messages of a dialog still come (64*T1).
    private static let linger = Duration.seconds(32)

    /// - Parameter count: of loops.
    package init(count: Int) { self.count = count }

    package var movedCount: Int { moved.count }

    package func index(of message: Message, at now: Instant) -> Int {
        // The registrar's work is all done in one place, and the front's loop has no calls to speak of more than others.
        if message.method == .register { return 0 }
        let own = ShardChoice.index(ofCallID: message.callID, count: count)
        if !moved.isEmpty, let known = moved[Array(message.callID)] { return known.index }
        guard message.method == .invite, message.has(.replaces), message.isOutsideDialog,
            let replaced = try? DialogReference(replacesOf: message)
        else { return own }
        let wanted = moved[replaced.callID]?.index ?? ShardChoice.index(ofCallID: replaced.callID[...], count: count)
        guard wanted != own else { return own }
        if moved.count >= Self.capacity { moved = moved.filter { $0.value.until > now } }
        guard moved.count < Self.capacity else { return own }
        moved[Array(message.callID)] = Moved(index: wanted, until: now + Self.linger)
        return wanted
    }

    /// A dialog lives on another loop than its Call-ID says, or it has ended there.
    package func note(_ callID: [UInt8], lives: Bool, at now: Instant) {
        moved[callID]?.until = lives ? .never : now + Self.linger
        moved = moved.filter { $0.value.until > now }
    }
}
