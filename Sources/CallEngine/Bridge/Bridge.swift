// Connecting a call with one of several targets: who is called when, what the caller hears meanwhile, who wins, how it ends. The legs are
// ordinary calls of the same loop. Whatever happens, no leg is left ringing: leaving `run` ends what is not wanted.

import Audio
import Basics
import Reactor
import SIP

extension Call {
    package func bridge(_ request: BridgeRequest) async throws(CancellationError) -> BridgeResult {
        let bridge = Bridge(caller: self, request: request)
        defer { bridge.end() }
        do {
            let result = try await bridge.run()
            await bridge.stopAsides()
            return result
        } catch {
            await bridge.stopAsides()
            throw error
        }
    }
}

/// One bridge, from the first INVITE to the end of the leg that answered. Belongs to the caller's loop.
final class Bridge {
    /// Who is called: a target, or one device of the registered user that a target names.
    struct Candidate {
        var target: String
        var device: Binding?
    }

    enum Event {
        case progressed(Call)
        case ended(Call, CallEnd)
        case referred(Call, Referral)
        /// What was done on a leg is over (BridgeAsides.swift).
        case asideEnded(Call, BridgeVerdict)
        case pressed(Int, by: Call)
        case timeUp
    }

    let caller: Call
    let request: BridgeRequest
    let events: Mailbox<Event>
    /// The legs that are not over, with their targets.
    var legs: [(call: Call, target: String)] = []
    private var ringback: Playback?
    private var recording: Recording?
    /// The leg whose audio the caller hears.
    var heard: Call?
    /// What legs are told of where the call has been; nil: nothing.
    private var history: BridgeHistory?
    /// A transfer is under way (BridgeTransfer.swift).
    var isTransferring = false
    /// Who has asked for it.
    var referrer: Call?
    /// What is done on single legs, until it is over.
    var asides: [(call: Call, task: LoopTask)] = []
    /// Whose keys are followed.
    var followed: [Call] = []
    /// The one whose keys have begun something that is not over.
    var presser: Call?
    var timers: [LoopTimer] = []
    /// The two were connected for as long as they may.
    var isTimeUp = false
    /// What keys began has left the bridge.
    var isLeft = false

    init(caller: Call, request: BridgeRequest) {
        self.caller = caller
        self.request = request
        events = Mailbox(loop: caller.loop)
        // What the flow says counts more than what came with the call.
        if !request.headers.contains(where: { $0.name.lowercased() == "history-info" }) { history = BridgeHistory(of: caller) }
    }

    func run() async throws(CancellationError) -> BridgeResult {
        guard !request.targets.isEmpty else { return BridgeResult(outcome: .unreachable, target: "") }
        var failures: [BridgeResult] = []
        for group in groups() {
            startRingback()
            let result = try await attempt(group)
            if result.outcome == .answered { return result }
            failures.append(result)
        }
        stopRingback()
        return failures.last!
    }

    /// Ends every leg that is left and what the caller hears: after the run, or when its task was cancelled.
    func end() {
        stopRingback()
        cancelAsides()
        recording?.stop()
        referrer?.endReferral()
        referrer = nil
        caller.media?.disconnect()
        for leg in legs {
            leg.call.onStateChange = nil
            leg.call.onEnd = nil
            leg.call.onReferral = nil
            // Why the caller went is told on.
            leg.call.hangUp(
                HangUpReason(cause: leg.call.state == .answered ? .normal : .cancelled, reason: caller.farReason))
        }
        legs = []
    }

    /// The targets that ring at the same time, one group after the other.
    private func groups() -> [[Candidate]] {
        switch request.order {
        case .all: return tiers(of: request.targets)
        case .sequence: return request.targets.flatMap { tiers(of: [$0]) }
        case .rotate:
            let first = caller.shard.nextRotation(of: request.targets)
            return (0..<request.targets.count).flatMap { tiers(of: [request.targets[(first + $0) % request.targets.count]]) }
        }
    }

    /// The targets with the devices of registered users in their place. Devices that their user prefers less (q, RFC 3261 section 16.6)
    /// ring when the others did not answer.
    private func tiers(of targets: [String]) -> [[Candidate]] {
        var tiers: [[Candidate]] = [[]]
        for target in targets {
            let devices = target.hasPrefix("user:") ? caller.shard.devices(of: String(target.dropFirst(5)), for: caller) : []
            guard var q = devices.first?.q else {
                tiers[0].append(Candidate(target: target))
                continue
            }
            var tier = 0
            for device in devices {
                if device.q < q { tier += 1 }
                q = device.q
                if tier == tiers.count { tiers.append([]) }
                tiers[tier].append(Candidate(target: target, device: device))
            }
        }
        return tiers
    }

