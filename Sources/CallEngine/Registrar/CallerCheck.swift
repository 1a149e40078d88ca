// Who it is that sends a request outside of dialogs: digest of calls (RFC 3261 section 22) for users of the registrar, and for lines that are
// known by their credentials and not by their address.

import Basics
import Reactor
import SIP

/// From any thread: a nonce that was given out on one loop counts on all, and each of its counts once.
package final class CallerCheck: Sendable {
    enum Verdict: Equatable, Sendable {
        /// Somebody who need not say who he is.
        case anybody
        /// A call of this line.
        case line(Int)
        /// A user of the registrar.
        case user(String)
        /// The answer to the request: a challenge, or that its credentials are of no use.
        case refused(status: Int, rows: [UInt8])
    }

    private let digest: Locked<DigestServer>
    private let users: [String: DigestSecret]
    /// Lines that are known by digest, by their user name.
    private let lines: [String: (index: Int, secret: DigestSecret)]
    /// The domain that phones log in to; nil without a registrar.
    private let domain: String?

    /// nil where nobody has to say who he is.
    init?(_ registrar: RegistrarSettings?, lines: [LineSettings], secret: [UInt8]) {
        let realm = registrar?.realm ?? "sip"
        var known: [String: (Int, DigestSecret)] = [:]
        for (index, line) in lines.enumerated() where line.isKnownByDigest {
            guard let username = line.username, let password = line.password else { continue }
            known[username] = (index, DigestSecret(user: username, realm: realm, password: password.revealed))
        }
        guard registrar != nil || !known.isEmpty else { return nil }
        self.lines = known
        users = registrar?.users ?? [:]
        domain = registrar?.realm.lowercased()
        digest = Locked(
            DigestServer(
                realm: realm, algorithms: registrar?.algorithms ?? [.md5], offersIntegrity: registrar?.offersIntegrity ?? false,
                secret: secret))
    }

    /// Asks those who say that they are users of the registrar (whether there is such a user is not told), those who have brought
    /// credentials, and where lines are known by digest everybody. For requests that belong to no line by their address.
    /// - Parameters:
    ///   - source: where it came from.
    ///   - local: this end's address as the sender knows it: phones may have it as their domain. A program of this machine has it as its
    ///     own address, and says nothing by it.
    func check(_ request: Message, from source: IPAddress, local: IPAddress, at now: Instant) -> Verdict {
        let from = try? request.from().uri()
        let isOfDomain =
            domain != nil && from.map { $0.host.lowercased() == domain || $0.address == local && source != local } == true
        guard isOfDomain || !lines.isEmpty else { return .anybody }
        return digest.withLock { digest in
            switch digest.check(request, at: now, secretOf: { lines[$0]?.secret ?? users[$0] }) {
            case .challenge(let stale): return .refused(status: 401, rows: digest.challenge(stale: stale, at: now))
            case .refused: return .refused(status: 403, rows: [])
            case .malformed: return .refused(status: 400, rows: [])
            case .accepted(let name):
                if let line = lines[name] { return .line(line.index) }
                // Nobody calls in another's name.
                return isOfDomain && from?.user == name ? .user(name) : .refused(status: 403, rows: [])
            }
        }
    }
}
