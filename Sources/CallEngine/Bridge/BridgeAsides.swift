// What is done on single legs of a bridge: a target that has answered is asked whether it takes the call, keys do something while the two
// are connected, and the time for which they are is limited. What is done is a task of its own; it is over before the bridge comes back.

import Basics
import Reactor

extension Bridge {
    // MARK: Before the two are connected

    /// Begins what a target that has answered is told and asked; false when there is nothing of the kind.
    func prepare(_ leg: Call) -> Bool {
        guard let prepare = request.prepare else { return false }
        guard !asides.contains(where: { $0.call === leg }) else { return true }
        // The caller hears ringback until the two are connected.
        if heard === leg { loseEarlyMedia() }
        begin(prepare, on: leg)
        return true
    }

    private func begin(_ body: @escaping BridgeAside, on call: Call) {
        let task = caller.loop.spawn { [events] in
            guard let verdict = try? await body(call) else { return }
            events.send(.asideEnded(call, verdict))
        }
        asides.append((call, task))
    }

    func cancelAside(on leg: Call) {
        for aside in asides where aside.call === leg { aside.task.cancel() }
    }

    func cancelAsides() {
        for aside in asides { aside.task.cancel() }
        for timer in timers { timer.cancel() }
        timers = []
        for call in followed { call.digits.stopReading() }
        followed = []
    }

    /// Ends what is still done, and waits for that: nothing of it reads keys or plays after the bridge.
    func stopAsides() async {
        cancelAsides()
        for aside in asides { await aside.task.finished() }
        asides = []
    }

    // MARK: Keys while they are connected

    /// Follows the keys of the caller and of the leg. What was typed before meant something else.
    func follow(_ leg: Call) {
        for (call, side) in [(caller, BridgeKeys.Side.caller), (leg, .callee)] where !followed.contains(where: { $0 === call }) {
            let wanted = request.keys.enumerated().filter { $0.element.by == side || $0.element.by == .both }
            guard !wanted.isEmpty, call !== presser else { continue }
            var sequences = KeySequences(wanted.map { ($0.offset, $0.element.digits) })
            followed.append(call)
            _ = call.digits.read { [events, unowned call] event in
                guard event.phase == .began, let index = sequences.press(event.digit, at: event.at) else { return }
                events.send(.pressed(index, by: call))
            }
        }
    }

    func stopFollowing(_ call: Call) {
        guard followed.contains(where: { $0 === call }) else { return }
        followed.removeAll { $0 === call }
        call.digits.stopReading()
    }

    /// Begins what the keys stand for, unless what others began is not over. Its own steps read the keys of this side meanwhile.
    func pressed(_ index: Int, by call: Call) {
        guard presser == nil, !call.state.isEnded, let onKeys = request.onKeys else { return }
        presser = call
        stopFollowing(call)
        begin({ leg async throws(CancellationError) in try await onKeys(index, leg) }, on: call)
    }

    /// The two talk on, unless it has left the bridge.
    func asideEnded(on call: Call, _ verdict: BridgeVerdict) {
        guard call === presser else { return }
        presser = nil
        isLeft = verdict == .leave
        if let leg = legs.first?.call { follow(leg) }
    }

    // MARK: The limit

    func beginLimit() {
        guard let limit = request.limit else { return }
        timers.append(
            caller.loop.schedule(after: limit) { [unowned self] in
                isTimeUp = true
                events.send(.timeUp)
            })
        guard let warning = request.warning, warning.before < limit else { return }
        timers.append(
            caller.loop.schedule(after: limit - warning.before) { [unowned self] in
                // Who has begun something hears that.
                for call in [caller, heard] where call !== presser { _ = call?.play(PlaybackRequest(warning.sounds)) }
            })
    }
}
