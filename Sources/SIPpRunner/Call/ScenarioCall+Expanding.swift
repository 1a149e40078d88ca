// Texts with their keywords filled in.

import Basics
import Glibc
import SIP

extension ScenarioCall {
    /// A text by itself: of an action or a command.
    func expand(_ template: Template) -> [UInt8] { expanded(template.segments) }

    func expanded(_ segments: [Template.Segment]) -> [UInt8] {
        if segments.isEmpty { return [] }
        if segments.count == 1, case .literal(let octets) = segments[0] { return octets }
        let buffer = OctetBuffer(capacity: 1024)
        write(Template(segments), into: buffer, at: index)
        return buffer.array
    }

    /// A message: the length of its body and its credentials are filled in when the rest is there.
    func expand(_ template: Template, into buffer: OctetBuffer, at place: Int) {
        write(template, into: buffer, at: place)
    }

    private func write(_ template: Template, into buffer: OctetBuffer, at place: Int) {
        /// Where `[len]` and `[authentication]` stand.
        var lengthAt = -1
        var lengthOffset = 0
        var credentialsAt = -1
        var credentials = Template.Authentication()
        var skipsLineEnd = false
        func emptyLine() { if buffer.count == 0 || buffer.last == UInt8(ascii: "\n") { skipsLineEnd = true } }
        for segment in template.segments {
            switch segment {
            case .literal(let octets):
                if skipsLineEnd {
                    skipsLineEnd = false
                    buffer.append(octets.starts(with: [13, 10]) ? octets[2...] : octets[...])
                } else {
                    buffer.append(octets)
                }
            case .constant(let constant, let offset):
                let value = run.constant(constant)
                buffer.append(text: offset == 0 ? value : Int(value).map { String($0 &+ offset) } ?? value)
            case .callID: buffer.append(id)
            case .callNumber(let offset): buffer.append(number: number &+ offset)
            case .branch(let offset):
                buffer.append("z9hG4bK-")
                buffer.append(number: settings.processID)
                buffer.append("-")
                buffer.append(number: number)
                buffer.append("-")
                buffer.append(number: place &+ offset)
            case .cSeq(let offset): buffer.append(number: cSeq &+ offset)
            case .lastCSeq(let offset): buffer.append(number: Int(recent?.cSeq ?? 0) &+ offset)
            case .peerTag:
                if !peerTag.isEmpty {
                    buffer.append(";tag=")
                    buffer.append(peerTag)
                }
            case .routes:
                if routes.isEmpty {
                    emptyLine()
                } else {
                    buffer.append("Route: ")
                    buffer.append(routes)
                }
            case .nextURL: buffer.append(nextURL)
            case .lastRequestURI: writeLastURI(into: buffer)
            case .lastMessage: if let recent { buffer.append(recent.octets) }
            case .lastHeader(let name): if !writeHeader(name, into: buffer) { emptyLine() }
            case .messageIndex(let offset): buffer.append(number: place &+ offset)
            case .clockTick: buffer.append(number: run.clockTick)
            case .dynamicID: buffer.append(number: dynamicID)
            case .users: buffer.append(number: run.users)
            case .userID: buffer.append(number: userID)
            case .length(let offset):
                lengthAt = buffer.count
                lengthOffset = offset
                buffer.append("     ")
            case .field(let number, let file, let line):
                buffer.append(run.field(number, file: text(expanded(file)), line: text(expanded(line)), of: self))
            case .file(let name): buffer.append(run.contents(of: text(expanded(name))))
            case .variable(let variable): buffer.append(value(variable).octets)
            case .fill(let variable, let text):
                // So many octets in all, the text again and again.
                let count = max(0, min(Int(bounded: value(variable).number ?? 0), 65_000))
                for place in 0..<(text.isEmpty ? 0 : count) { buffer.append(text[place % text.count]) }
            case .date: buffer.append(text: DateText.rfc3261(run.wallClock))
            case .timestamp: buffer.append(text: DateText.stamp(run.wallClock, rfc3339: settings.rfc3339))
            case .authentication(let parameters):
                if challenge == nil {
                    emptyLine()
                } else {
                    credentialsAt = buffer.count
                    credentials = parameters
                }
            case .mediaPort(let offset): writePort(run.mediaPort(of: self, isAutomatic: false) &+ offset, into: buffer)
            case .autoMediaPort(let offset): writePort(run.mediaPort(of: self, isAutomatic: true) &+ offset, into: buffer)
            case .streamPort(let isVideo, let offset):
                writePort(run.streamPort(of: self, isVideo: isVideo) &+ offset, into: buffer)
            case .serverIP: buffer.append(text: run.constant(.localIP))
            case .localPort(let offset): buffer.append(number: run.localPort(of: self) &+ offset)
            case .masterKey(let name, let reuse): buffer.append(text: masterKey(name, reuse: reuse))
            }
        }
        if lengthAt >= 0 {
            let length = buffer.count - Self.bodyStart(buffer.octets) &+ lengthOffset
            buffer.write(number: length, rightOf: lengthAt, width: 5)
        }
        if credentialsAt >= 0 { writeCredentials(credentials, into: buffer, at: credentialsAt) }
    }

