// The registrar (RFC 3261 section 10.3): who may register, what becomes of each REGISTER. Path (RFC 3327) and outbound flows (RFC 5626)
// are kept with the bindings; devices that ask for them get a public and a temporary GRUU (RFC 5627). Pure: a request and an instant go in, an answer comes out.

package import Basics

/// Who may register here, and how.
package struct RegistrarSettings: Sendable, Equatable {
    package var realm: String
    package var users: [String: DigestSecret]
    /// Seconds of a binding: at least, at most, and when nothing is asked for.
    package var shortest: Int
    package var longest: Int
    /// Contacts a user may have.
    package var contactLimit: Int
    package var algorithms: [DigestAlgorithm]
    /// qop=auth-int is offered beside auth.
    package var offersIntegrity = false

    package init(
        realm: String, users: [String: DigestSecret], shortest: Int = 60, longest: Int = 3600, contactLimit: Int = 10,
        algorithms: [DigestAlgorithm] = [.md5]
    ) {
        self.realm = realm
        self.users = users
        self.shortest = shortest
        self.longest = longest
        self.contactLimit = contactLimit
        self.algorithms = algorithms
    }
}

package struct Registrar: Sendable {
    /// The final answer to a REGISTER.
    package struct Answer: Sendable {
        package var status: Int
        package var reason: String?
        /// Whole rows, each ended by CRLF.
        package var rows: [UInt8] = []
        package var changes: [BindingChange] = []

        init(_ status: Int, reason: String? = nil, rows: [UInt8] = []) {
            self.status = status
            self.reason = reason
            self.rows = rows
        }
    }

    package let settings: RegistrarSettings
    package private(set) var table = BindingTable()
    private var digest: DigestServer
    private var gruus: TemporaryGRUUs
    private static let extensions: Set<String> = ["path", "outbound", "gruu"]
    /// Octets of a contact, and of a path: more is no honest device's.
    private static let contactLength = 512
    private static let pathLength = 2048

    /// - Parameter secret: random octets, for nonces and names.
    package init(_ settings: RegistrarSettings, secret: [UInt8]) {
        self.settings = settings
        gruus = TemporaryGRUUs(secret: secret)
        digest = DigestServer(
            realm: settings.realm, algorithms: settings.algorithms, offersIntegrity: settings.offersIntegrity,
            secret: secret)
    }

    /// Where a user is reached: the preferred first, of equal ones the newest.
    package func contacts(of user: String, at now: Instant) -> [Binding] {
        table.bindings(of: user, at: now).sorted { ($0.q, $0.expires) > ($1.q, $1.expires) }
    }

    /// The device that a temporary GRUU with this user part names: its user, and its instance as GRUUs name it; nil when it names none (any
    /// more): answer 404 (RFC 5627 section 5.3).
    package func device(named name: String, at now: Instant) -> (user: String, gr: [UInt8])? {
        gruus.epoch(of: name).flatMap { table.owner(ofEpoch: $0, at: now) }
    }

    /// The key of temporary GRUUs, for the file of the bindings.
    package var gruuKey: [UInt8] { gruus.key }

    /// Takes the bindings of a file, and the key of their temporary GRUUs; those of users that are not known any more are left out.
    package mutating func take(_ bindings: BindingTable, key: [UInt8]) {
        table = bindings
        gruus.key = key
        for user in bindings.buckets.flatMap(\.keys) where settings.users[user] == nil { table.set([], of: user) }
    }

    /// Removes a part of what ran out (`BindingTable.sweep`).
    package mutating func sweep(at now: Instant) -> [BindingChange] { table.sweep(at: now) }

    /// A connection ended (`BindingTable.flowEnded`).
    package mutating func flowEnded(_ hop: Hop) -> [BindingChange] { table.flowEnded(hop) }

    // MARK: REGISTER

    package mutating func receive(_ request: Message, from source: Hop, at now: Instant) -> Answer {
        let unknown = request.tokens(.require).filter { !Self.extensions.contains($0.lowercased()) }
        guard unknown.isEmpty else { return Answer(420, rows: Self.row("Unsupported", unknown.joined(separator: ", "))) }
        let user: String
        switch digest.check(request, at: now, secretOf: { settings.users[$0] }) {
        case .accepted(let name): user = name
        case .challenge(let stale): return Answer(401, rows: digest.challenge(stale: stale, at: now))
        case .refused: return Answer(403)
        case .malformed: return Answer(400, reason: "Bad Credentials")
        }
        // Nobody registers for another (section 10.3, step 4).
        guard let to = try? request.to().uri(), to.user == user else { return Answer(403) }
        return update(request, user, source, now)
    }

    private mutating func update(_ request: Message, _ user: String, _ source: Hop, _ now: Instant) -> Answer {
        guard let contacts = try? request.contacts() else { return Answer(400, reason: "Bad Contact") }
        let before = table.bindings(of: user, at: now)
        var after = before
        var changes: [BindingChange] = []
        let isOutOfOrder = before.contains { $0.callID.elementsEqual(request.callID) && $0.cSeq >= request.cSeq }
        var usesFlow = false
        if contacts.contains(where: \.isWildcard) {
            guard contacts.count == 1, request.number(.expires) == 0 else { return Answer(400, reason: "Bad Wildcard") }
            if isOutOfOrder { return Answer(500, reason: "Out of Order") }
            changes = before.map { .removed(user: user, contact: $0.contact) }
            after = []
        } else {
            if !contacts.isEmpty, isOutOfOrder { return Answer(500, reason: "Out of Order") }
            for contact in contacts {
                var made: (binding: Binding, seconds: Int)
                switch binding(contact, request, source, now) {
                case .success(let result): made = result
                case .failure(let refusal): return Answer(refusal.status, reason: refusal.reason, rows: refusal.rows)
                }
                usesFlow = usesFlow || made.binding.regID > 0
                let place = after.firstIndex { Self.isSame($0, made.binding) }
                if made.binding.gr != nil {
                    made.binding.epoch = epoch(of: made.binding, user, replacing: place.map { after[$0] }, in: &after)
                }
                if made.seconds == 0 {
                    guard let place else { continue }
                    changes.append(.removed(user: user, contact: after.remove(at: place).contact))
                } else if let place {
                    after[place] = made.binding
                    changes.append(.refreshed(user: user))
                } else {
                    after.append(made.binding)
                    changes.append(.added(user: user, contact: made.binding.contact, seconds: made.seconds))
                }
            }
            guard after.count <= max(settings.contactLimit, before.count) else { return Answer(403, reason: "Too Many Contacts") }
        }
        if !changes.isEmpty { table.set(after, of: user) }
        var answer = Answer(200, rows: rows(after, request, user, usesFlow: usesFlow, at: now))
        answer.changes = changes
        return answer
    }

    /// The epoch of the device that registers: a REGISTER with another Call-ID than before makes its temporary GRUUs worthless, also those
    /// that its other flows have got (RFC 5627 section 5.1).
    private mutating func epoch(
        of new: Binding, _ user: String, replacing old: Binding?, in bindings: inout [Binding]
    ) -> UInt64 {
        let known = bindings.first { $0.instance == new.instance }?.epoch ?? 0
        let before = old ?? bindings.first { $0.instance == new.instance && $0.regID == new.regID }
        if known != 0, before == nil || before?.callID == new.callID { return known }
        let epoch = gruus.newEpoch(bucket: table.bucket(of: user))
        for place in bindings.indices where bindings[place].instance == new.instance { bindings[place].epoch = epoch }
        return epoch
    }

    private struct Refusal: Error {
        var status: Int
        var reason: String?
        var rows: [UInt8] = []
    }

    /// The binding that one Contact asks for, and its seconds: 0 removes it.
    private func binding(
        _ contact: NameAddress, _ request: Message, _ source: Hop, _ now: Instant
    ) -> Result<(binding: Binding, seconds: Int), Refusal> {
        guard let uri = try? contact.uri(), uri.isSIP, uri.description.utf8.count <= Self.contactLength else {
            return .failure(Refusal(status: 400, reason: "Bad Contact"))
        }
        // What cannot be read counts as an hour (section 20.10); a longer time than we keep is shortened.
        var seconds = settings.longest
        if let asked = contact.parameters["expires"] {
            seconds = asked.isEmpty ? seconds : contact.parameters.number("expires") ?? 3600
        } else if let asked = request.number(.expires) {
            seconds = asked
        }
        seconds = min(seconds, settings.longest)
        if seconds > 0, seconds < settings.shortest {
            return .failure(Refusal(status: 423, rows: Self.row("Min-Expires", "\(settings.shortest)")))
        }
        var binding = Binding(
            contact: Array(uri.description.utf8), expires: now + .seconds(seconds),
            q: Self.preference(contact.parameters["q"].map { text($0) }), callID: Array(request.callID), cSeq: request.cSeq,
            source: source)
        binding.instance = contact.parameters["+sip.instance"].map { Array($0.prefix(128)) } ?? []
        let path = request.values(named: "Path").map { Array(request[$0]) }
        binding.path = Array(path.joined(separator: [Octet.comma]))
        guard binding.path.count <= Self.pathLength, path.allSatisfy({ (try? NameAddress($0, OctetRange(0, $0.count))) != nil })
        else { return .failure(Refusal(status: 400, reason: "Bad Path")) }
        if request.lists(.supported, "outbound"), !binding.instance.isEmpty, let number = contact.parameters.number("reg-id"),
            number > 0, Self.hasFlow(request, path)
        {
            binding.regID = number
        }
        return .success((binding, seconds))
    }

    /// Whether the first hop keeps a flow: we are it, or the nearest proxy says so (RFC 5626 section 6).
    private static func hasFlow(_ request: Message, _ path: [[UInt8]]) -> Bool {
        if let first = path.last, let uri = try? NameAddress(first, OctetRange(0, first.count)).uri() {
            return uri.parameter("ob") != nil
        }
        return request.values(.via).count == 1
    }

    /// Whether both are of one device: the same flow of the same instance (RFC 5626 section 6), else the same URI.
    private static func isSame(_ old: Binding, _ new: Binding) -> Bool {
        if !new.instance.isEmpty, old.instance == new.instance, old.regID == new.regID, new.regID > 0 { return true }
        if old.contact == new.contact { return old.regID == new.regID || new.regID == 0 || old.regID == 0 }
        guard old.regID == 0, new.regID == 0, let left = try? URI(old.contact, OctetRange(0, old.contact.count)),
            let right = try? URI(new.contact, OctetRange(0, new.contact.count))
        else { return false }
        return left.isEquivalent(to: right)
    }

    /// `0.7` in thousandths; 1000 when absent or unreadable (RFC 3261 section 20.10).
    private static func preference(_ text: String?) -> Int {
        guard let text, let value = Double(text), value >= 0, value <= 1 else { return 1000 }
        return Int((value * 1000).rounded())
    }

    // MARK: Rows

    private mutating func rows(
        _ bindings: [Binding], _ request: Message, _ user: String, usesFlow: Bool, at now: Instant
    ) -> [UInt8] {
        let givesGRUU = request.lists(.supported, "gruu")
        var writer = MessageWriter(capacity: 96 + bindings.count * 128)
        for binding in bindings {
            writer.append("Contact: <")
            writer.append(binding.contact)
            writer.append(">;expires=")
            // Rounded up, so that a new one is told as what it is.
            writer.append(max(1, Int(((binding.expires - now).nanoseconds + 999_999_999) / 1_000_000_000)))
            if binding.q != 1000 { writer.append(safe: ";q=0.\(String(binding.q + 1000).dropFirst())") }
            if !binding.instance.isEmpty {
                writer.append(";+sip.instance=\"")
                writer.append(binding.instance)
                writer.append("\"")
            }
            if givesGRUU, let gr = binding.gr {
                writer.append(";pub-gruu=\"sip:")
                writer.append(safe: LocalEnd.escaped(user: user))
                writer.append("@")
                writer.append(safe: settings.realm)
                writer.append(";gr=")
                writer.append(gr)
                writer.append("\";temp-gruu=\"sip:")
                writer.append(gruus.name(of: binding.epoch))
                writer.append("@")
                writer.append(safe: settings.realm)
                writer.append(";gr\"")
            }
            if binding.regID > 0 {
                writer.append(";reg-id=")
                writer.append(binding.regID)
            }
            writer.endLine()
        }
        for value in request.values(named: "Path") { writer.header("Path", octets: request[value]) }
        writer.append("Supported: path, outbound, gruu\r\n")
        if usesFlow { writer.append("Require: outbound\r\n") }
        return writer.octets
    }

    private static func row(_ name: StaticString, _ value: String) -> [UInt8] {
        var writer = MessageWriter(capacity: 64)
        writer.header(name, text: value)
        return writer.octets
    }
}
