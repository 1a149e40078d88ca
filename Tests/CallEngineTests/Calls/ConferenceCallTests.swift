// Calls that meet in a conference although they live on different loops: in virtual time, and with threads and sockets.

import Audio
import Basics
import CallEngine
import Reactor
import TestKit
import Testing

@Suite struct ConferenceCallTests {
    /// A server with two loops whose calls all go to one room, and its callers.
    private final class Hall {
        let world: VirtualWorld
        let hub: Engine
        private let callers: Engine
        private(set) var parts: [Participation] = []
        private(set) var calls: [Call] = []
        private(set) var answered: [Call] = []

        init(seed: UInt64, change: @escaping (inout ConferenceRequest) -> Void = { _ in }) throws {
            world = VirtualWorld(seed: seed)
            hub = try world.engine(at: "192.0.2.1", loops: 2, settings: nil)
            callers = try world.engine(at: "192.0.2.2")
            for index in 0..<2 {
                hub.shard(index).onIncoming = { [unowned self] call in
                    answered.append(call)
                    call.loop.spawn {
                        try? await call.answer()
                        var request = ConferenceRequest(room: "hall")
                        change(&request)
                        if let part = try? call.join(request) { self.parts.append(part) }
                    }
                }
            }
        }

        /// Each on another loop than the one before.
        func call(_ count: Int) throws {
            for _ in 0..<count {
                let wanted = calls.count % 2
                let before = hub.shard(wanted).heldCalls
                var call: Call
                repeat {
                    call = try callers.shard(0).place(CallRequest(target: "sip:hall@192.0.2.1"))
                    world.loop.run(for: .milliseconds(500))
                    if hub.shard(wanted).heldCalls == before {
                        call.hangUp(.normal)
                        parts.removeLast()
                        answered.removeLast()
                    }
                } while call.state.isEnded
                calls.append(call)
            }
        }
    }

    @Test func membersOnTwoLoopsHearEachOther() throws {
        let hall = try Hall(seed: 41)
        try hall.call(3)
        #expect(hall.hub.shard(0).heldCalls > 0 && hall.hub.shard(1).heldCalls > 0)
        let tones: [Double] = [520, 870, 1310]
        for (call, tone) in zip(hall.calls, tones) {
            _ = call.play(PlaybackRequest([.tone(frequencies: [tone], cadence: [])], loop: .forever))
        }
        hall.world.loop.run(for: .seconds(1))
        let files = hall.calls.map { _ in temporaryFile("hall.wav") }
        let recordings = try zip(hall.calls, files).map { try $0.record(RecordingRequest(path: $1, channels: .caller)) }
        hall.world.loop.run(for: .milliseconds(1200))
        for recording in recordings { recording.stop() }
        hall.world.loop.run(for: .milliseconds(200))
        for (listener, file) in files.enumerated() {
            let clip = try PromptFile.read(file).part(from: .milliseconds(150), until: .milliseconds(1150))
            let levels = tones.map { AudioProbe.level(at: $0, in: clip) }
            for (speaker, level) in levels.enumerated() {
                #expect(speaker == listener ? level < -45 : abs(level + 13) < 1.5, "\(listener): \(levels)")
            }
        }
        #expect(hall.parts.map(\.state?.members) == [3, 3, 3])
        #expect(hall.hub.mediaCounters.conferenceMembers == 3 && hall.hub.mediaCounters.conferences == 1)
        hall.calls[1].hangUp(.normal)
        hall.world.loop.run(for: .seconds(1))
        #expect(hall.parts.map(\.end) == [nil, .left, nil] && hall.parts[0].state?.members == 2)
        for call in hall.calls { call.hangUp(.normal) }
        hall.world.loop.run(for: .seconds(1))
        #expect(hall.hub.mediaCounters.conferences == 0)
        #expect(hall.world.finish() == [])
    }

    @Test func theEndOfTheServerEndsTheConference() throws {
        let hall = try Hall(seed: 42)
        try hall.call(3)
        hall.hub.drain()
        hall.world.loop.run(for: .seconds(2))
        #expect(hall.parts.allSatisfy { $0.end == nil }, "calls that exist go on")
        hall.world.abandon(hall.hub)
        // The room lives on one loop; who is on the other is let go when that ends first.
        #expect(hall.parts.allSatisfy { $0.end == .left || $0.end == .ended })
        #expect(hall.hub.shard(0).services.counters.conferenceMembers == 0)
        #expect(hall.hub.shard(1).services.counters.conferenceMembers == 0)
        hall.world.loop.run(for: .seconds(1))
        #expect(hall.calls.allSatisfy { $0.state.isEnded })
        #expect(hall.world.finish() == [])
    }

