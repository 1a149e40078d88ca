// Structured headers one by one: each input is the name of a header, a line end, and its value. What is made of a history or a binding is itself read as
// the same; the rest is decoded in every way that the product does it.

import Basics
import SIP

func attackHeader(_ bytes: [UInt8]) {
    guard let end = bytes.firstIndex(of: 10) else { return }
    let value = bytes[(end + 1)...]
    // A whole message cannot be smuggled in: a fold begins with a blank.
    let row = Array(bytes[..<end]) + [58, 32] + value.map { $0 == 10 || $0 == 13 ? 32 : $0 } + [13, 10]
    let head = Array(
        "INVITE sip:100@h;gr SIP/2.0\r\nTo: <sip:100@h>\r\nFrom: <sip:a@h>;tag=1\r\nCall-ID: c\r\nCSeq: 1 INVITE\r\n".utf8)
    guard let message = try? Message(parsing: head + row + [13, 10]), let uri = try? message.requestURI() else { return }
    attackHistory(message, uri)
    attackDiversion(message)
    attackRedirection(message, uri)
    if let referral = try? Referral(message) { use(referral) }
    use((try? DialogReference(replacesOf: message), try? DialogReference(targetOf: message)))
    use((try? Dialog(answering: message, localTag: [116]), DigestChallenge.all(in: message), message.reasons()))
    use((RequestScreening().refusal(of: message), SessionTimer(SessionTimer.Settings()).refusal(of: message)))
    use(message.beginsSecureDialog)
    for contact in (try? message.contacts()) ?? [] { use((contact.isWildcard, contact.parameters.all)) }
}

private func read(_ rows: [UInt8]) -> HistoryInfo {
    guard let message = try? Message(parsing: Array("INVITE sip:a@h SIP/2.0\r\n".utf8) + rows + [13, 10]) else {
        preconditionFailure("what is written is a message")
    }
    return HistoryInfo(message)
}

private func attackHistory(_ message: Message, _ uri: URI) {
    var history = HistoryInfo(message)
    use((history.diversions.count, history.asDiversion))
    let own = history.note(uri.target, for: uri)
    for entry in history.entries { history.fail(entry.index, status: 486) }
    history.append(uri.target, own + [1], .user, from: own)
    for told in [history, history.hidingPrivate()] {
        let again = read(told.rows)
        precondition(again.rows == told.rows, "a history is read as it was written")
        precondition(again.entries.map(\.index) == told.entries.map(\.index), "with its numbers")
    }
    for value in history.asDiversion { checkDiversion(Array(value.utf8)) }
}

/// What is told as Diversion can be read as one, and holds no second one.
private func checkDiversion(_ value: [UInt8]) {
    let octets = Array("INVITE sip:a@h SIP/2.0\r\nDiversion: ".utf8) + value + Array("\r\n\r\n".utf8)
    guard let message = try? Message(parsing: octets), let addresses = try? message.addresses(.diversion) else {
        preconditionFailure("a diversion that is told is one")
    }
    precondition(addresses.count == 1 && (try? addresses[0].uri()) != nil, "and one alone")
}

private func attackDiversion(_ message: Message) {
    guard let diversions = try? message.addresses(.diversion), !diversions.isEmpty else { return }
    let history = HistoryInfo(diversions: diversions, to: Array("sip:100@h".utf8))
    let again = read(history.rows)
    precondition(again.rows == history.rows, "diversions become entries that can be read")
    precondition(history.asDiversion.count == history.entries.count - 1, "as many")
}

private func attackRedirection(_ message: Message, _ first: URI) {
    var targets = Redirections(from: first, limit: 8)
    targets.take(message)
    var count = 0
    while let next = targets.next() {
        precondition(next.isSIP && next.headersRange.isEmpty, "a target is a Request-URI")
        count += 1
        precondition(count <= 8, "and there is an end of them")
    }
}
