// What may be done with a call that came in, before and by its answer (RFC 3261 section 13.3).

import Basics
import Reactor
import SIP

extension Call {
    /// Takes the INVITE's offer, or notes that there is none. Why it is refused, when no media can come of it.
    func takeOffer(_ invite: Message, localIP: IPAddress) -> MediaError? {
        do throws(MediaError) {
            let media = try shard.makeMedia(for: self, localIP: localIP)
            self.media = media
            if let offer = invite.sessionDescription {
                localDescription = try media.answer(offer)
            } else {
                isOfferless = true
                localDescription = media.makeOffer()
            }
            return nil
        } catch {
            media?.close()
            media = nil
            return error
        }
    }

    package func choose(codecs: [String]) throws(CallControlError) {
        try requireUnanswered("codecs", .inbound)
        guard state != .early, let session else {
            throw .wrongState(operation: "codecs", why: "media was agreed on before")
        }
        self.codecs = codecs
        // Nobody knows of the session before: its ports go back.
        media?.close()
        media = nil
        isOfferless = false
        guard let refusal = takeOffer(session.machine.invite, localIP: shard.endpoint.localAddress(to: hop).ip) else { return }
        throw .invalid(operation: "codecs", why: refusal.warning)
    }

    package func ring() throws(CallControlError) {
        try requireUnanswered("ring", .inbound)
        guard state == .new else { return }
        change(to: .ringing)
        times.ringing = loop.now - started
        update { $0.progress(180, headers: self.addedRows, source: self.hop.address, at: self.loop.now, into: &$1) }
    }

    package func progress() throws(CallControlError) {
        try requireUnanswered("progress", .inbound)
        guard state != .early else { return }
        // Without an offer in the INVITE, early media needs a reliable 183 with ours; the PRACK has the answer (RFC 3262 section 5).
        guard !isOfferless || session?.machine.mayBeReliable == true else { throw .noMedia(operation: "progress") }
        change(to: .early)
        update {
            $0.progress(
                183, headers: self.addedRows, body: self.localDescription, reliably: self.isOfferless,
                source: self.hop.address, at: self.loop.now, into: &$1)
        }
        media?.start()
    }

    package func answer() async throws {
        if direction == .outbound { throw CallControlError.wrongState(operation: "answer", why: "the call goes out") }
        try requireUnanswered("answer", .inbound)
        change(to: .answered)
        answeredAt = loop.now
        times.answer = loop.now - started
        finalStatus = 200
        finalReason = "OK"
        shard.counters.answered += 1
        if isOfferless { answering = Waiter() }
        let rows = addedRows + Self.packageRow(answering: session?.machine.invite)
        update {
            $0.answer(
                headers: rows, body: self.localDescription, source: self.hop.address, at: self.loop.now, into: &$1)
        }
        media?.start()
        guard let answering else { return }
        if let error = try await answering.wait() { throw error }
    }

    package func reject(status: Int, reason: String?, headers: [CallHeader]) throws(CallControlError) {
        try requireUnanswered("reject", .inbound)
        guard (400..<700).contains(status) else { throw .invalid(operation: "reject", why: "\(status) is no refusal") }
        refuse(status, reason: reason, headers: headers)
    }

    package func redirect(to contacts: [String]) throws(CallControlError) {
        try requireUnanswered("redirect", .inbound)
        let rows = contacts.enumerated().map { index, uri in
            CallHeader(name: "Contact", value: "<\(uri)>;q=\(max(10 - index, 1) == 10 ? "1.0" : "0.\(max(10 - index, 1))")")
        }
        for contact in contacts where (try? URI(contact)) == nil || contact.contains("<") || contact.contains(">") {
            throw .invalid(operation: "redirect", why: "\"\(contact)\" is no URI")
        }
        refuse(302, reason: nil, headers: rows + diversionRows())
    }

    /// Who was called here, and who before (RFC 5806 section 4, RFC 7044 section 9.4): for where the call goes now.
    private func diversionRows() -> [CallHeader] {
        guard let history = historyToHere?.history, let called = calledURI else { return [] }
        let diversion = CallHeader(name: "Diversion", value: "<\(String(decoding: called, as: UTF8.self))>;reason=deflection")
        return [diversion] + passedOn(keepsCaller: false)
            + history.hidingPrivate().entries.map {
                CallHeader(name: "History-Info", value: String(decoding: $0.value, as: UTF8.self))
            }
    }

    /// The final answer of a refusal, and the call's end.
    func refuse(_ status: Int, reason: String?, headers: [CallHeader]) {
        finalStatus = status
        finalReason = reason ?? "\(statusPhrase(status))"
        // A redirection tells the history by itself.
        let rows = Self.rows(headers) + (headers.contains { $0.name == "History-Info" } ? [] : addedRows)
        update { $0.refuse(status, reason: reason, headers: rows, source: self.hop.address, into: &$1) }
    }

    /// The ACK of our 200, or of our answer to a re-INVITE; it has the answer when we made the offer.
    func acknowledged(by ack: Message) {
        guard isOfferless, let media else { return }
        isOfferless = false
        // A re-INVITE without a usable answer changes nothing; a call without one has no media at all.
        let isFirst = !media.isReady
        guard let answer = ack.sessionDescription else {
            return isFirst ? noAnswer("the ACK has no answer to our offer") : media.offerFailed()
        }
        do throws(MediaError) {
            try media.receive(answer: answer)
            answering?.resume(returning: nil)
        } catch {
            if isFirst { noAnswer("\(error)") } else { media.offerFailed() }
        }
    }

    private func noAnswer(_ why: String) {
        answering?.resume(returning: .noMedia(operation: "answer"))
        hangUp(HangUpReason(status: 488, cause: .rejected, detail: why))
    }

    func requireUnanswered(_ operation: String, _ wanted: CallInfo.Direction) throws(CallControlError) {
        guard direction == wanted else {
            throw .wrongState(operation: operation, why: "the call \(direction == .outbound ? "goes out" : "came in")")
        }
        switch state {
        case .new, .ringing, .early: return
        case .answered: throw .wrongState(operation: operation, why: "the call is answered already")
        case .ended: throw .wrongState(operation: operation, why: "the call has ended")
        }
    }

    /// Header rows as octets; a name that is no token is left out, line ends in values become blanks.
    static func rows(_ headers: [CallHeader]) -> [UInt8] {
        guard !headers.isEmpty else { return [] }
        var writer = MessageWriter(capacity: 128)
        for header in headers { writer.header(named: header.name, text: header.value) }
        return writer.octets
    }
}
