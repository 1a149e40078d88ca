// The four transaction machines, table by table: an event, the step it must give and the state it must lead to.

import Basics
import SIP
import Testing

enum MachineEvent: Sendable { case start, response(Int), fire(TransactionTimer), again, respond(Int), ack, failed, cancel }

struct MachineTests {
    typealias Line = (MachineEvent, TransactionStep, String)

    @Test func inviteClientOverDatagrams() {
        let lines: [[Line]] = [
            [
                (.start, [.send, .arm(.a), .arm(.b)], "calling"), (.fire(.a), [.send, .arm(.a)], "calling"),
                (.fire(.a), [.send, .arm(.a)], "calling"), (.response(100), .deliver, "proceeding"),
                (.fire(.a), .nothing, "proceeding"),
                (.fire(.b), .nothing, "proceeding"), (.response(180), .deliver, "proceeding"),
                (.response(200), [.deliver, .arm(.m)], "accepted"), (.response(200), .deliver, "accepted"),
                (.response(180), .nothing, "accepted"), (.response(486), .nothing, "accepted"), (.failed, .nothing, "accepted"),
                (.fire(.m), .ended, "terminated"), (.response(200), .nothing, "terminated")
            ],
            [
                (.start, [.send, .arm(.a), .arm(.b)], "calling"), (.response(486), [.deliver, .sendACK, .arm(.d)], "completed"),
                (.response(486), .sendACK, "completed"), (.response(200), .nothing, "completed"),
                (.fire(.b), .nothing, "completed"),
                (.fire(.d), .ended, "terminated")
            ],
            [
                (.start, [.send, .arm(.a), .arm(.b)], "calling"), (.fire(.b), [.timedOut, .ended], "terminated"),
                (.fire(.a), .nothing, "terminated")
            ],
            [
                (.start, [.send, .arm(.a), .arm(.b)], "calling"), (.response(183), .deliver, "proceeding"),
                (.cancel, .arm(.cancelled), "proceeding"),
                (.fire(.cancelled), [.timedOut, .ended], "terminated")
            ],
            [(.start, [.send, .arm(.a), .arm(.b)], "calling"), (.failed, [.transportFailed, .ended], "terminated")]
        ]
        for script in lines { run(script, InviteClientMachine(isReliable: false)) }
        run(
            [
                (.start, [.send, .arm(.b)], "calling"), (.response(503), [.deliver, .sendACK, .ended], "terminated")
            ], InviteClientMachine(isReliable: true))
    }

    @Test func otherClients() {
        run(
            [
                (.start, [.send, .arm(.e), .arm(.f)], "trying"), (.fire(.e), [.send, .arm(.e)], "trying"),
                (.response(100), .deliver, "proceeding"),
                (.fire(.e), [.send, .arm(.e)], "proceeding"), (.response(200), [.deliver, .arm(.k)], "completed"),
                (.response(200), .nothing, "completed"),
                (.fire(.e), .nothing, "completed"), (.fire(.f), .nothing, "completed"), (.fire(.k), .ended, "terminated")
            ], ClientMachine(isReliable: false))
        run(
            [(.start, [.send, .arm(.e), .arm(.f)], "trying"), (.fire(.f), [.timedOut, .ended], "terminated")],
            ClientMachine(isReliable: false))
        run(
            [(.start, [.send, .arm(.f)], "trying"), (.response(404), [.deliver, .ended], "terminated")],
            ClientMachine(isReliable: true))
        run(
            [(.start, [.send, .arm(.f)], "trying"), (.failed, [.transportFailed, .ended], "terminated")],
            ClientMachine(isReliable: true))
    }

    @Test func inviteServer() {
        run(
            [
                (.start, [.deliver, .arm(.trying)], "proceeding"), (.again, .nothing, "proceeding"),
                (.fire(.trying), .sendTrying, "proceeding"),
                (.respond(100), .send, "proceeding"), (.again, .send, "proceeding"), (.respond(180), .send, "proceeding"),
                (.fire(.trying), .nothing, "proceeding"), (.respond(486), [.send, .arm(.g), .arm(.h)], "completed"),
                (.respond(200), .nothing, "completed"), (.again, .send, "completed"), (.fire(.g), [.send, .arm(.g)], "completed"),
                (.ack, .arm(.i), "confirmed"), (.again, .nothing, "confirmed"), (.ack, .nothing, "confirmed"),
                (.fire(.g), .nothing, "confirmed"),
                (.fire(.h), .nothing, "confirmed"), (.fire(.i), .ended, "terminated")
            ], InviteServerMachine(isReliable: false))
        run(
            [
                (.start, [.deliver, .arm(.trying)], "proceeding"), (.respond(200), [.send, .arm(.l)], "accepted"),
                (.again, .nothing, "accepted"),
                (.respond(200), .send, "accepted"), (.respond(486), .nothing, "accepted"), (.ack, .deliver, "accepted"),
                (.failed, .nothing, "accepted"), (.fire(.l), .ended, "terminated")
            ], InviteServerMachine(isReliable: false))
        run(
            [
                (.start, [.deliver, .arm(.trying)], "proceeding"), (.respond(603), [.send, .arm(.h)], "completed"),
                (.fire(.h), [.timedOut, .ended], "terminated")
            ], InviteServerMachine(isReliable: true))
        run(
            [
                (.start, [.deliver, .arm(.trying)], "proceeding"), (.respond(603), [.send, .arm(.h)], "completed"),
                (.ack, .ended, "terminated")
            ],
            InviteServerMachine(isReliable: true))
        run(
            [(.start, [.deliver, .arm(.trying)], "proceeding"), (.failed, [.transportFailed, .ended], "terminated")],
            InviteServerMachine(isReliable: true))
    }