    // MARK: Ringing

    private func attempt(_ group: [Candidate]) async throws(CancellationError) -> BridgeResult {
        var deadline = caller.loop.now + request.timeout
        var results = group.compactMap { call($0) }
        while !legs.isEmpty {
            guard let event = try await events.next(until: deadline) else {
                // Who has answered is being asked whether he takes the call.
                deadline = .never
                let silent = legs.filter { $0.call.state != .answered }
                results += silent.map { BridgeResult(outcome: .noAnswer, target: $0.target, status: $0.call.finalStatus) }
                for leg in silent {
                    history?.ended(leg.call, status: 408)
                    if heard === leg.call { loseEarlyMedia() }
                    dismiss(leg.call, HangUpReason(cause: .cancelled))
                }
                continue
            }
            switch event {
            case .progressed(let leg):
                guard let target = target(of: leg) else { continue }
                if leg.state == .answered {
                    if prepare(leg) { continue }
                    leave(except: leg)
                    return try await connect(leg, target)
                }
                progress(leg)
            case .asideEnded(let leg, let verdict):
                guard let target = target(of: leg) else { continue }
                switch verdict {
                case .goOn:
                    leave(except: leg)
                    return try await connect(leg, target)
                case .leave:
                    leave(except: nil)
                    return BridgeResult(outcome: .cancelled, target: target, status: leg.finalStatus)
                case .rejected, .noAnswer:
                    results.append(
                        BridgeResult(
                            outcome: verdict == .noAnswer ? .noAnswer : .rejected, target: target, status: leg.finalStatus))
                    dismiss(leg, .normal)
                }
            case .referred, .pressed, .timeUp: continue
            case .ended(let leg, let end):
                guard let target = target(of: leg) else { continue }
                legs.removeAll { $0.call === leg }
                cancelAside(on: leg)
                history?.ended(leg, status: leg.finalStatus)
                if heard === leg { loseEarlyMedia() }
                results.append(Self.result(of: end, target, status: leg.finalStatus))
            }
        }
        return results.max { Self.rank($0.outcome) < Self.rank($1.outcome) }!
    }

    /// Places a call to a target; what cannot even be placed is a result at once.
    func call(_ candidate: Candidate, more: [CallHeader] = []) -> BridgeResult? {
        let info = caller.info
        let target = candidate.target
        if target.hasPrefix("user:"), candidate.device == nil {
            let why = "no device of \(target.dropFirst(5)) is registered"
            return BridgeResult(outcome: .unreachable, target: target, detail: why)
        }
        var outgoing = CallRequest(target: target, from: request.callerID ?? info.from.uri, headers: request.headers + more)
        if request.callerID == nil {
            outgoing.displayName = info.from.display
            outgoing.identity = info.identity?.uri
            outgoing.privacy = info.privacy
        }
        outgoing.device = candidate.device
        outgoing.codecs = request.codecs
        outgoing.partnerIsCoded = caller.media.flatMap { $0.isReady ? $0.codec.isCoded : nil }
        if let (line, number) = CallRequest.line(of: target) {
            outgoing.line = line
            outgoing.target = number
            if request.callerID == nil { outgoing.from = nil }
        }
        let keepsCaller = outgoing.from == info.from.uri || outgoing.from == info.from.user
        outgoing.headers += caller.passedOn(keepsCaller: keepsCaller).filter { row in
            !request.headers.contains { $0.name.lowercased() == row.name.lowercased() }
        }
        outgoing.history = history?.next()
        do throws(CallControlError) {
            let leg = try caller.shard.place(outgoing)
            if case .ended(let end) = leg.state { return Self.result(of: end, target) }
            legs.append((leg, target))
            leg.onStateChange = { [unowned self, unowned leg] state in
                if !state.isEnded { events.send(.progressed(leg)) }
            }
            leg.onEnd = { [unowned self, unowned leg] end in events.send(.ended(leg, end)) }
            return nil
        } catch {
            return BridgeResult(outcome: .unreachable, target: target, detail: error.words)
        }
    }

    private func target(of leg: Call) -> String? { legs.first { $0.call === leg }?.target }

    /// Cancels all legs but the one that is taken.
    private func leave(except winner: Call?) {
        for leg in legs.map(\.call) where leg !== winner {
            if winner != nil, leg.state != .answered {
                dismiss(leg, .answeredElsewhere)
            } else {
                dismiss(leg, HangUpReason(cause: leg.state == .answered ? .normal : .cancelled))
            }
        }
    }