    /// Writes a port, which on a line `m=` is where the call's media come from.
    private func writePort(_ port: Int, into buffer: OctetBuffer) {
        var start = buffer.count
        while start > 0, buffer[start - 1] != UInt8(ascii: "\n") { start -= 1 }
        switch String(decoding: buffer.octets[start..<min(start + 7, buffer.count)], as: UTF8.self) {
        case "m=audio": offeredAudio = port
        case "m=video": offeredVideo = port
        case "m=image": offeredImage = port
        default: break
        }
        buffer.append(number: port)
    }

    /// The message that keywords about the last one mean: the one whose actions are running, or the last that moved the call.
    var recent: Message? { lastSeen ?? lastReceived }

    static func bodyStart(_ octets: UnsafeRawBufferPointer) -> Int {
        guard let start = octets.baseAddress else { return 0 }
        var at = 0
        while let found = memchr(start + at, 13, octets.count - at) {
            at = UnsafeRawPointer(found) - start
            guard at + 3 < octets.count else { break }
            if octets[at + 1] == 10, octets[at + 2] == 13, octets[at + 3] == 10 { return at + 4 }
            at += 1
        }
        return octets.count
    }

    /// All rows of a header on one line, with its name; false when there is none.
    private func writeHeader(_ name: String, into buffer: OctetBuffer) -> Bool {
        guard let message = recent else { return false }
        let kind = HeaderKind(name: name)
        var isFirst = true
        for row in message.rows where row.kind == kind && (kind != .other || Self.isSame(message[row.name], name)) {
            if isFirst {
                buffer.append(kind == .other || row.name.count > 1 ? message[row.name] : Array("\(kind.name)".utf8)[...])
                buffer.append(": ")
                isFirst = false
            } else {
                buffer.append(", ")
            }
            buffer.append(message[row.value])
        }
        return !isFirst
    }

    static func isSame(_ octets: ArraySlice<UInt8>, _ name: String) -> Bool {
        let utf8 = name.utf8
        return octets.count == utf8.count && zip(octets, utf8).allSatisfy { ($0 | 32) == ($1 | 32) }
    }

    /// The URI that the last message was about: a request's own, or that in To.
    private func writeLastURI(into buffer: OctetBuffer) {
        guard let message = recent else { return }
        if message.isRequest {
            buffer.append(message.requestURIOctets)
        } else if let to = try? message.to() {
            buffer.append(to.uriOctets)
        }
    }

    private func writeCredentials(_ parameters: Template.Authentication, into buffer: OctetBuffer, at place: Int) {
        guard let challenge else { return }
        let octets = buffer.array
        let method = Array(octets.prefix { $0 != UInt8(ascii: " ") })
        let body = Array(octets[Self.bodyStart(buffer.octets)...])
        let user = parameters.user.isEmpty ? Array(settings.authUser.utf8) : expanded(parameters.user)
        let password = parameters.password.isEmpty ? Array(settings.authPassword.utf8) : expanded(parameters.password)
        nonceCount += 1
        let credentials = CallCredentials(
            user: text(user), password: text(password), uri: settings.authURI, nonceCount: nonceCount)
        guard let row = row(credentials, parameters, challenge, method, body) else { return }
        buffer.insert(row, at: place)
    }

    private func row(
        _ credentials: CallCredentials, _ parameters: Template.Authentication, _ challenge: Message, _ method: [UInt8],
        _ body: [UInt8]
    ) -> [UInt8]? {
        let about = "Call-Id: \(text(id))"
        do throws(CallCredentials.AKAProblem) {
            let aka = try credentials.akaRow(
                for: challenge, method: method, key: expanded(parameters.akaK), operator: expanded(parameters.akaOP),
                field: expanded(parameters.akaAMF))
            if let aka { return aka }
        } catch {
            switch error {
            case .keys: run.warn("\(about): [authentication] for AKA needs aka_K and aka_OP of 16 octets and aka_AMF of 2")
            case .nonce: run.warn("\(about): the nonce of the AKA challenge is too short")
            case .network: run.warn("\(about): the network does not know the key: the MAC in its AKA challenge is another")
            }
            return nil
        }
        if let row = credentials.row(for: challenge, method: method, body: body) { return row }
        run.warn("\(about): the challenge cannot be answered: \(text(challenge.octets.prefix(300)))")
        return nil
    }

    /// A fresh SRTP master key with its salt (RFC 4568 section 6.1), or the one `reuse` before it.
    private func masterKey(_ name: String, reuse: Int) -> String {
        var made = keys[name] ?? []
        if reuse > 0, made.count >= reuse { return made[made.count - reuse] }
        let key = "inline:" + Base64.encode((0..<30).map { _ in UInt8.random(in: .min ... .max) })
        made.append(key)
        keys[name] = made
        return key
    }
}
