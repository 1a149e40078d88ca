// A key that cuts a prompt: how long after the key's first packet the prompt's last one arrives. Callers and those who answer have loops of
// their own, so that the ticks of the two ends of a call fall as they do between two machines.

import Basics
import CallEngine
import Glibc
import Reactor

enum BargeIn {
    /// Keys are spread evenly over two seconds, so that they fall onto every part of a tick.
    private static let spread: UInt32 = 2_000_000

    static func run(_ plan: Plan, _ workers: MediaWorkers) throws -> String {
        guard let prompt = plan.prompt else { return "--barge-in needs --prompt FILE" }
        let count = plan.sessions / 2
        let callers = try bound("callers", ports: 20000...39999, plan, workers) { try Callers($0, plan, count) }
        // Half a slice of the media clock: neither side's slices begin with the other's.
        usleep(2500)
        let answerers = try bound("answerers", ports: 40000...59999, plan, workers) { Answerers($0, plan, prompt) }
        let answers = try (0..<count).map { index in
            let offer = callers.runAndWait { $0.offer(index) }
            return try answerers.runAndWait { try $0.answer(offer) }
        }
        // In another order than they answered, so that every slice of the one side meets every slice of the other.
        for index in (0..<count).shuffled() { try callers.runAndWait { try $0.receive(answers[index], index) } }
        sleep(3)
        for index in 0..<count {
            callers.run { $0.press(index) }
            usleep(spread / UInt32(count))
        }
        sleep(1)
        let last = callers.runAndWait { $0.lastHeard }
        let pressed = answerers.runAndWait { $0.pressed }
        let delays = zip(last, pressed).compactMap { last, pressed in pressed.map { Double((last - $0).nanoseconds) / 1e6 } }
        return Figures.line([
            ("calls", Double(count)), ("cut", Double(delays.count)), ("median_ms", delays.quantile(0.5)),
            ("p99_ms", delays.quantile(0.99)), ("worst_ms", delays.max() ?? 0)
        ])
    }

    /// One side on a loop of its own.
    private static func bound<Side>(
        _ name: String, ports: ClosedRange<UInt16>, _ plan: Plan, _ workers: MediaWorkers,
        _ make: @escaping @Sendable (MediaServices) throws -> Side
    ) throws -> LoopBound<Side> {
        let loop = try EpollLoop(name: name)
        try loop.start()
        let made = Outcome<Result<LoopBound<Side>, any Error>>()
        loop.execute {
            made.set(
                Result {
                    LoopBound(try make(MediaServices(loop: loop, ports: ports, bindTo: plan.bindTo, workers: workers)), on: loop)
                })
        }
        return try made.wait().get()
    }

    private final class Callers {
        private let services: MediaServices
        private let sessions: [MediaSession]

        init(_ services: MediaServices, _ plan: Plan, _ count: Int) throws {
            self.services = services
            sessions = try (0..<count).map { _ in try MediaSession(services: services, settings: plan.settings(DigitInbox())) }
        }

        func offer(_ index: Int) -> [UInt8] { sessions[index].makeOffer() }

        func receive(_ answer: [UInt8], _ index: Int) throws { try sessions[index].receive(answer: answer[...]) }

        func press(_ index: Int) {
            let session = sessions[index]
            services.loop.spawn { try? await session.sendDigits("5", options: SendDigitsOptions()) }
        }

        /// When the latest packet came to each: the prompt's last one, since nothing is sent after it.
        var lastHeard: [Instant] { sessions.map(\.lastHeard) }
    }

    private final class Answerers {
        private let services: MediaServices
        private let plan: Plan
        private let prompt: String
        private var sessions: [MediaSession] = []
        /// When each key's first packet came, by the kernel's stamp.
        private(set) var pressed: [Instant?] = []

        init(_ services: MediaServices, _ plan: Plan, _ prompt: String) {
            self.services = services
            self.plan = plan
            self.prompt = prompt
        }

        /// Plays until a key is heard.
        func answer(_ offer: [UInt8]) throws -> [UInt8] {
            let inbox = DigitInbox()
            let session = try MediaSession(services: services, settings: plan.settings(inbox, idle: .nothing))
            let answer = try session.answer(offer[...])
            session.start()
            let playback = session.play(PlaybackRequest([.file(path: prompt)], loop: .forever))
            let index = sessions.count
            sessions.append(session)
            pressed.append(nil)
            _ = inbox.read { [unowned self, unowned session] event in
                guard event.phase == .began, pressed[index] == nil else { return }
                pressed[index] = session.lastHeard
                playback.stop()
            }
            return answer
        }
    }
}