    /// Lets go of a leg.
    func dismiss(_ leg: Call, _ reason: HangUpReason) {
        cancelAside(on: leg)
        legs.removeAll { $0.call === leg }
        leg.onStateChange = nil
        leg.onEnd = nil
        leg.onReferral = nil
        leg.hangUp(reason)
    }

    // MARK: What the caller hears

    /// A caller that is not answered yet gets the same progress as we do.
    private func progress(_ leg: Call) {
        if leg.state == .early, request.earlyMedia, request.ringback == .automatic, heard == nil, let media = leg.media {
            if caller.direction == .inbound, !caller.isAnsweredOrEarly { try? caller.progress() }
            guard let mine = caller.media, mine.isReady else { return }
            stopRingback()
            heard = leg
            mine.connect(to: media)
        } else if caller.direction == .inbound {
            try? caller.ring()
        }
    }

    func startRingback() {
        guard ringback == nil, heard == nil, let media = caller.media, media.isReady, caller.isAnsweredOrEarly else { return }
        switch request.ringback {
        case .automatic:
            ringback = media.play(
                PlaybackRequest([.countryTone(name: "ringback", country: caller.shard.settings.country)], loop: .forever))
        case .source(let source): ringback = media.play(PlaybackRequest([source], loop: .forever))
        case .silence: break
        }
    }

    func stopRingback() {
        ringback?.stop()
        ringback = nil
    }

    func loseEarlyMedia() {
        heard = nil
        caller.media?.disconnect()
        if !legs.isEmpty { startRingback() }
    }

    // MARK: Connected

    private func connect(_ leg: Call, _ target: String) async throws(CancellationError) -> BridgeResult {
        stopRingback()
        let started = caller.loop.now
        if caller.direction == .inbound, caller.state != .answered {
            do {
                try await caller.answer()
            } catch let error as CancellationError {
                throw error
            } catch {
                return BridgeResult(outcome: .cancelled, target: target)
            }
        }
        if heard !== leg, let mine = caller.media, let theirs = leg.media {
            guard mine.canConnect(to: theirs) else {
                leave(except: nil)
                return BridgeResult(
                    outcome: .unreachable, target: target, status: 488,
                    detail: "\(mine.codec.name) and \(theirs.codec.name) cannot be made of each other")
            }
            mine.connect(to: theirs)
        }
        heard = leg
        recording = request.onConnected?()
        var (leg, target) = (leg, target)
        beginLimit()
        listenForReferral(of: leg)
        follow(leg)
        while !leg.state.isEnded, !isTimeUp, !isLeft {
            switch try await events.next() {
            case .referred(let referrer, let referral)? where referrer === leg:
                guard let next = try await transfer(from: leg, to: referral) else { continue }
                (leg, target) = next
                listenForReferral(of: leg)
                follow(leg)
            case .pressed(let index, let presser)?: pressed(index, by: presser)
            case .asideEnded(let call, let verdict)?: asideEnded(on: call, verdict)
            default: continue
            }
        }
        dismiss(leg, .normal)
        caller.media?.disconnect()
        recording?.stop()
        var result = BridgeResult(
            outcome: .answered, target: target, status: leg.finalStatus, connected: caller.loop.now - started)
        result.isLimited = isTimeUp
        return result
    }

    // MARK: Outcomes

    /// A leg that was not answered. The other side's refusal speaks for itself, by its status.
    private static func result(of end: CallEnd, _ target: String, status: Int = 0) -> BridgeResult {
        BridgeResult(outcome: outcome(of: end), target: target, status: status, detail: end.by == .engine ? end.detail : "")
    }

    private static func outcome(of end: CallEnd) -> BridgeResult.Outcome {
        switch end.cause {
        case .busy: .busy
        case .noAnswer, .timeout: .noAnswer
        case .rejected, .normal: .rejected
        case .cancelled: .cancelled
        case .unreachable, .mediaTimeout, .error: .unreachable
        }
    }

    /// When several rang: what a person would say of them together.
    private static func rank(_ outcome: BridgeResult.Outcome) -> Int {
        switch outcome {
        case .answered: 5
        case .noAnswer: 4
        case .busy: 3
        case .rejected: 2
        case .cancelled: 1
        case .unreachable: 0
        }
    }
}

extension Call {
    fileprivate var isAnsweredOrEarly: Bool { state == .answered || state == .early }
}
