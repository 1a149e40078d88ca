// Requests outside of dialogs, as a shard takes them: what is refused and by what, who sends them, which become calls. Refusals that a
// flood would bring cost no transaction.

import Basics
import Reactor
import SIP

extension CallShard {
    func received(_ request: Message, _ id: TransactionID, from hop: Hop) {
        if request.method == .register, let registrar {
            let answer = registrar.answer(request, from: hop, at: loop.now)
            return refuse(request, id, hop, answer.status, answer.rows, reason: answer.reason)
        }
        if let refusal = screening.refusal(of: request) {
            return refuse(request, id, hop, refusal.status, refusal.headers)
        }
        switch request.method {
        case .invite: invited(request, id, hop)
        case .options: refuse(request, id, hop, 200, capabilityRows)
        case .refer: referred(request, id, hop)
        // There is no event package that can be subscribed to without a transfer (RFC 6665 section 4.1.3).
        case .subscribe: refuse(request, id, hop, 489, Self.eventRow)
        case .message: messageReceived(request, id, hop)
        default: refuse(request, id, hop, 481, [])
        }
    }

    /// A text outside of calls (RFC 3428): of lines and users; strangers have nothing to say here.
    private func messageReceived(_ request: Message, _ id: TransactionID, _ hop: Hop) {
        guard let (line, user) = identify(request, id, hop) else { return }
        guard line != nil || !user.isEmpty else { return refuse(request, id, hop, 403, []) }
        let (status, rows) = take(text: request, call: nil, line: line, user: user)
        refuse(request, id, hop, status, rows)
    }

    /// Gives a text to who wants texts; the answer to its MESSAGE.
    func take(text request: Message, call: Call?, line: Int?, user: String) -> (status: Int, rows: [UInt8]) {
        guard call != nil || onMessage != nil else { return (405, capabilityRows) }
        guard request.hasBody(ofType: "text/plain") else { return (415, Array("Accept: text/plain\r\n".utf8)) }
        var message = TextMessage(
            from: Call.party(try? request.from()) ?? CallParty(uri: ""), to: Call.party(try? request.to()) ?? CallParty(uri: ""),
            text: String(decoding: request.body, as: UTF8.self), call: call?.id ?? "")
        message.line = line.map { settings.lines[$0].name } ?? ""
        message.user = user
        call?.receivedTexts.receive(message.text)
        onMessage?(message)
        return (200, [])
    }

    func refuse(
        _ request: Message, _ id: TransactionID, _ hop: Hop, _ status: Int, _ rows: [UInt8], reason: String? = nil
    ) {
        var writer = MessageWriter(capacity: request.octets.count + 256)
        writer.response(status, reason: reason, to: request, tag: endpoint.newToken()[...], source: hop.address)
        writer.append(rows)
        writer.finish()
        endpoint.respond(id, status: status, writer.octets)
    }

