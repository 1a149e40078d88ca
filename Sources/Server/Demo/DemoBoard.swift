// The picture of the demo: what both sides say and do, line by line, in the order in which it happened. Two threads write to it.

import Basics
import CallEngine
import FlowEngine
import Reactor

/// The caller is on the left.
enum DemoSide {
    case left
    case right
}

/// Prints the ladder while the call goes on, and remembers what was played to its end.
final class DemoBoard: Sendable {
    private struct State {
        var ladder: Ladder
        var isStarted = false
        /// Prompts that the server played to their end, and the recordings that its flow made.
        var playedWhole: [String] = []
        var recordings: [String] = []
    }

    private let state: Locked<State>
    private let names: (left: String, right: String)
    private let show: @Sendable (String) -> Void

    init(left: String, right: String, show: @escaping @Sendable (String) -> Void) {
        names = (left, right)
        self.show = show
        state = Locked(State(ladder: Ladder([left, right], start: .zero)))
    }

    var playedWhole: [String] { state.withLock { $0.playedWhole } }
    var recordings: [String] { state.withLock { $0.recordings } }

    /// A message as the server's socket saw it.
    func message(_ message: TracedMessage) {
        line(at: message.at) {
            let isToServer = message.direction == .received
            return $0.message(
                Ladder.label(of: message.bytes), from: isToServer ? 0 : 1, to: isToServer ? 1 : 0, at: message.at)
        }
    }

    func event(_ event: FlowEvent, on side: DemoSide, at instant: Instant) {
        if case .promptEnded(let names, .finished) = event, side == .right {
            state.withLock { $0.playedWhole += names }
        }
        if case .recorded(let path, _, nil) = event, side == .right {
            state.withLock { $0.recordings.append(path) }
        }
        guard let words = EventLines.words(for: event) else { return }
        line(at: instant) { $0.note(words, on: side == .left ? 0 : 1, at: instant) }
    }

    private func line(at instant: Instant, _ make: (Ladder) -> String) {
        let lines = state.withLock { state -> [String] in
            guard !state.isStarted else { return [make(state.ladder)] }
            state.isStarted = true
            state.ladder = Ladder([names.left, names.right], start: instant)
            return [state.ladder.heading, make(state.ladder)]
        }
        for line in lines { show(line) }
    }
}

/// Brings one side's flow events to the board.
final class DemoObserver: FlowObserver {
    private let board: DemoBoard
    private let side: DemoSide

    init(_ board: DemoBoard, _ side: DemoSide) {
        self.board = board
        self.side = side
    }

    func flow(_ run: FlowRun, did event: FlowEvent) {
        board.event(event, on: side, at: run.loop.now)
    }
}
