// Hold and unhold by re-INVITE (RFC 3264 section 8.4, RFC 3261 section 14). A refused re-INVITE changes nothing.

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

    /// Offers a new direction. Glare (491) is tried again after its time, up to three times.
    private func renegotiate(_ operation: String, direction: MediaDirection) async throws {
        guard state == .answered, let media else {
            throw CallControlError.wrongState(
                operation: operation, why: state.isEnded ? "the call has ended" : "the call is not answered")
        }
        let before = media.wantedDirection
        media.wantedDirection = direction
        for attempt in 0..<4 {
            glareWait = nil
            var sent = false
            let offer = media.makeOffer()
            update { sent = $0.reinvite(body: offer, into: &$1) }
            guard sent else {
                media.offerFailed()
                if attempt < 3 {
                    // The first ACK, or the peer's own re-INVITE, is still on its way.
                    try await loop.sleep(for: .milliseconds(200))
                    continue
                }
                break
            }
            let result = Waiter<Int>()
            renegotiation = result
            defer { renegotiation = nil }
            let status = try await result.wait()
            if (200..<300).contains(status) { return }
            media.offerFailed()
            guard status == 491, let glareWait, attempt < 3 else {
                media.wantedDirection = before
                throw CallControlError.refused(operation: operation, status: status)
            }
            try await loop.sleep(for: glareWait)
        }
        media.wantedDirection = before
        throw CallControlError.wrongState(operation: operation, why: "another change of the session is under way")
    }

    /// The final answer to our re-INVITE.
    func renegotiated(_ response: Message, retryAfter: Duration?) {
        var status = response.status
        if (200..<300).contains(status) {
            update { $0.acknowledge(into: &$1) }
            if let media, (try? media.receive(answer: response.sessionDescription ?? [])) == nil { status = 488 }
        }
        glareWait = retryAfter
        if let renegotiation {
            renegotiation.resume(returning: status)
        } else if status >= 300 {
            // A refresh of the session: nobody waits for it.
            media?.offerFailed()
        }
    }
}