    private func invited(_ invite: Message, _ id: TransactionID, _ hop: Hop) {
        if lagWatch.isBusy(lag: loop.lag, limit: gate.limits.lag, at: loop.now) {
            return turnAway(invite, id, hop, .busy, retryAfter: 2)
        }
        guard let (line, user) = identify(invite, id, hop) else { return }
        var device: AddressedDevice?
        if let registrar, let name = AddressedDevice.temporaryName(in: invite) {
            device = registrar.device(named: name, at: loop.now)
            if device == nil { return refuse(invite, id, hop, 404, []) }
        }
        if case .refused(let reason, let seconds) = gate.admit(from: hop.address.ip, at: loop.now) {
            return turnAway(invite, id, hop, reason, retryAfter: seconds)
        }
        counters.incoming += 1
        let local = endpoint.localAddress(to: hop)
        let call = Call(id: newID(), direction: .inbound, shard: self, hop: hop)
        let tag = endpoint.newToken()
        guard let dialog = try? Dialog(answering: invite, localTag: tag) else {
            gate.leave()
            return refuse(invite, id, hop, 400, [])
        }
        if let minimum = SessionTimer(settings.sessionTimer).refusal(of: invite) {
            gate.leave()
            return refuse(invite, id, hop, 422, minimum)
        }
        let session = CallSession(
            InviteSession(
                answering: invite, in: dialog, localTag: tag, transaction: id,
                end: localEnd(answering: invite, from: hop, local, line: line),
                timers: endpoint.timers, sessionTimer: settings.sessionTimer, seed: newSeed()))
        call.session = session
        call.lineIndex = line
        if !user.isEmpty { call.user = user }
        call.device = device
        if invite.has(.historyInfo), invite.lists(.supported, "histinfo") { call.tellHistory() }
        call.place = calls.add(call)
        beginTrace(of: call, invite)
        call.register(callID: invite.callID, tag: tag[...])
        endpoint.expectCancel(of: id, for: call)
        if invite.has(.replaces) {
            if ShardChoice.index(ofCallID: invite.callID, count: shardCount) != index {
                session.movedCallID = Array(invite.callID)
                onMoved?(Array(invite.callID), true)
            }
            return call.takePlace(as: invite)
        }
        offer(call, invite, local)
    }

    /// This end of a dialog that a request to it begins. A registered line names itself by its GRUU; where Contact has to be a SIPS URI, which
    /// that is not, by its address.
    func localEnd(answering request: Message, from hop: Hop, _ local: SocketAddress, line: Int?) -> LocalEnd {
        let isSecure = hop.transport.isSecure && request.beginsSecureDialog
        let end = localEnd(hop.transport, local, secure: isSecure)
        guard !isSecure, let line, settings.lines[line].registration != nil,
            let contact = lines.way(of: settings.lines[line].name)?.contact(answering: request)
        else { return end }
        return end.with(contact: contact)
    }

    private func offer(_ call: Call, _ invite: Message, _ local: SocketAddress) {
        if let refusal = call.takeOffer(invite, localIP: local.ip) {
            var headers = [call.warning(refusal)]
            if refusal.status == 503 {
                // No ports: later there may be some.
                counters.refused[.ports, default: 0] += 1
                headers.append(CallHeader(name: "Retry-After", value: "5"))
            } else {
                counters.unacceptable += 1
            }
            return call.refuse(refusal.status, reason: nil, headers: headers)
        }
        guard let onIncoming else { return call.refuse(480, reason: nil, headers: []) }
        onIncoming(call)
    }

    /// Whose request it is: a line's, a user's, or nobody's. nil: it was refused, because he did not show that he is who he says.
    private func identify(_ request: Message, _ id: TransactionID, _ hop: Hop) -> (line: Int?, user: String)? {
        if let line = line(of: request, from: hop) { return (line, "") }
        guard let callers else { return (nil, "") }
        let local = endpoint.localAddress(to: hop).ip
        switch callers.check(request, from: hop.address.ip, local: local, at: loop.now) {
        case .anybody: return (nil, "")
        case .line(let index): return (index, "")
        case .user(let name): return (nil, name)
        case .refused(let status, let rows):
            endpoint.refuse(id, request, from: hop, status: status, rows: rows)
            return nil
        }
    }

    /// The line that a request belongs to by where it comes from, or by the contact that it is for.
    func line(of request: Message, from hop: Hop) -> Int? {
        lines.line(of: request, from: hop)
            ?? settings.lines.firstIndex { line in line.from.contains { $0.contains(hop.address.ip) } }
    }

    /// Refuses a call that is one too many, at the least cost. Requests in dialogs are never asked: while this loop is late they have its
    /// time for themselves.
    private func turnAway(_ invite: Message, _ id: TransactionID, _ hop: Hop, _ reason: Admission.Refusal, retryAfter: Int) {
        counters.refused[reason, default: 0] += 1
        var rows = MessageWriter(capacity: 24)
        rows.header("Retry-After", retryAfter)
        endpoint.refuse(id, invite, from: hop, status: 503, rows: rows.octets)
    }
}
