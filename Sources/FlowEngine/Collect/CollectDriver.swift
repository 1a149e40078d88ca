// Drives a CollectMachine on a call: keys from the inbox, prompts through `play`, deadlines by the loop's timers. Everything happens
// in the turn in which a key's packet was read, so that the prompt stops before its next packet.

import Basics
package import CallEngine
import Reactor

/// One `collect` at work. Belongs to the call's loop; used once.
package final class CollectDriver {
    private let call: any CallControl
    private var machine: CollectMachine
    private let prompts: [CollectSettings.Prompt: [AudioSource]]
    private let over = Waiter<CollectResult>()
    private var playback: Playback?
    private var timer: LoopTimer?
    private var playing: [CollectSettings.Prompt] = []
    /// Called as prompts begin and end.
    package var onPrompt: (([CollectSettings.Prompt]) -> Void)?
    package var onPromptEnd: (([CollectSettings.Prompt], FlowEvent.PromptEnd) -> Void)?
    /// Called for a prompt that could not be played; the entry goes on without it.
    package var onFailure: ((String) -> Void)?

    package init(
        call: any CallControl, settings: CollectSettings, prompts: [CollectSettings.Prompt: [AudioSource]]
    ) {
        self.call = call
        self.prompts = prompts
        var settings = settings
        settings.prompts = Set(prompts.filter { !$0.value.isEmpty }.keys)
        machine = CollectMachine(settings)
    }

    /// Runs it to its result. Throws `CancellationError` at once when the task is cancelled, with the prompt stopped.
    package func run() async throws(CancellationError) -> CollectResult {
        let typed = call.digits.read { [weak self] event in
            guard let self else { return }
            self.perform(self.machine.digit(event))
        }
        defer {
            call.digits.stopReading()
            call.digits.putBack(machine.unused)
            timer?.cancel()
            stopPlayback()
        }
        perform(machine.start(at: call.loop.now, typed: typed))
        return try await over.wait()
    }

    private func perform(_ actions: [CollectMachine.Action]) {
        for action in actions {
            switch action {
            case .play(let parts): play(parts)
            case .stopPrompt:
                stopPlayback()
            case .finish(let result): over.resume(returning: result)
            }
        }
        arm()
    }

    private func stopPlayback() {
        guard let stopped = playback else { return }
        playback = nil
        stopped.onEnd = nil
        stopped.stop()
        onPromptEnd?(playing, .stopped)
    }

    private func play(_ parts: [CollectSettings.Prompt]) {
        playing = parts
        onPrompt?(parts)
        let playback = call.play(PlaybackRequest(parts.flatMap { prompts[$0] ?? [] }))
        self.playback = playback
        // A prompt that fails at once must not end the machine's turn from within.
        playback.onEnd = { [weak self, weak playback] end in
            guard let self, let playback else { return }
            self.call.loop.schedule(at: self.call.loop.now) { self.promptEnded(playback, end) }
        }
    }

    private func promptEnded(_ ended: Playback, _ end: PlaybackEnd) {
        guard ended === playback else { return }
        playback = nil
        switch end {
        case .finished: onPromptEnd?(playing, .finished)
        case .stopped: onPromptEnd?(playing, .stopped)
        case .failed(let reason):
            onPromptEnd?(playing, .failed(reason))
            onFailure?(reason)
        }
        perform(machine.promptEnded(at: call.loop.now))
    }

    private func arm() {
        timer?.cancel()
        timer = machine.nextDeadline.map { deadline in
            call.loop.schedule(at: deadline) { [weak self] in
                guard let self else { return }
                self.perform(self.machine.deadline(at: self.call.loop.now))
            }
        }
    }
}
