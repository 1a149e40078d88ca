// The actions of a step.

import Basics
import SIP

extension ScenarioCall {
    /// Performs a step's actions in their order; false when the call is over by one of them.
    func act(_ step: Step, message: Message?, command: [UInt8]? = nil) -> Bool {
        failsCheck = false
        for action in step.actions {
            // A step without a message looks at the last one.
            perform(action, message ?? lastReceived, command)
            if isOver { return false }
            // The actions behind a check that does not hold are left out, as SIPp does.
            if failsCheck { break }
        }
        return true
    }

    private func perform(_ action: Action, _ message: Message?, _ command: [UInt8]?) {
        switch action.kind {
        case .search(let search): self.search(search, message, command)
        case .log(let template): run.log(expand(template))
        case .warning(let template): run.warn(text(expand(template)))
        case .error(let template):
            run.fatal(text(expand(template)))
            halt()
        case .arithmetic(let operation, let target, let source): arithmetic(operation, target, number(source))
        case .assignText(let target, let template): set(target, .text(expand(template)))
        case .toDouble(let target, let variable):
            let found = value(variable)
            if let number = Decimal6.whole(found.octets) {
                set(target, .number(number))
            } else {
                run.warn("Invalid double conversion from $\(scenario.variables.names[variable]): '\(text(found.octets))'")
            }
        case .sample(let target, let distribution): set(target, .number(run.draw(distribution)))
        case .compareText(let variable, let source, let target, let check): compareText(variable, source, target, check)
        case .compare(let variable, let comparison, let source, let target, let check):
            let holds = comparison.holds(value(variable).number ?? 0, number(source))
            if let target { set(target, .flag(holds)) }
            if check.mustHold, !holds { checkFailed(.testDoesntMatch) }
            if check.mustNotHold, holds { checkFailed(.testShouldntMatch) }
        case .trim(let variable): set(variable, .text(OctetText.trimmed(value(variable).octets)))
        case .urlEncode(let variable): set(variable, .text(OctetText.urlEncoded(value(variable).octets)))
        case .urlDecode(let variable): set(variable, .text(OctetText.urlDecoded(value(variable).octets)))
        case .timeOfDay(let seconds, let microseconds):
            let time = run.wallClock
            set(seconds, .number(time.rounded(.down)))
            if let microseconds { set(microseconds, .number(((time - time.rounded(.down)) * 1e6).rounded(.down))) }
        case .index(let target): set(target, .number(Double(index)))
        case .jump(let source): jump(to: number(source), action.line)
        case .pauseRestore(let source):
            let until = number(source)
            guard until > 0 else { break }
            pausedUntil = run.now + .milliseconds(bounded: until - Double(run.clockTick))
        case .setDestination(let host, let port, let transport):
            let isDone = run.setDestination(
                host: text(expand(host)), port: text(expand(port)), transport: text(expand(transport)), of: self)
            if !isDone { fail(.tcpConnect) }
        case .closeConnection: run.closeConnection(of: self)
        case .verifyCredentials(let target, let user, let password):
            let isRight = message.map { CallCredentials.verify($0, user: text(expand(user)), password: text(expand(password))) }
            set(target, .flag(isRight ?? false))
        case .lookUp, .insert, .replace: edit(action.kind)
        case .echo(let source): run.echo(number(source) != 0)
        case .command(let template): run.execute(text(expand(template)))
        case .stopCall: fail(.callRejected, sayingGoodbye: true)
        case .stopGracefully: run.stop(gracefully: true)
        case .stopNow:
            run.stop(gracefully: false)
            halt()
        case .media(let media):
            let template: Template
            switch media {
            case .pcap(let text, _), .digits(let text), .stream(let text), .echo(let text): template = text
            }
            run.play(media, text: text(expand(template)), of: self)
        }
    }

    /// A check did not hold: the scenario goes on, and the call has failed when it is over. The last one tells why.
    private func checkFailed(_ cause: FailureCause) {
        failedCheck = cause
        failsCheck = true
    }

    private func number(_ source: Action.NumberSource) -> Double {
        switch source {
        case .value(let value): value
        case .variable(let variable): value(variable).number ?? 0
        }
    }

    private func arithmetic(_ operation: Action.Arithmetic, _ target: Int, _ operand: Double) {
        let before = value(target).number ?? 0
        switch operation {
        case .assign: set(target, .number(operand))
        case .add: set(target, .number(before + operand))
        case .subtract: set(target, .number(before - operand))
        case .multiply: set(target, .number(before * operand))
        case .divide:
            guard operand != 0 else { return run.warn("Action failure: Can not divide by zero!") }
            set(target, .number(before / operand))
        }
    }

    /// As C's strcmp: below, at or above zero.
    private func compareText(_ variable: Int, _ source: Action.TextSource, _ target: Int?, _ check: Action.Check) {
        let left = value(variable).octets
        let right: [UInt8]
        switch source {
        case .template(let template): right = expand(template)
        case .variable(let other): right = value(other).octets
        }
        let order = left == right ? 0.0 : left.lexicographicallyPrecedes(right) ? -1 : 1
        if let target { set(target, .number(order)) }
        if check.mustHold, order != 0 { checkFailed(.strcmpDoesntMatch) }
        if check.mustNotHold, order == 0 { checkFailed(.strcmpShouldntMatch) }
    }

