// Metrics in the text format of Prometheus (exposition format, version 0.0.4).

/// Collects families of samples and writes them.
package struct MetricsText {
    package enum Kind: String, Sendable {
        case counter
        case gauge
    }

    package private(set) var text = ""
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    package init() {}

    /// Adds a family with one sample.
    package mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
        add(name, kind, help, [([], value)])
    }

    /// Adds a family with one sample for each set of labels.
    package mutating func add(
        _ name: String, _ kind: Kind, _ help: String, _ samples: [(labels: [(name: String, value: String)], value: Double)]
    ) {
        text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples {
            let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }.joined(separator: ",")
            text += "\(name)\(labels.isEmpty ? "" : "{\(labels)}") \(Self.figure(sample.value))\n"
        }
    }

    private static func figure(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value) { return String(whole) }
        return "\(value)"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        let text = text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        return quotes ? text.replacing("\"", with: "\\\"") : text
    }
}
