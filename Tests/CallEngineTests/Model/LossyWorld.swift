// Two engines on a bad network, two hundred calls between them, and a watch at each end.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit

/// What the two sides of a call do.
enum CallPlan: CaseIterable {
    case callerHangsUp, calleeHangsUp, bothHangUp, refused, cancelled, cancelMeetsAnswer
}

final class LossyWorld {
    static let callerIP = "192.0.2.2"
    static let calleeIP = "192.0.2.1"
    static let calls = 200

    let world: VirtualWorld
    private let seed: UInt64
    private var random: SeededRandom
    /// Of all engines that ever ran; a new one at the same address has a watch of its own.
    private(set) var watches: [MachineWatch] = []
    private(set) var callers: Engine!
    private(set) var callees: Engine!
    /// How the callers' calls ended, by the order in which they were placed.
    private(set) var outcomes: [(plan: CallPlan, call: Call, end: CallEnd)] = []
    private(set) var placed = 0
    /// Calls whose states went backwards, or that ended more than once.
    private(set) var disorders: [String] = []

    init(seed: UInt64, sessionTimer: SessionTimer.Settings = SessionTimer.Settings()) throws {
        self.seed = seed
        random = SeededRandom(seed: seed &* 0x9E37_79B9_7F4A_7C15)
        world = VirtualWorld(seed: seed)
        var faults = VirtualNetwork.Impairment()
        faults.loss = 0.1
        faults.delay = .milliseconds(20)
        faults.jitter = .milliseconds(200)
        faults.duplication = 0.05
        faults.reordering = 0.1
        world.network.impairment = faults
        callees = try engine(at: Self.calleeIP, sessionTimer, onIncoming: answer)
        callers = try engine(at: Self.callerIP, sessionTimer, onIncoming: nil)
        for index in 0..<Self.calls {
            world.loop.schedule(after: .milliseconds(25 * index)) { [unowned self] in
                place(CallPlan.allCases[index % CallPlan.allCases.count])
            }
        }
    }

    private func engine(at ip: String, _ timer: SessionTimer.Settings, onIncoming: ((Call) -> Void)?) throws -> Engine {
        let watch = MachineWatch()
        watches.append(watch)
        return try world.engine(at: ip, settings: { $0.sessionTimer = timer }, trace: watch.trace, onIncoming: onIncoming)
    }

    // MARK: Calls

    private func answer(_ call: Call) {
        let plan = CallPlan.allCases[Int(call.requestURI?.user ?? "") ?? 0]
        watchStates(of: call)
        call.loop.spawn {
            do {
                try call.ring()
                switch plan {
                case .refused: try call.reject(status: 486, reason: nil, headers: [])
                case .cancelled:
                    // As any flow does: whoever gave up may be unable to say so.
                    try await call.loop.sleep(for: .seconds(90))
                    try call.reject(status: 480, reason: nil, headers: [])
                case .cancelMeetsAnswer:
                    try await call.loop.sleep(for: .seconds(2))
                    try await call.answer()
                default:
                    try await call.loop.sleep(for: .seconds(1))
                    try await call.answer()
                    if plan == .calleeHangsUp || plan == .bothHangUp {
                        try await call.loop.sleep(for: .seconds(3))
                        call.hangUp(.normal)
                    }
                }
            } catch {}
        }
    }

    private func place(_ plan: CallPlan) {
        let number = CallPlan.allCases.firstIndex(of: plan)!
        guard let call = try? callers.shard(0).place(CallRequest(target: "sip:\(number)@\(Self.calleeIP)")) else { return }
        placed += 1
        watchStates(of: call)
        call.onEnd = { [unowned self, unowned call] in outcomes.append((plan, call, $0)) }
        // As any flow does: a callee that rang and is gone says nothing more.
        call.loop.schedule(after: .seconds(90)) { if call.state != .answered { call.hangUp(.normal) } }
        call.loop.spawn {
            do {
                switch plan {
                case .callerHangsUp, .bothHangUp:
                    guard try await call.wait(for: .answered, timeout: nil) == .reached else { return }
                    try await call.loop.sleep(for: .seconds(3))
                    call.hangUp(.normal)
                case .cancelled, .cancelMeetsAnswer:
                    try await call.loop.sleep(for: .seconds(2))
                    call.hangUp(.normal)
                case .calleeHangsUp, .refused: break
                }
            } catch {}
        }
    }

    /// A call's states go forward only, and it ends once.
    private func watchStates(of call: Call) {
        var before = -1
        call.onStateChange = { [unowned self] state in
            let place =
                switch state {
                case .new: 0
                case .ringing: 1
                case .early: 2
                case .answered: 3
                case .ended: 4
                }
            if place <= before { disorders.append("call \(call.id) came to \(state) after state \(before)") }
            before = place
        }
    }

    // MARK: Crashes

    enum Crash: CaseIterable {
        /// The whole machine is gone: nothing comes back.
        case machine
        /// The program is gone: the machine says that nobody is there.
        case program
        /// The program is there again soon, and knows nothing.
        case restart
    }

    /// One side stops in the middle of whatever it does. `isCallee`: which.
    func crash(_ kind: Crash, isCallee: Bool) throws {
        let ip = isCallee ? Self.calleeIP : Self.callerIP
        let address = IPAddress(ip)!
        // Its last words do not come out.
        world.network.partition(address)
        watches[isCallee ? 1 : 0].peerCrashes()
        world.abandon(isCallee ? callees : callers)
        world.loop.run(for: .milliseconds(1))
        guard kind != .machine else { return }
        if kind == .restart { world.loop.run(for: .milliseconds(Int64.random(in: 0...8000, using: &random))) }
        world.network.heal(address)
        guard kind == .restart else { return }
        if isCallee {
            callees = try engine(at: ip, SessionTimer.Settings(), onIncoming: answer)
        } else {
            callers = try engine(at: ip, SessionTimer.Settings(), onIncoming: nil)
        }
    }

    /// A moment at which something is going on.
    func randomMoment() -> Duration { .milliseconds(Int64.random(in: 0...9000, using: &random)) }
}
