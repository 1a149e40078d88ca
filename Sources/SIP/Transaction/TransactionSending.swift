// What the user of the layer sends: requests, responses, CANCEL (RFC 3261 sections 8.1.1, 9.1, 17.1.1.3).

package import Basics

extension TransactionLayer {
    /// Sends a request in a new client transaction. Its top Via must hold a branch from `newBranch()`, its CSeq `method`.
    /// An ACK for a 2xx is no transaction: send it without the layer.
    package mutating func send(
        _ request: [UInt8], method: Method, branch: [UInt8], to hop: Hop, at now: Instant,
        into actions: inout [TransactionAction]
    ) -> TransactionID {
        let key = hasher.clientKey(branch, branch: OctetRange(0, branch.count), method: method)
        let id: TransactionID
        let step: TransactionStep
        if method == .invite {
            var machine = InviteClientMachine(isReliable: hop.transport.isReliable)
            step = machine.start()
            id = makeSlot(method, .inviteClient(machine), key: key, hop: hop)
        } else {
            var machine = ClientMachine(isReliable: hop.transport.isReliable)
            step = machine.start()
            id = makeSlot(method, .client(machine), key: key, hop: hop)
        }
        slots[Int(id.slot)].octets = request
        perform(step, id.slot, at: now, into: &actions)
        return id
    }

    /// Sends a response in a server transaction. A second final one is not sent, except that 2xx to INVITE may be repeated until
    /// the ACK. After `ended` nothing happens, except that a 2xx to INVITE must then be sent without the layer.
    package mutating func respond(
        _ id: TransactionID, status: Int, _ response: [UInt8], at now: Instant, into actions: inout [TransactionAction]
    ) {
        guard isLive(id) else { return }
        let index = Int(id.slot)
        let step: TransactionStep
        switch slots[index].machine {
        case .inviteServer(var machine):
            step = machine.respond(status: status)
            slots[index].machine = .inviteServer(machine)
        case .server(var machine):
            step = machine.respond(status: status)
            slots[index].machine = .server(machine)
        default: return
        }
        guard step.contains(.send) else { return }
        slots[index].request = nil
        slots[index].octets = response
        perform(step, id.slot, at: now, into: &actions)
        // An accepted INVITE is repeated by the user, who keeps the octets.
        if isLive(id), case .inviteServer(let machine) = slots[index].machine, machine.state == .accepted {
            slots[index].octets = []
        }
    }

    /// Where the responses of a server transaction go; nil when it is over.
    package mutating func responseHop(_ id: TransactionID) -> Hop? { isLive(id) ? slots[Int(id.slot)].hop : nil }

    /// Sends a CANCEL for an INVITE client transaction that has had a provisional response (section 9.1: not before). Nil when
    /// there is nothing to cancel any more. `rows` are whole ones, for Reason. The INVITE is given up (`timedOut`) when no final response comes within 64*T1.
    package mutating func cancel(
        _ invite: TransactionID, rows: [UInt8] = [], at now: Instant, into actions: inout [TransactionAction]
    ) -> TransactionID? {
        guard isLive(invite), case .inviteClient(var machine) = slots[Int(invite.slot)].machine else { return nil }
        let step = machine.cancelled()
        guard step != .nothing, let request = try? Message(parsing: slots[Int(invite.slot)].octets),
            let via = try? request.topVia()
        else { return nil }
        slots[Int(invite.slot)].machine = .inviteClient(machine)
        perform(step, invite.slot, at: now, into: &actions)
        var writer = MessageWriter(capacity: 512)
        writer.hopRequest("CANCEL", of: request, via, to: request.toValue)
        writer.append(rows)
        writer.finish()
        return send(
            writer.octets, method: .cancel, branch: Array(via.branch), to: slots[Int(invite.slot)].hop, at: now,
            into: &actions)
    }

    /// The ACK for a final response other than 2xx: the INVITE's Via, Route, From, Call-ID and CSeq number, the response's To.
    func acknowledgement(of octets: [UInt8], for response: Message) -> [UInt8] {
        guard let request = try? Message(parsing: octets), let via = try? request.topVia() else { return [] }
        var writer = MessageWriter(capacity: 512)
        writer.hopRequest("ACK", of: request, via, to: response.toValue)
        writer.finish()
        return writer.octets
    }
}

extension MessageWriter {
    /// Starts an ACK or CANCEL that belongs to an INVITE's own transaction.
    fileprivate mutating func hopRequest(_ method: StaticString, of request: Message, _ via: Via, to: ArraySlice<UInt8>) {
        append(method)
        append(" ")
        append(request.requestURIOctets)
        append(" SIP/2.0\r\n")
        header("Via", octets: request[via.parts.range])
        for row in request.rows where row.kind == .route { header("Route", octets: request[row.value]) }
        append("Max-Forwards: 70\r\n")
        header("From", octets: request.fromValue)
        header("To", octets: to)
        header("Call-ID", octets: request.callID)
        append("CSeq: ")
        append(Int(request.cSeq))
        append(" ")
        append(method)
        endLine()
    }
}
