// Calls that begin: by the rate, for users, for messages and commands that belong to none.

import Basics
import Reactor
import SIP

extension ScenarioRun {
    /// Opens what is due, and comes back for the next one.
    func openDue() {
        guard !isQuitting, !isOver else { return }
        if let users = options.users {
            while statistics.current < users, !isQuitting, openOne() != nil {}
        } else {
            let now = loop.now
            var due = opening.due(at: now)
            while due > 0, !isQuitting {
                guard statistics.current < opening.most else {
                    opening.skip(at: now)
                    break
                }
                opening.open()
                due -= 1
                guard openOne() != nil else { break }
            }
            if !isQuitting, let next = opening.next { loop.schedule(at: next) { [self] in openDue() } }
        }
        checkEnd()
    }

    /// Begins a call of the scenario; nil when there may be no more.
    private func openOne() -> ScenarioCall? {
        if let most = options.most, statistics.created >= most {
            isQuitting = true
            return nil
        }
        let number = made + 1
        let call = make(scenario, id: callID(number), isOutgoing: true)
        guard channels.prepare(call, source: sourceAddress(of: call)) else {
            call.fail(.cannotSendMessage)
            return nil
        }
        call.start()
        if let most = options.most, statistics.created >= most { isQuitting = true }
        return call
    }

    /// Makes a call and notes it.
    func make(_ scenario: Scenario, id: [UInt8], isOutgoing: Bool) -> ScenarioCall {
        made += 1
        let user = freeUsers.popLast() ?? 0
        let call = ScenarioCall(
            scenario, run: self, statistics: scenario === self.scenario ? statistics : strayStatistics, number: made, id: id,
            isOutgoing: isOutgoing, userValues: user > 0 ? userStores[user - 1] : nil)
        call.userID = user
        call.lines = injections.map { $0.line(user: user, chance: chance()) }
        call.dynamicID = dynamicID
        dynamicID += options.dynamicStep
        if dynamicID > options.dynamicMax { dynamicID = options.dynamicStart }
        if options.traces.contains(.callDebug) { call.history = [] }
        calls[OctetHash.of(id)] = call
        call.statistics.began(isOutgoing: isOutgoing, at: loop.now)
        return call
    }

    /// `%u` the number, `%p` the process, `%s` the address.
    private func callID(_ number: Int) -> [UInt8] {
        var result: [UInt8] = []
        var rest = Array(options.callID.utf8)[...]
        while let octet = rest.popFirst() {
            guard octet == UInt8(ascii: "%"), let kind = rest.popFirst() else {
                result.append(octet)
                continue
            }
            switch kind {
            case UInt8(ascii: "u"): result += "\(number)".utf8
            case UInt8(ascii: "p"): result += "\(settings.processID)".utf8
            case UInt8(ascii: "s"): result += constants[.localIP].utf8
            default: result.append(kind)
            }
        }
        return result
    }

    private func sourceAddress(of call: ScenarioCall) -> IPAddress? {
        guard options.transport == .ui else { return nil }
        let text = field(options.ipField, file: "", line: "", of: call)
        return IPAddress(String(decoding: text, as: UTF8.self))
    }

    // MARK: The rate changes

    /// `-rate_increase`
    func startRateSteps() {
        guard options.rateIncrease > 0, options.users == nil else { return }
        let interval = options.rateInterval ?? options.statisticsInterval
        every(.milliseconds(bounded: interval)) { run in
            let next = run.opening.rate + run.options.rateIncrease
            if run.options.rateMax > 0, next > run.options.rateMax {
                if run.options.quitsAtRateMax { return run.quit() }
                return run.changeRate(to: run.options.rateMax)
            }
            run.changeRate(to: next)
        }
    }

    /// Another rate from now on: a key, or `-rate_increase`.
    package func changeRate(to rate: Double) {
        opening.change(to: rate, at: loop.now)
        openDue()
    }
}