    private func jump(to target: Double, _ line: Int) {
        let place = Int(bounded: target)
        guard target >= 0, place <= scenario.steps.count else {
            return fatal("jump to \(place): the scenario has the steps 0 to \(scenario.steps.count - 1)", line)
        }
        guard place != index else { return fatal("the step \(index) jumps to itself", line) }
        jumpTarget = place
    }

    private func fatal(_ message: String, _ line: Int) {
        run.fatal("\(scenario.file):\(line): \(message)")
        halt()
    }

    private func edit(_ action: Action.Kind) {
        switch action {
        case .lookUp(let target, let file, let key):
            guard let found = run.file(text(expand(file))) else { return noFile(file) }
            set(target, .number(Double(found.line(withKey: expand(key)) ?? -1)))
        case .insert(let file, let value):
            guard let found = run.file(text(expand(file))) else { return noFile(file) }
            found.insert(expand(value))
        case .replace(let file, let line, let value):
            guard let found = run.file(text(expand(file))) else { return noFile(file) }
            let place = Int(bounded: Decimal6.number(expand(line)) ?? -1)
            if !found.replace(line: place, by: expand(value)) { run.warn("replace: \(found.name) has no line \(place)") }
        default: break
        }
    }

    private func noFile(_ name: Template) {
        run.fatal("there is no injection file \(text(expand(name))); give it by -inf")
        halt()
    }

    // MARK: ereg

    private func search(_ search: Action.Search, _ message: Message?, _ command: [UInt8]?) {
        var found: [Range<Int>?] = []
        var subject: ArraySlice<UInt8> = []
        switch search.place {
        case .message: subject = (command ?? message?.octets ?? [])[...]
        case .body: subject = message?.body ?? []
        case .variable(let variable): subject = value(variable).octets[...]
        case .header(let name, let lead):
            guard let header = header(name, search.occurrence, message, command) else {
                for target in search.targets { set(target, .noMatch) }
                if search.mustMatch { checkFailed(.regexpHdrNotFound) }
                return
            }
            subject = header.starts(with: lead) ? header.dropFirst(lead.count) : header
        }
        found = search.pattern.match(subject)
        for (group, target) in search.targets.enumerated() {
            if group < found.count, let range = found[group] {
                set(target, .match(Array(subject[range])))
            } else {
                set(target, .noMatch)
            }
        }
        if search.mustMatch, found.isEmpty {
            run.warn("Failed regexp match: looking in '\(text(subject))', with regexp '\(search.pattern.source)'")
            checkFailed(.regexpDoesntMatch)
        }
        if search.mustNotMatch, !found.isEmpty {
            run.warn("Regexp matched but should not: looking in '\(text(subject))', with regexp '\(search.pattern.source)'")
            checkFailed(.regexpShouldntMatch)
        }
    }

    /// What stands behind the colon of a header, blanks and all: of all its rows together, or of the n-th.
    private func header(_ name: String, _ occurrence: Int?, _ message: Message?, _ command: [UInt8]?) -> ArraySlice<UInt8>? {
        guard let message, command == nil else { return command.flatMap { OctetText.line(beginningWith: name, in: $0) } }
        let kind = HeaderKind(name: name)
        let rows = message.rows.filter { $0.kind == kind && (kind != .other || Self.isSame(message[$0.name], name)) }
        func content(_ row: HeaderRow) -> ArraySlice<UInt8> {
            message.octets[Int(row.name.end)..<Int(row.value.end)].drop { $0 != UInt8(ascii: ":") }.dropFirst()
        }
        if let occurrence { return rows.indices.contains(occurrence - 1) ? content(rows[occurrence - 1]) : nil }
        guard let first = rows.first else { return nil }
        if rows.count == 1 { return content(first) }
        return content(first) + rows.dropFirst().flatMap { Array(", ".utf8) + message[$0.value] }
    }
}

/// Changes of text that actions know.
enum OctetText {
    static func trimmed(_ octets: [UInt8]) -> [UInt8] {
        var slice = octets.drop { $0 <= 32 }
        while let last = slice.last, last <= 32 { slice.removeLast() }
        return Array(slice)
    }

    private static func isPlain(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    static func urlEncoded(_ octets: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return octets.flatMap { isPlain($0) ? [$0] : [UInt8(ascii: "%"), digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }

    static func urlDecoded(_ octets: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var at = 0
        while at < octets.count {
            if octets[at] == UInt8(ascii: "%"), at + 2 < octets.count,
                let value = UInt8(String(decoding: octets[at + 1...at + 2], as: UTF8.self), radix: 16)
            {
                result.append(value)
                at += 3
            } else {
                result.append(octets[at])
                at += 1
            }
        }
        return result
    }

    /// What follows `name:` at the beginning of a line.
    static func line(beginningWith name: String, in octets: [UInt8]) -> ArraySlice<UInt8>? {
        for line in octets.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), ScenarioCall.isSame(line[..<colon], name) else { continue }
            return line[(colon + 1)...].drop { $0 == 32 || $0 == 9 }
        }
        return nil
    }
}
