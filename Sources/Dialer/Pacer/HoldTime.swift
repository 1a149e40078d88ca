// How long calls last: a fixed time, or one of the distributions that SIPp's pauses know.

package import Basics
import FlowEngine
import Foundation

/// How long a call is held from the answer on. Parameters in milliseconds where they are times.
package enum HoldTime: Equatable, Sendable {
    case fixed(Double)
    case uniform(from: Double, to: Double)
    case normal(mean: Double, deviation: Double)
    /// Mean and deviation are those of the logarithm of the milliseconds.
    case lognormal(mean: Double, deviation: Double)
    case exponential(mean: Double)
    case weibull(scale: Double, shape: Double)
    case pareto(shape: Double, scale: Double)
    /// The generalized one.
    case gpareto(shape: Double, scale: Double, location: Double)
    case gamma(shape: Double, scale: Double)
    /// Failures before the n-th success of chance p, as milliseconds.
    case negbin(n: Double, p: Double)

    /// Why a text is none, with what may be written.
    package struct Problem: Error, Equatable, Sendable {
        package var message: String
    }

    /// The longest: a draw beyond is cut.
    private static let longest = 86_400_000.0

    /// A draw, never negative and a day at most.
    package func draw(_ random: inout SeededRandom) -> Duration {
        let milliseconds = value(&random)
        // Zero times infinity is nothing that can be waited for.
        guard !milliseconds.isNaN else { return .zero }
        return .microseconds(Int64(min(max(0, milliseconds), Self.longest) * 1000))
    }

    /// A draw as the plain number that it is.
    package func value(_ random: inout SeededRandom) -> Double {
        switch self {
        case .fixed(let value): return value
        case .uniform(let from, let to): return from + (to - from) * Self.unit(&random)
        case .normal(let mean, let deviation): return mean + deviation * Self.normal(&random)
        case .lognormal(let mean, let deviation): return exp(mean + deviation * Self.normal(&random))
        case .exponential(let mean): return -mean * log(1 - Self.unit(&random))
        case .weibull(let scale, let shape): return scale * pow(-log(1 - Self.unit(&random)), 1 / shape)
        case .pareto(let shape, let scale): return scale / pow(1 - Self.unit(&random), 1 / shape)
        case .gpareto(let shape, let scale, let location):
            let rest = 1 - Self.unit(&random)
            return location + scale * (shape == 0 ? -log(rest) : (pow(rest, -shape) - 1) / shape)
        case .gamma(let shape, let scale): return scale * Self.gamma(shape, &random)
        case .negbin(let n, let p):
            // Poisson with a rate drawn from gamma.
            return Self.poisson(Self.gamma(n, &random) * (1 - p) / p, &random)
        }
    }

    /// Whether something can be drawn from its parameters.
    package var isSound: Bool {
        switch self {
        case .uniform(let from, let to): from <= to
        case .weibull(_, let shape), .pareto(let shape, _), .gamma(let shape, _): shape > 0
        case .negbin(let n, let p): n > 0 && p > 0 && p <= 1
        case .lognormal(_, let deviation): deviation >= 0
        default: true
        }
    }

    private static func unit(_ random: inout SeededRandom) -> Double { Double(random.next() >> 11) * 0x1p-53 }

    /// Box and Muller.
    private static func normal(_ random: inout SeededRandom) -> Double {
        (-2 * log(1 - unit(&random))).squareRoot() * cos(2 * .pi * unit(&random))
    }

    /// Marsaglia and Tsang, scale 1.
    private static func gamma(_ shape: Double, _ random: inout SeededRandom) -> Double {
        guard shape >= 1 else { return gamma(shape + 1, &random) * pow(1 - unit(&random), 1 / shape) }
        let d = shape - 1.0 / 3
        let c = 1 / (9 * d).squareRoot()
        while true {
            let x = normal(&random)
            let v = pow(1 + c * x, 3)
            guard v > 0 else { continue }
            if log(1 - unit(&random)) < 0.5 * x * x + d - d * v + d * log(v) { return d * v }
        }
    }

    /// Knuth for small means, the normal approximation for large ones.
    private static func poisson(_ mean: Double, _ random: inout SeededRandom) -> Double {
        guard mean < 500 else { return max(0, (mean + mean.squareRoot() * normal(&random)).rounded()) }
        let limit = exp(-mean)
        var product = 1 - unit(&random)
        var count = 0.0
        while product > limit {
            count += 1
            product *= 1 - unit(&random)
        }
        return count
    }

    // MARK: Reading

    private static let forms =
        "10s, uniform(5s,15s), exponential(10s), normal(10s,2s), lognormal(9,0.5), weibull(10s,1.5), pareto(2,5s), "
        + "gpareto(0.1,5s,1s), gamma(2,5s) or negbin(5,0.1)"

    /// Reads `10s` or a distribution with its parameters: times are durations, other parameters numbers.
    package init(_ text: String) throws(Problem) {
        guard let open = text.firstIndex(of: "("), text.hasSuffix(")") else {
            self = .fixed(try Self.time(text))
            return
        }
        let name = text[..<open]
        let values = text[text.index(after: open)...].dropLast().split(separator: ",", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        let kinds: [String: [Bool]] = [
            "fixed": [true], "uniform": [true, true], "normal": [true, true], "lognormal": [false, false],
            "exponential": [true], "weibull": [true, false], "pareto": [false, true], "gpareto": [false, true, true],
            "gamma": [false, true], "negbin": [false, false]
        ]
        guard let kind = kinds[String(name)], kind.count == values.count else {
            throw Problem(message: "\"\(text)\" is no length of a call; write \(Self.forms)")
        }
        var p: [Double] = []
        for (value, isTime) in zip(values, kind) { p.append(isTime ? try Self.time(value) : try Self.number(value)) }
        switch name {
        case "fixed": self = .fixed(p[0])
        case "uniform": self = .uniform(from: p[0], to: p[1])
        case "normal": self = .normal(mean: p[0], deviation: p[1])
        case "lognormal": self = .lognormal(mean: p[0], deviation: p[1])
        case "exponential": self = .exponential(mean: p[0])
        case "weibull": self = .weibull(scale: p[0], shape: p[1])
        case "pareto": self = .pareto(shape: p[0], scale: p[1])
        case "gpareto": self = .gpareto(shape: p[0], scale: p[1], location: p[2])
        case "gamma": self = .gamma(shape: p[0], scale: p[1])
        default: self = .negbin(n: p[0], p: p[1])
        }
        guard isSound else { throw Problem(message: "\"\(text)\": no call can be drawn from these parameters") }
    }

    private static func time(_ text: String) throws(Problem) -> Double {
        do throws(FlowDuration.Problem) {
            return try FlowDuration.parse(text).milliseconds
        } catch {
            throw Problem(message: error.message)
        }
    }

    private static func number(_ text: String) throws(Problem) -> Double {
        guard let value = Double(text), value.isFinite else { throw Problem(message: "\"\(text)\" is no number") }
        return value
    }
}
