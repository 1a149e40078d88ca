// What comes in for a call: is it a repetition, does it fit the step the call is at, or one before it, and what follows if it does not.

package import Basics
package import SIP

extension ScenarioCall {
    /// A message for the call.
    package func receive(_ message: Message, at instant: Instant) {
        guard !isOver else { return }
        arrival = instant
        take(message)
        settle()
    }

    private func take(_ message: Message) {
        remember("received \(text(message.octets.prefix { $0 != 13 && $0 != 10 }))")
        let hash = settings.detectsLoosely ? Self.looseHash(message) : OctetHash.of(message.octets)
        if settings.isUDP, settings.retransmits, isRepetition(hash) { return }
        learn(message)
        if let place = place(of: message) {
            accept(message, hash, at: place)
        } else if !absorbs(message, hash) {
            unexpected(message)
        }
    }

    /// A message that was answered is answered alike again; one that still has no answer is dropped.
    private func isRepetition(_ hash: UInt64) -> Bool {
        if hash == answeredHash, answeredIndex >= 0 {
            statistics.steps[answeredIndex].receivedAgain += 1
            statistics.count(\.retransmissions)
            guard !isLost(scenario.steps[answerIndex]) else { return true }
            _ = answer.withUnsafeBytes { run.send($0, of: self) }
            statistics.steps[answerIndex].sentAgain += 1
            return true
        }
        if hash == lastReceivedHash, lastReceivedIndex >= 0 {
            statistics.steps[lastReceivedIndex].receivedAgain += 1
            statistics.count(\.retransmissions)
            return true
        }
        return false
    }

    /// What any message tells: the peer's tag, an ACK that makes the call stand.
    private func learn(_ message: Message) {
        if message.isRequest {
            if message.method == .ack { isEstablished = true }
            // Some scenarios only get requests, and have to name the peer all the same.
            if peerTag.isEmpty, let tag = (try? message.from())?.tag { peerTag = Array(tag) }
        } else if let tag = (try? message.to())?.tag, !peerTag.elementsEqual(tag) {
            peerTag = Array(tag)
        }
    }

    // MARK: Places

    /// The step that a message belongs to: this one, one behind optional ones, or an optional one before it.
    private func place(of message: Message) -> Int? {
        var place = index
        while place < scenario.steps.count {
            let step = scenario.steps[place]
            if matches(message, step) { return place }
            guard step.common.isOptional else { break }
            place += 1
        }
        var isContiguous = true
        place = min(index, scenario.steps.count) - 1
        while place >= 0 {
            let step = scenario.steps[place]
            if !step.common.isOptional { isContiguous = false }
            if !isContiguous, !scenario.hasGlobal { return nil }
            if isContiguous || step.common.isGlobal, matches(message, step) { return place }
            place -= 1
        }
        return nil
    }

    private func matches(_ message: Message, _ step: Step) -> Bool {
        guard case .receive(let receiving) = step.kind else { return false }
        switch receiving.expected {
        case .method(let method):
            guard message.isRequest, message[message.methodRange].elementsEqual(method) else { return false }
        case .methodPattern(let pattern):
            guard message.isRequest, pattern.isFound(in: message[message.methodRange]) else { return false }
        case .status(let status):
            guard message.status == status, matchesTransaction(message, receiving) else { return false }
        case .statusPattern(let pattern):
            guard !message.isRequest, pattern.isFound(in: Array("\(message.status)".utf8)[...]),
                matchesTransaction(message, receiving)
            else { return false }
        }
        return true
    }

    /// A response belongs to its named transaction, or else to a method that was sent before the step.
    private func matchesTransaction(_ message: Message, _ receiving: Step.Receiving) -> Bool {
        guard let transaction = receiving.transaction else {
            let method = message[message.cSeqMethodRange]
            return receiving.methods.isEmpty || receiving.methods.contains { method.elementsEqual($0) }
        }
        guard let branch = (try? message.topVia())?.branch else { return false }
        return branches[transaction].elementsEqual(branch)
    }

    // MARK: A message that fits

