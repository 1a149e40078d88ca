// Keys between the legs of a bridge. Whatever way a key came by, the other leg gets it in the way that its far side has agreed on, as a press
// of our own stream: so it is one key whatever becomes of the packets that told it, it is heard over what plays there, and it ends with
// the bridge. Keys that come faster than they can be sent wait for each other.

import Basics
import RTP
import Reactor

/// Keys that one leg sends for the other: there while one is being sent or waits.
final class RelayedKeys {
    struct Key {
        var digit: Digit
        var began: Instant
        /// nil: it is still down.
        var length: Duration?
    }

    var waiting: [Key] = []
    /// The one that is being sent, or was sent last, is down at the other leg.
    var isDown = false

    /// More have nobody who types them.
    static let most = 32
}

extension MediaSession {
    // MARK: From this leg's far side

    /// A key that came as an event.
    func relay(_ event: TelephoneEvent, _ digit: Digit) {
        switch event.phase {
        case .began: relaying?.keyDown(digit)
        case .ended: bridge?.other.keyUp()
        }
    }

    /// A key that came by INFO.
    func relay(_ digit: Digit, for duration: Duration?) {
        relaying?.send(
            RelayedKeys.Key(
                digit: digit, began: loop.now, length: max(.milliseconds(100), min(duration ?? .milliseconds(160), .seconds(5)))))
    }

    /// A key that came as sound goes on as an event where the other side has agreed on these: its sound may not survive the other codec, and
    /// nobody listens for it there. From here on the event takes the place of the sound.
    func relaySound(of digit: Digit) {
        guard let other = relaying, other.canSendEvents else { return }
        other.keyDown(digit)
        relaysSound = true
    }

    /// The sound is over, or nobody listens for it any more.
    func releaseRelayed() {
        guard relaysSound else { return }
        relaysSound = false
        bridge?.other.keyUp()
    }

    /// The other leg, when keys may be sent there now.
    private var relaying: MediaSession? {
        guard let other = bridge?.other, other.isReady, other.maySend else { return nil }
        return other
    }

    // MARK: To this leg's far side

    private func keyDown(_ digit: Digit) { send(RelayedKeys.Key(digit: digit, began: loop.now)) }

    private func keyUp() {
        guard let relayed, relayed.isDown else { return }
        relayed.isDown = false
        guard let last = relayed.waiting.indices.last else { return release() }
        relayed.waiting[last].length = loop.now - relayed.waiting[last].began
    }

    private func send(_ key: RelayedKeys.Key) {
        let relayed = relayed ?? RelayedKeys()
        self.relayed = relayed
        // Whose end was not told has ended all the same.
        keyUp()
        guard relayed.waiting.count < RelayedKeys.most else { return }
        relayed.waiting.append(key)
        relayed.isDown = key.length == nil
        sendNextRelayed()
    }

    /// Begins the next key when the one before is over; called in each tick.
    func sendNextRelayed() {
        guard let relayed, eventSender == nil, keySound == nil, !isSendingDigits else { return }
        guard !relayed.waiting.isEmpty else {
            if !relayed.isDown { self.relayed = nil }
            return
        }
        let key = relayed.waiting.removeFirst()
        sendRelayed(key.digit, for: key.length)
    }

    /// The bridge ends: what is down is let go, and what waits is not sent.
    func endRelayedKeys() {
        guard relayed != nil else { return }
        relayed = nil
        guard !isSendingDigits else { return }
        keySound = nil
        release()
    }

    /// A press that was told by its end alone is a press too.
    private func release() {
        guard !isSendingDigits, let sender = eventSender else { return }
        sender.release(after: (sendEventClock ?? 8000) * 40 / 1000)
    }
}
