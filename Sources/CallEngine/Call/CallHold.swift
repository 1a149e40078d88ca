// Hold and unhold (RFC 3264 section 8.4): by re-INVITE (RFC 3261 section 14), before the answer by UPDATE (RFC 3311). An offer that is
// refused changes nothing.

import Basics
import Reactor
import SDP
import SIP

extension Call {
    package func hold(music: AudioSource?) async throws {
        guard !isHeldByUs else { return }
        try await renegotiate("hold", direction: .sendonly)
        isHeldByUs = true
        if let music { holdMusic = media?.play(PlaybackRequest([music], loop: .forever)) }
    }

    package func unhold() async throws {
        guard isHeldByUs else { return }
        holdMusic?.stop()
        holdMusic = nil
        try await renegotiate("unhold", direction: .sendrecv)
        isHeldByUs = false
    }

    /// Who was held before the answer is not who answered (forking): it was offered both directions.
    func releaseHold() {
        holdMusic?.stop()
        holdMusic = nil
        media?.wantedDirection = .sendrecv
        isHeldByUs = false
    }

    /// Offers a new direction. Glare (491, 500) is tried again after its time, up to three times.
    private func renegotiate(_ operation: String, direction: MediaDirection) async throws {
        guard let media, state == .answered || session?.machine.takesEarlyOffer == true else {
            let why = "the call is not answered, and before that the other side takes no UPDATE"
            throw CallControlError.wrongState(operation: operation, why: state.isEnded ? "the call has ended" : why)
        }
        let before = media.wantedDirection
        media.wantedDirection = direction
        let deadline = loop.now + .seconds(10)
        var refusals = 0
        while true {
            var sent = false
            let offer = media.makeOffer()
            update { sent = $0.state == .early ? $0.update(offering: offer, into: &$1) : $0.reinvite(body: offer, into: &$1) }
            guard sent else {
                media.offerFailed()
                guard !state.isEnded, loop.now < deadline else { break }
                // The first ACK or PRACK, or the peer's own re-INVITE, is still on its way.
                try await loop.sleep(for: .milliseconds(200))
                continue
            }
            let result = Waiter<OfferOutcome>()
            renegotiation = result
            defer { renegotiation = nil }
            let outcome = try await result.wait()
            if (200..<300).contains(outcome.status) { return }
            media.offerFailed()
            refusals += 1
            guard let pause = outcome.retryAfter, refusals < 4 else {
                media.wantedDirection = before
                throw CallControlError.refused(operation: operation, status: outcome.status, warning: outcome.warning)
            }
            try await loop.sleep(for: pause)
        }
        media.wantedDirection = before
        throw CallControlError.wrongState(operation: operation, why: "another change of the session is under way")
    }

    /// The final answer to our UPDATE with an offer. A 2xx to the INVITE has no description any more then.
    func updated(_ status: Int, _ response: Message?, retryAfter: Duration?) {
        var outcome = OfferOutcome(status: status, retryAfter: retryAfter, warning: response?.header(.warning) ?? "")
        if 200..<300 ~= status {
            if let media, (try? media.receive(answer: response?.sessionDescription ?? [])) != nil {
                localDescription = []
                notePackages(response)
            } else {
                outcome.status = 488
            }
        }
        if let renegotiation { renegotiation.resume(returning: outcome) } else if outcome.status >= 300 { media?.offerFailed() }
    }

    /// The final answer to our re-INVITE.
    func renegotiated(_ response: Message, retryAfter: Duration?) {
        var outcome = OfferOutcome(status: response.status, retryAfter: retryAfter, warning: response.header(.warning) ?? "")
        if (200..<300).contains(response.status) {
            notePackages(response)
            update { $0.acknowledge(into: &$1) }
            if let media, (try? media.receive(answer: response.sessionDescription ?? [])) == nil { outcome.status = 488 }
        }
        // A refresh of the session: nobody waits for it.
        if let renegotiation { renegotiation.resume(returning: outcome) } else if outcome.status >= 300 { media?.offerFailed() }
    }
}

/// What became of an offer of ours in the dialog.
struct OfferOutcome: Sendable {
    /// The final answer; 488 where it has none that can be used, 408 without any, 0 when the call has ended.
    var status: Int
    /// It met another change of the session: how long to wait before it is made again.
    var retryAfter: Duration?
    /// Why it was refused, as the far side says (Warning).
    var warning = ""
}
