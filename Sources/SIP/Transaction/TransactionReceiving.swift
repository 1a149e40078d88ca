// What the layer does with a message from the network: find its transaction or make one (RFC 3261 sections 17.1.3, 17.2.3, 8.2,
// 9.2). Repetitions are recognised before anything is looked at closely.

package import Basics

extension TransactionLayer {
    /// Takes a message that came from `source` at `now`.
    package mutating func receive(
        _ message: Message, from source: Hop, at now: Instant, into actions: inout [TransactionAction]
    ) {
        guard let via = try? message.index.via?.parts.get() else {
            counters.dropped += 1
            return
        }
        switch message.method {
        case nil: receiveResponse(message, via, source, now, &actions)
        case .ack?: receiveACK(message, via, source, now, &actions)
        case let method?: receiveRequest(message, method, via, source, now, &actions)
        }
    }

    private mutating func receiveResponse(
        _ message: Message, _ via: ViaParts, _ source: Hop, _ now: Instant, _ actions: inout [TransactionAction]
    ) {
        guard (try? message.check()) != nil else {
            counters.dropped += 1
            return
        }
        guard let place = places[hasher.clientKey(message.octets, branch: via.branch, method: message.cSeqMethod)] else {
            counters.strayResponses += 1
            if message.cSeqMethod == .invite, 200..<300 ~= message.status {
                actions.append(.strayResponse(message, from: source))
            }
            return
        }
        let index = Int(place)
        let step: TransactionStep
        switch slots[index].machine {
        case .inviteClient(var machine):
            step = machine.received(status: message.status)
            slots[index].machine = .inviteClient(machine)
            if step.contains(.sendACK), slots[index].ack.isEmpty {
                slots[index].ack = acknowledgement(of: slots[index].octets, for: message)
            }
            if machine.state == .accepted || machine.state == .completed { slots[index].octets = [] }
        case .client(var machine):
            step = machine.received(status: message.status)
            slots[index].machine = .client(machine)
            if machine.state == .completed { slots[index].octets = [] }
        default: return
        }
        if step.contains(.deliver) {
            let id = TransactionID(slot: place, generation: slots[index].generation)
            actions.append(.response(message, id, from: source))
        } else {
            counters.repetitions += 1
        }
        perform(step, place, at: now, into: &actions)
    }

    private mutating func receiveACK(
        _ message: Message, _ via: ViaParts, _ source: Hop, _ now: Instant, _ actions: inout [TransactionAction]
    ) {
        if let place = places[hasher.serverKey(message, via, as: .invite)],
            case .inviteServer(var machine) = slots[Int(place)].machine
        {
            let step = machine.acknowledged()
            slots[Int(place)].machine = .inviteServer(machine)
            perform(step, place, at: now, into: &actions)
            guard step.contains(.deliver) else { return }
        }
        guard (try? message.check()) != nil else {
            counters.dropped += 1
            return
        }
        actions.append(.acknowledgement(message, from: source))
    }

    private mutating func receiveRequest(
        _ message: Message, _ method: Method, _ via: ViaParts, _ source: Hop, _ now: Instant,
        _ actions: inout [TransactionAction]
    ) {
        let key = hasher.serverKey(message, via, as: method)
        if let place = places[key] {
            counters.repetitions += 1
            return repeated(place, now, &actions)
        }
        let reply = via.responseHop(source: source)
        do {
            try message.check()
        } catch {
            counters.refused += 1
            actions.append(.send(statelessResponse(message, error.status, source: source), to: reply))
            return
        }
        guard let from = try? message.from().parts, let to = try? message.to().parts else { return }
        let isReliable = source.transport.isReliable
        let id: TransactionID
        if method == .invite {
            var machine = InviteServerMachine(isReliable: isReliable)
            let step = machine.start()
            id = makeSlot(method, .inviteServer(machine), key: key, hop: reply)
            slots[Int(id.slot)].request = (message, source)
            perform(step, id.slot, at: now, into: &actions)
        } else {
            var machine = ServerMachine(isReliable: isReliable)
            _ = machine.start()
            id = makeSlot(method, .server(machine), key: key, hop: reply)
        }
        if method == .cancel {
            let invite = places[hasher.serverKey(message, via, as: .invite)].flatMap { place in
                slots[Int(place)].method == .invite
                    ? TransactionID(slot: place, generation: slots[Int(place)].generation) : nil
            }
            actions.append(.cancel(message, id, invite: invite, from: source))
            return
        }
        if to.tag.isEmpty, !from.tag.isEmpty {
            let mergeKey = hasher.mergeKey(message, fromTag: from.tag)
            if places[mergeKey] != nil {
                counters.merged += 1
                return respond(
                    id, status: 482, statelessResponse(message, 482, source: source), at: now, into: &actions)
            }
            places.set(mergeKey, id.slot)
            slots[Int(id.slot)].mergeKey = mergeKey
        }
        actions.append(.request(message, id, from: source))
    }

    private mutating func repeated(_ place: UInt32, _ now: Instant, _ actions: inout [TransactionAction]) {
        let step: TransactionStep
        switch slots[Int(place)].machine {
        case .inviteServer(let machine): step = machine.repeated()
        case .server(let machine): step = machine.repeated()
        default: return
        }
        perform(step, place, at: now, into: &actions)
    }

    /// Answers a request that was just given out (`request`) without a transaction: nothing is left behind, and a repetition of it is a
    /// request like the first. For refusals that have to cost little: under a flood (RFC 3261 section 21.5.4), and before anybody has
    /// shown who he is (section 26.3.2.4).
    package mutating func refuse(
        _ id: TransactionID, _ message: Message, from source: Hop, status: Int, rows: [UInt8],
        into actions: inout [TransactionAction]
    ) {
        guard isLive(id) else { return }
        counters.stateless += 1
        let hop = slots[Int(id.slot)].hop
        forget(id.slot)
        actions.append(.send(statelessResponse(message, status, rows: rows, source: source), to: hop))
    }

    /// A response that leaves nothing behind. Its tag is made of the branch, so that a repetition gets the same one.
    private func statelessResponse(_ message: Message, _ status: Int, rows: [UInt8] = [], source: Hop) -> [UInt8] {
        let branch = (try? message.index.via?.parts.get())?.branch ?? .none
        let hash = hasher.clientKey(message.octets, branch: branch, method: .other).second
        var writer = MessageWriter(capacity: message.octets.count + 64 + rows.count)
        writer.response(status, to: message, tag: hexadecimal(hash)[...], source: source.address)
        writer.append(rows)
        writer.finish()
        return writer.octets
    }
}
