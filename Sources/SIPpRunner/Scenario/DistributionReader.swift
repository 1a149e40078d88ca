// The statistical distributions of pauses and samples: `distribution="normal" mean="1000" stdev="100"`.

import Dialer

enum DistributionReader {
    /// The attributes that distributions have, in all.
    static let parameters = [
        "value", "min", "max", "mean", "stdev", "lambda", "k", "x_m", "shape", "scale", "location", "theta", "n", "p"
    ]

    /// Reads what an element says; nil when it names no distribution.
    static func read(_ element: XMLElement, file: String) throws(ScenarioError) -> HoldTime? {
        guard let name = element["distribution"] else {
            // `min` and `max` alone are an even distribution, as the oldest files have it.
            guard element["min"] != nil, element["max"] != nil else { return nil }
            return .uniform(from: try parameter("min", element, file), to: try parameter("max", element, file))
        }
        func p(_ name: String) throws(ScenarioError) -> Double { try parameter(name, element, file) }
        let result: HoldTime
        switch name {
        case "fixed": result = .fixed(try p("value"))
        case "uniform": result = .uniform(from: try p("min"), to: try p("max"))
        case "normal": result = .normal(mean: try p("mean"), deviation: try p("stdev"))
        case "lognormal": result = .lognormal(mean: try p("mean"), deviation: try p("stdev"))
        case "exponential": result = .exponential(mean: try p("mean"))
        case "weibull": result = .weibull(scale: try p("lambda"), shape: try p("k"))
        case "pareto": result = .pareto(shape: try p("k"), scale: try p("x_m"))
        case "gpareto": result = .gpareto(shape: try p("shape"), scale: try p("scale"), location: try p("location"))
        case "gamma": result = .gamma(shape: try p("k"), scale: try p("theta"))
        case "negbin": result = .negbin(n: try p("n"), p: try p("p"))
        default:
            throw ScenarioError(
                file, element.line,
                "there is no distribution \(name); there are fixed, uniform, normal, lognormal, exponential, weibull, pareto, gpareto, gamma and negbin"
            )
        }
        guard result.isSound else {
            throw ScenarioError(file, element.line, "nothing can be drawn from this \(name) distribution")
        }
        return result
    }

    private static func parameter(_ name: String, _ element: XMLElement, _ file: String) throws(ScenarioError) -> Double {
        guard let text = element[name] else {
            throw ScenarioError(file, element.line, "the \(element["distribution"] ?? "uniform") distribution needs \(name)=…")
        }
        guard let value = Double(text) else { throw ScenarioError(file, element.line, "\(name)=\"\(text)\" is no number") }
        return value
    }
}