    @Test func aHeldCallIsNotHeardAndComesBack() throws {
        let hall = try Hall(seed: 43)
        try hall.call(2)
        let (holder, other) = (hall.calls[0], hall.calls[1])
        func hears(_ tone: Double) throws -> Bool {
            let file = temporaryFile("held.wav")
            let recording = try other.record(RecordingRequest(path: file, channels: .caller))
            hall.world.loop.run(for: .milliseconds(1200))
            recording.stop()
            hall.world.loop.run(for: .milliseconds(200))
            return AudioProbe.level(at: tone, in: try PromptFile.read(file)) > -30
        }
        holder.loop.spawn { try? await holder.hold(music: .tone(frequencies: [870], cadence: [])) }
        hall.world.loop.run(for: .seconds(1))
        #expect(holder.isHeldByUs)
        #expect(try !hears(870))
        holder.loop.spawn { try? await holder.unhold() }
        hall.world.loop.run(for: .seconds(1))
        _ = holder.play(PlaybackRequest([.tone(frequencies: [520], cadence: [])], loop: .forever))
        hall.world.loop.run(for: .milliseconds(300))
        #expect(try hears(520))
        for call in hall.calls { call.hangUp(.normal) }
        #expect(hall.world.finish() == [])
    }

    @Test func onlyAnAnsweredCallMayJoin() throws {
        let world = VirtualWorld(seed: 44)
        let hub = try world.engine(at: "192.0.2.1")
        let callers = try world.engine(at: "192.0.2.2")
        var error: CallControlError?
        hub.shard(0).onIncoming = { call in
            do throws(CallControlError) { _ = try call.join(ConferenceRequest(room: "hall")) } catch let refused {
                error = refused
            }
            call.hangUp(.normal)
        }
        _ = try callers.shard(0).place(CallRequest(target: "sip:hall@192.0.2.1"))
        world.loop.run(for: .seconds(1))
        #expect(error == .noMedia(operation: "conference"))
        #expect(world.finish() == [])
    }

    /// What the callers of a real server heard.
    private struct Heard: Sendable {
        /// Who heard the two others together.
        var listeners: Set<Int> = []
        /// Where the server's calls live.
        var loops: Set<String> = []
    }

    /// Threads and sockets: the callers' own detectors tell when each has heard the two others.
    @Test func membersOnTwoThreadsHearEachOther() throws {
        let loops = try (0..<3).map { try EpollLoop(name: "hall \($0)") }
        for loop in loops { try loop.start() }
        let workers = try MediaWorkers()
        let names = try WorkerPool(name: "names", threads: 1, limit: 16)
        let heard = Locked(Heard())
        let over = Outcome<Void>()
        func engine(_ ip: String, _ loops: [EpollLoop], onIncoming: @escaping @Sendable (Call) -> Void) throws -> Engine {
            try Engine(
                settings: EngineSettings(
                    listeners: [.init(.udp, SocketAddress(ip: IPAddress(ip)!, port: 0))],
                    limits: .init(calls: 100, callsPerSecond: 1000)), loops: loops, workers: workers, nameWorkers: names,
                seed: 11, onIncoming: onIncoming)
        }
        let hub = try engine("127.0.0.2", Array(loops[0..<2])) { call in
            call.loop.spawn {
                try? await call.answer()
                _ = try? call.join(ConferenceRequest(room: "hall"))
                _ = heard.withLock { $0.loops.insert(call.loop.name) }
            }
        }
        let client = try engine("127.0.0.3", [loops[2]]) { $0.hangUp(.normal) }
        let target = "sip:hall@127.0.0.2:\(hub.listeners[0].address.port)"
        let tones: [Double] = [520, 870, 1310]
        let files = tones.map { _ in temporaryFile("threads.wav") }
        client.withShard(0) { shard in
            for (index, tone) in tones.enumerated() {
                guard let call = try? shard.place(CallRequest(target: target)) else { return }
                call.loop.spawn {
                    guard case .reached? = try? await call.wait(for: .answered, timeout: nil) else { return }
                    _ = call.play(PlaybackRequest([.tone(frequencies: [tone], cadence: [])], loop: .forever))
                    _ = try? call.record(RecordingRequest(path: files[index], channels: .caller))
                    call.listen(ListenRequest(tones: [tones.filter { $0 != tone }])).onEvent = { event in
                        guard case .tone = event else { return }
                        let isAll = heard.withLock { heard in
                            heard.listeners.insert(index)
                            return heard.listeners.count == tones.count
                        }
                        if isAll { over.set(()) }
                    }
                }
            }
        }
        #expect(over.wait(within: .seconds(30)) != nil, "\(heard.withLock { $0 })")
        client.close()
        let counters = hub.mediaCounters
        hub.close()
        for loop in loops { #expect(loop.stop(within: .seconds(10)) == EpollLoop.Leftovers(), "\(loop.name)") }
        workers.stop()
        names.stop()
        #expect(counters.conferenceMembersTotal == 3 && heard.withLock { $0.loops.count } == 2)
        for (index, file) in files.enumerated() {
            let clip = try PromptFile.read(file)
            #expect(AudioProbe.level(at: tones[index], in: clip) < -40, "\(index) hears himself")
        }
    }
}