    private func accept(_ message: Message, _ hash: UInt64, at place: Int) {
        let step = scenario.steps[place]
        guard case .receive(let receiving) = step.kind else { return }
        if isLostAt(place, step) { return }
        let before = index
        index = place
        note(step)
        index = before
        statistics.steps[place].received += 1
        lastSeen = message
        if !receiving.ignoresBody { run.described(message, call: self) }
        let goesOn = act(step, message: message)
        lastSeen = nil
        guard goesOn else { return }
        if message.isRequest {
            cSeq = max(cSeq, Int(message.cSeq))
        } else {
            if message.status >= 200, let transaction = receiving.transaction { answers[transaction] = hash }
            if message.status == 200, message.cSeqMethod == .invite { ackIsPending = true }
        }
        stopRepeating(message, at: place)
        if receiving.keepsRoutes, routes.isEmpty, nextURL.isEmpty { keepRoutes(message) }
        if receiving.keepsChallenge, message.status == 401 || message.status == 407 { challenge = message }
        guard receiving.advances else { return }
        lastReceivedIndex = place
        lastReceivedHash = hash
        lastReceived = message
        if !step.common.isOptional || (step.common.next != nil && isTaken(step)) {
            if pausedUntil != .never {
                countSession(-1)
                pausedUntil = .never
            }
            index = place
            self.step()
        } else if waitsToSend {
            go()
        }
    }

    /// The call is at a message that could not go out while the one before was repeated.
    private var waitsToSend: Bool {
        guard index < scenario.steps.count, case .send = scenario.steps[index].kind else { return false }
        return retransmitAt == .never && pausedUntil == .never
    }

    private func isLostAt(_ place: Int, _ step: Step) -> Bool {
        let share = step.common.loss ?? settings.loss
        guard share > 0, run.chance() * 100 < share else { return false }
        statistics.steps[place].lost += 1
        return true
    }

    /// A response, or a request that ends an exchange, stops the repetition of what was sent before it.
    private func stopRepeating(_ message: Message, at place: Int) {
        guard retransmitAt != .never, place > lastSentIndex else { return }
        switch message.method {
        case nil:
            // A provisional answer stops the repetition of an INVITE alone (RFC 3261 section 17.1.2.2).
            guard message.status >= 200 || lastSentIsInvite else { return }
        case .ack, .cancel, .bye, .prack: break
        default: return
        }
        retransmitAt = .never
    }

    /// Record-Route and Contact, once: in the order of the message for the called end, reversed for the calling one
    /// (RFC 3261 sections 12.1.1, 12.1.2).
    private func keepRoutes(_ message: Message) {
        var values = message.values(.recordRoute).map { Array(message[$0]) }
        if !message.isRequest { values.reverse() }
        routes = Array(values.joined(separator: Array(", ".utf8)))
        if let contact = try? message.firstContact() { nextURL = Array(contact.uriOctets) }
    }

    // MARK: A message that does not fit

    /// Late answers of earlier transactions, and what is to be overlooked.
    private func absorbs(_ message: Message, _ hash: UInt64) -> Bool {
        if isInTimewait { return true }
        if settings.ignoresMessagesInPauses, pausedUntil != .never { return true }
        guard !message.isRequest else {
            // An ACK for another transaction than the last INVITE.
            return message.method == .ack && lastReceived?.cSeqMethod == .invite && lastReceived?.cSeq != message.cSeq
        }
        var place = min(index, scenario.steps.count) - 1
        while place >= 0 {
            defer { place -= 1 }
            let step = scenario.steps[place]
            guard case .receive(let receiving) = step.kind, matches(message, step) else { continue }
            if let transaction = receiving.transaction {
                if message.status < 200 { return true }
                if let acknowledgement = scenario.acknowledgements[transaction] {
                    sendAgain(acknowledgement)
                    return true
                }
                if answers[transaction] == hash { return true }
                continue
            }
            if message.cSeqMethod == .invite, place + 1 < scenario.steps.count,
                case .send(let sending) = scenario.steps[place + 1].kind, sending.template.isACK
            {
                sendAgain(place + 1)
                return true
            }
        }
        return false
    }

    /// The ACK that is at `place` once more.
    private func sendAgain(_ place: Int) {
        guard case .send(let sending) = scenario.steps[place].kind else { return }
        run.buffer.removeAll()
        expand(sending.template, into: run.buffer, at: place)
        _ = run.send(run.buffer.octets, of: self)
        statistics.steps[place].sentAgain += 1
    }

    private func unexpected(_ message: Message) {
        if let handler = scenario.unexpected {
            let isWithin = scenario.returnAddress.map { value($0).number ?? 0 != 0 } ?? false
            if !isWithin { return enter(handler, message) }
        } else if message.isRequest, answersAutomatically(message) {
            return
        }
        let aborts = settings.behaviors.contains(.abortUnexpected)
        countUnexpected(message)
        run.warn(
            "\(aborts ? "Aborting" : "Continuing") call on unexpected message for Call-Id '\(text(id))': while \(doing) (index \(index)), received '\(text(message.octets))'"
        )
        guard aborts else { return }
        lastReceived = message
        fail(.unexpectedMessage, sayingGoodbye: true)
    }

