// Messages, streams and transactions. What parses must serialize and parse to the same; how a stream is cut must not matter; what
// is answered must itself be a message.

import Basics
import SIP

private func same(_ left: Message, _ right: Message) -> Bool {
    left.method == right.method && left.methodName == right.methodName && left.status == right.status
        && Array(left[left.startRange]) == Array(right[right.startRange]) && left.cSeq == right.cSeq
        && left.cSeqMethod == right.cSeqMethod && Array(left.body) == Array(right.body)
        && left.rows.map(\.kind) == right.rows.map(\.kind)
        && zip(left.rows, right.rows).allSatisfy {
            Array(left[$0.name]) == Array(right[$1.name]) && left.unfolded($0.value) == right.unfolded($1.value)
        }
}

private func written(_ message: Message) -> [UInt8] {
    var writer = MessageWriter()
    if message.isRequest {
        writer.append(message[message.methodRange])
        writer.append(" ")
        writer.append(message[message.startRange])
        writer.append(" SIP/2.0")
    } else {
        writer.append("SIP/2.0 ")
        writer.append(message.status)
        writer.append(" ")
        writer.append(message[message.startRange])
    }
    writer.endLine()
    for row in message.rows {
        writer.append(message[row.name])
        writer.append(": ")
        writer.append(message[row.value])
        writer.endLine()
    }
    writer.endLine()
    writer.append(message.body)
    return writer.octets
}

private func decode(_ uri: URI) {
    use(uri.user + uri.host + uri.description)
    use((uri.address, uri.portOrDefault, uri.parameters, uri.headers, uri.isLooseRouter))
    precondition(uri.isEquivalent(to: uri), "a URI is equivalent to itself")
    guard let again = try? URI(uri.description) else { return }
    // Octets that are no UTF-8 were replaced by the description.
    if Array(uri.octets[uri.range.indices]) == Array(uri.description.utf8) {
        precondition(again.host == uri.host && again.user == uri.user && again.port == uri.port, "a URI reads its own text")
    }
}

private func decode(_ address: NameAddress) {
    use((address.displayName, address.tag, address.parameters.all))
    if let uri = try? address.uri() { decode(uri) }
}

private func decodeAll(_ message: Message) {
    if let vias = try? message.vias() {
        for via in vias { use((via.host, via.received, via.hasCookie, via.parameters.all, via.branch)) }
    }
    if let top = try? message.topVia(), let all = try? message.vias() {
        precondition(all.first.map { Array($0.branch) } == Array(top.branch), "the top Via is the first")
    }
    for address in [try? message.from(), try? message.to()] { if let address { decode(address) } }
    for kind in HeaderKind.allCases {
        for value in message.values(kind) { use(message.parameters(in: value).all) }
        if let addresses = try? message.addresses(kind) { addresses.forEach(decode) }
        use((message.tokens(kind), message.number(kind), message.parameters(kind)?.all, message.header(kind)))
        use(message.lists(kind, "100rel"))
    }
    if message.isRequest, let uri = try? message.requestURI() { decode(uri) }
    use((message.contentType, message.hasBody(ofType: "application/sdp"), message.rAck(), message.reasons()))
    use(DigestChallenge.all(in: message))
    let content = message.multipartContent
    if let description = content.description {
        precondition(
            message.bodyRange.start <= description.start && description.end <= message.bodyRange.end, "a part is in the body")
    }
    if message.isMultipart, let description = message.sessionDescription {
        precondition(description.count < message.body.count, "a part is less than the whole")
    }
    for kind in [HeaderKind.authorization, .proxyAuthorization] {
        if let row = message.firstRow(kind) { use(AuthParameters(Array(message[row.value])).all) }
    }
}

private let source = SocketAddress(ip: .v4(0xC000_0207), port: 5062)

