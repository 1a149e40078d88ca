// What begins the calls of `ringwright load`: a rate, a ramp, steps, users, or a file of arrivals.

import Basics
import Dialer
import FlowEngine
import Foundation

/// Reads what begins calls: exactly one of the options that say so.
struct LoadSourceReader {
    private let arguments: CommandArguments

    init(_ arguments: CommandArguments) { self.arguments = arguments }

    func source() throws(CommandFailure) -> LoadPlan.Source {
        let given = ["--ramp", "--steps", "--users", "--arrivals"].filter { arguments.has($0) }
        if given.count > 1 { throw CommandFailure(.wrong, "\(given[0]) and \(given[1]) exclude each other") }
        if let other = given.first, other != "--users", arguments.has("--rate") {
            throw CommandFailure(.wrong, "\(other) and --rate exclude each other", mend: "leave --rate out")
        }
        if arguments.has("--pause"), given.first != "--users" { throw CommandFailure(.wrong, "--pause is for --users") }
        if arguments.has("--speed"), given.first != "--arrivals" { throw CommandFailure(.wrong, "--speed is for --arrivals") }
        let poisson = arguments.has("--poisson")
        if given.first == "--users", arguments.has("--concurrency") {
            throw CommandFailure(
                .wrong, "--users and --concurrency exclude each other", mend: "--users says how many call at a time")
        }
        if poisson, let other = given.first, other == "--users" || other == "--arrivals" {
            throw CommandFailure(.wrong, "--poisson is for rates, not for \(other)")
        }
        switch given.first {
        case "--ramp": return .arrivals(.rate(try ramp(), poisson: poisson))
        case "--steps": return .arrivals(.rate(try steps(), poisson: poisson))
        case "--arrivals":
            let speed = try arguments.rate("--speed") ?? 1
            return .arrivals(.times(try ArrivalFile.read(arguments.value("--arrivals") ?? "").map { $0 / speed }))
        case "--users":
            let users = try arguments.integer("--users", in: 1...1_000_000) ?? 1
            let rate = try arguments.rate("--rate") ?? Double(users)
            return .users(users, pause: try arguments.duration("--pause") ?? .seconds(1), rate: rate)
        default:
            guard let rate = try arguments.rate("--rate") else {
                throw CommandFailure(.wrong, "load needs --rate", mend: "or --ramp, --steps, --users or --arrivals")
            }
            return .arrivals(.rate(.constant(rate), poisson: poisson))
        }
    }

    private func ramp() throws(CommandFailure) -> RateProfile {
        let text = arguments.value("--ramp") ?? ""
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let rates = parts[0].components(separatedBy: "..")
        guard parts.count == 2, rates.count == 2, let from = Double(rates[0]), let to = Double(rates[1]), from >= 0, to >= 0,
            max(from, to) > 0, max(from, to) <= 1_000_000
        else { throw CommandFailure(.wrong, "--ramp is FROM..TO/TIME, such as 10..500/30s, not \"\(text)\"") }
        let seconds = try time("--ramp", parts[1])
        return .ramp(from: from, to: to, seconds: seconds)
    }

    private func steps() throws(CommandFailure) -> RateProfile {
        var steps: [(rate: Double, seconds: Double)] = []
        let text = arguments.value("--steps") ?? ""
        let items = text.split(separator: ",", omittingEmptySubsequences: false)
        for (index, item) in items.enumerated() {
            let parts = item.split(separator: "/", omittingEmptySubsequences: false)
            guard let value = Double(parts[0]), value >= 0, value <= 1_000_000, parts.count <= 2,
                parts.count == 2 || index == items.count - 1
            else { throw CommandFailure(.wrong, "--steps is RATE/TIME,…, such as 50/10s,100/10s, not \"\(text)\"") }
            steps.append((value, parts.count == 2 ? try time("--steps", parts[1]) : .infinity))
        }
        guard steps.contains(where: { $0.rate > 0 }) else { throw CommandFailure(.wrong, "--steps has no rate over 0") }
        return .steps(steps)
    }

    private func time(_ option: String, _ text: some StringProtocol) throws(CommandFailure) -> Double {
        let seconds: Double
        do throws(FlowDuration.Problem) {
            seconds = try FlowDuration.parse(String(text)).seconds
        } catch {
            throw CommandFailure(.wrong, "\(option): \(error.message)")
        }
        guard seconds > 0 else { throw CommandFailure(.wrong, "\(option): the time is zero") }
        return seconds
    }
}