    private func countUnexpected(_ message: Message) {
        if index < scenario.steps.count { statistics.steps[index].unexpected += 1 }
        if !message.isRequest { statistics.unexpectedCodes.append(message.status) }
    }

    /// Goes to the scenario's own handler, which finds where the call was in `_unexp.retaddr` and `_unexp.pausedaddr`.
    private func enter(_ handler: Int, _ message: Message) {
        if let address = scenario.returnAddress { set(address, .number(Double(index))) }
        if let paused = scenario.pausedUntil {
            let isPaused = pausedUntil != .never
            set(paused, .number(isPaused ? Double(run.clockTick) + (pausedUntil - run.now).milliseconds : 0))
        }
        if pausedUntil != .never { countSession(-1) }
        pausedUntil = .never
        index = handler
        go()
        // The handler's first `recv` takes the message itself.
        guard !isOver, let place = place(of: message) else { return }
        accept(message, OctetHash.of(message.octets), at: place)
    }

    private var doing: String {
        guard index < scenario.steps.count else { return "ending" }
        switch scenario.steps[index].kind {
        case .receive(let receiving):
            switch receiving.expected {
            case .status(let status): return "expecting '\(status)'"
            case .method(let method): return "expecting '\(text(method))'"
            case .methodPattern(let pattern), .statusPattern(let pattern): return "expecting '\(pattern.source)'"
            }
        case .send: return "sending"
        case .pause, .timewait: return "pausing"
        case .nop: return "executing actions"
        case .sendCommand: return "sending command"
        case .receiveCommand: return "expecting command"
        }
    }

    /// BYE and CANCEL end the call with a 200; PING, and what `-aa` names, are answered and change nothing.
    private func answersAutomatically(_ message: Message) -> Bool {
        switch message.method {
        case .bye, .cancel:
            guard settings.behaviors.contains(.bye) else { return false }
            countUnexpected(message)
            run.warn("Aborting call on an unexpected \(message.methodName) for call: \(text(id))")
            lastReceived = message
            sendDefault(.ok)
            fail(.unexpectedMessage)
            return true
        case .info, .notify, .options, .update:
            guard settings.autoAnswers else { return false }
        default:
            guard message.methodName == "PING", settings.behaviors.contains(.pingReply) else { return false }
        }
        let before = lastReceived
        lastReceived = message
        sendDefault(.ok)
        lastReceived = before
        statistics.count(\.autoAnswered)
        return true
    }

    // MARK: Commands of a twin

    /// A command of a twin instance.
    package func receiveCommand(_ octets: [UInt8], from source: String?) {
        guard !isOver else { return }
        arrival = run.now
        defer { settle() }
        var place = index
        while place < scenario.steps.count {
            let step = scenario.steps[place]
            if case .receiveCommand(let wanted) = step.kind, wanted == nil || source == nil || wanted == source {
                index = place
                note(step)
                statistics.steps[place].received += 1
                guard act(step, message: nil, command: octets) else { return }
                return self.step()
            }
            guard step.common.isOptional else { break }
            place += 1
        }
        if index < scenario.steps.count { statistics.steps[index].unexpected += 1 }
        run.warn("Unexpected command for Call-Id '\(text(id))': while \(doing) (index \(index))")
        fail(.unexpectedMessage, sayingGoodbye: true)
    }

    // MARK: Hashes

    /// Of what tells one message from another: start line, branch, CSeq, tags.
    private static func looseHash(_ message: Message) -> UInt64 {
        var parts = Array(message.octets.prefix { $0 != 13 && $0 != 10 })
        if let via = try? message.topVia() { parts += via.branch }
        parts += "\(message.cSeq)".utf8
        parts += message[message.cSeqMethodRange]
        if let from = (try? message.from())?.tag { parts += from }
        if let to = (try? message.to())?.tag { parts += to }
        return OctetHash.of(parts)
    }
}

/// A quick hash of octets: tells repetitions, guards against nothing.
enum OctetHash {
    static func of(_ octets: [UInt8]) -> UInt64 { octets.withUnsafeBytes { of($0) } }

    static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash: UInt64 = 0x9E37_79B9_7F4A_7C15 ^ UInt64(bytes.count)
        var at = 0
        while at + 8 <= bytes.count {
            hash = mix(hash ^ bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
            at += 8
        }
        var rest: UInt64 = 0
        while at < bytes.count {
            rest = rest << 8 | UInt64(bytes[at])
            at += 1
        }
        let result = mix(hash ^ rest)
        return result == 0 ? 1 : result
    }

    @inline(__always)
    private static func mix(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
        return product.high ^ product.low
    }
}