    @Test func otherServers() {
        run(
            [
                (.start, .deliver, "trying"), (.again, .nothing, "trying"), (.respond(183), .send, "proceeding"),
                (.again, .send, "proceeding"),
                (.respond(200), [.send, .arm(.j)], "completed"), (.again, .send, "completed"),
                (.respond(500), .nothing, "completed"),
                (.fire(.j), .ended, "terminated")
            ], ServerMachine(isReliable: false))
        run([(.start, .deliver, "trying"), (.respond(200), [.send, .ended], "terminated")], ServerMachine(isReliable: true))
        run([(.start, .deliver, "trying"), (.failed, [.transportFailed, .ended], "terminated")], ServerMachine(isReliable: true))
    }

    @Test func durations() {
        let timers = TransactionTimers()
        #expect((0...6).map { timers.duration(.a, doublings: $0).milliseconds } == [500, 1000, 2000, 4000, 8000, 16000, 32000])
        #expect((0...5).map { timers.duration(.e, doublings: $0).milliseconds } == [500, 1000, 2000, 4000, 4000, 4000])
        #expect(timers.duration(.g, doublings: 9) == .seconds(4) && timers.duration(.k, doublings: 0) == .seconds(5))
        for timer in [TransactionTimer.b, .d, .f, .h, .j, .l, .m] {
            #expect(timers.duration(timer, doublings: 3) == .seconds(32))
        }
    }

    // One adapter a machine, so that a table reads the same for all.
    private func run(_ lines: [Line], _ start: InviteClientMachine) {
        var machine = start
        for (event, step, state) in lines {
            let got: TransactionStep
            switch event {
            case .start: got = machine.start()
            case .response(let status): got = machine.received(status: status)
            case .fire(let timer): got = machine.fired(timer)
            case .failed: got = machine.transportFailed()
            case .cancel: got = machine.cancelled()
            default: preconditionFailure()
            }
            #expect(got == step && "\(machine.state)" == state, "\(event): \(got.rawValue) \(machine.state)")
        }
    }

    private func run(_ lines: [Line], _ start: ClientMachine) {
        var machine = start
        for (event, step, state) in lines {
            let got: TransactionStep
            switch event {
            case .start: got = machine.start()
            case .response(let status): got = machine.received(status: status)
            case .fire(let timer): got = machine.fired(timer)
            case .failed: got = machine.transportFailed()
            default: preconditionFailure()
            }
            #expect(got == step && "\(machine.state)" == state, "\(event): \(got.rawValue) \(machine.state)")
        }
    }

    private func run(_ lines: [Line], _ start: InviteServerMachine) {
        var machine = start
        for (event, step, state) in lines {
            let got: TransactionStep
            switch event {
            case .start: got = machine.start()
            case .again: got = machine.repeated()
            case .respond(let status): got = machine.respond(status: status)
            case .ack: got = machine.acknowledged()
            case .fire(let timer): got = machine.fired(timer)
            case .failed: got = machine.transportFailed()
            default: preconditionFailure()
            }
            #expect(got == step && "\(machine.state)" == state, "\(event): \(got.rawValue) \(machine.state)")
        }
    }

    private func run(_ lines: [Line], _ start: ServerMachine) {
        var machine = start
        for (event, step, state) in lines {
            let got: TransactionStep
            switch event {
            case .start: got = machine.start()
            case .again: got = machine.repeated()
            case .respond(let status): got = machine.respond(status: status)
            case .fire(let timer): got = machine.fired(timer)
            case .failed: got = machine.transportFailed()
            default: preconditionFailure()
            }
            #expect(got == step && "\(machine.state)" == state, "\(event): \(got.rawValue) \(machine.state)")
        }
    }
}