func attackMessage(_ bytes: [UInt8]) {
    guard let message = try? Message(parsing: bytes) else { return }
    decodeAll(message)
    let isSound: Bool
    do {
        try message.check()
        isSound = true
    } catch {
        precondition(400..<600 ~= error.status && error.offset >= 0 && error.offset <= bytes.count, "a fault has its place")
        isSound = false
    }
    if message.defect == nil {
        guard let again = try? Message(parsing: written(message)), again.defect == nil else {
            preconditionFailure("what parses parses again")
        }
        precondition(same(message, again), "what parses parses to the same")
    }
    guard isSound, message.isRequest else { return }
    use(RequestScreening().refusal(of: message))
    for peer in [nil, source] {
        let octets = message.response(486, tag: [116, 49], source: peer)
        // `received` and a tag make it longer than the request, which may be as long as allowed.
        guard octets.count <= 65_535 else { continue }
        guard let response = try? Message(parsing: octets), (try? response.check()) != nil else {
            preconditionFailure("the response to a sound request is sound")
        }
        precondition((try? response.to())?.tag != nil && response.cSeq == message.cSeq, "and belongs to it")
        if let top = try? message.topVia() {
            precondition((try? response.topVia()).map { Array($0.branch) } == Array(top.branch), "and goes where it came from")
        }
    }
}

private func messages(_ stream: [UInt8], cut: (inout Int) -> Int) -> (messages: [[UInt8]], isBroken: Bool) {
    var framer = StreamFramer()
    var found: [[UInt8]] = []
    var at = 0
    var state = 0
    while at < stream.count {
        let end = min(stream.count, at + max(1, cut(&state)))
        framer.append(stream[at..<end])
        at = end
        while let event = framer.next() {
            switch event {
            case .message(let message): found.append(message.octets)
            case .ping, .pong: break
            case .broken: return (found, true)
            }
        }
    }
    return (found, false)
}

func attackStream(_ bytes: [UInt8]) {
    guard let seed = bytes.first else { return }
    let stream = Array(bytes.dropFirst())
    let whole = messages(stream) { _ in stream.count }
    let single = messages(stream) { _ in 1 }
    let mixed = messages(stream) { state in
        state = (state &* 1_103_515_245 &+ 12_345 &+ Int(seed)) & 0x7fff_ffff
        return state >> 8 & 63
    }
    precondition(whole == single && whole == mixed, "how a stream is cut does not matter")
    for octets in whole.messages {
        guard let message = try? Message(parsing: octets) else { preconditionFailure("the framer gives out messages") }
        precondition(message.defect?.fault != .truncatedBody, "whole ones")
    }
}

/// Datagrams, each led by its length in two octets and the milliseconds before it in one.
func attackTransactions(_ bytes: [UInt8]) {
    var layer = TransactionLayer(seed: 1)
    var now = Instant.zero
    var live: [TransactionID: Message] = [:]
    var actions: [TransactionAction] = []
    func settle() {
        for action in actions {
            switch action {
            case .request(let request, let id, _), .cancel(let request, let id, _, _):
                live[id] = request
            case .send(let octets, _):
                // The refusal of an unsound request copies what was unsound in it.
                guard (try? Message(parsing: octets)) != nil else { preconditionFailure("what is sent is a message") }
            case .ended(let id): live[id] = nil
            default: break
            }
        }
        actions.removeAll()
    }
    var at = 0
    while at + 3 <= bytes.count {
        let count = Int(bytes[at]) << 8 | Int(bytes[at + 1])
        now = now + .milliseconds(Int64(bytes[at + 2]) * 40)
        at += 3
        let end = min(bytes.count, at + count)
        while layer.nextDeadline() <= now {
            layer.fire(at: now, into: &actions)
            settle()
        }
        if let message = try? Message(parsing: Array(bytes[at..<end])) {
            let transport: Transport = message.status & 1 == 0 ? .udp : .tcp
            layer.receive(message, from: Hop(transport: transport, address: source), at: now, into: &actions)
        }
        settle()
        at = end
    }
    for (id, request) in live { layer.respond(id, status: 486, request.response(486, tag: [116, 49]), at: now, into: &actions) }
    settle()
    var turns = 0
    while layer.nextDeadline() < .never {
        now = layer.nextDeadline()
        layer.fire(at: now, into: &actions)
        settle()
        turns += 1
        precondition(turns < 100_000, "the timers come to an end")
    }
    precondition(layer.count == 0 && live.isEmpty, "nothing is left")
}
