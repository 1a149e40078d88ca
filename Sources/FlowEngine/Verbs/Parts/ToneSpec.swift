// A tone as flows write it, to play or to listen for.

import CallEngine

/// A tone by its name in a country's plan, or by frequencies and cadence.
package enum ToneSpec: Sendable {
    case named(String, country: String)
    case frequencies([Double], cadence: [Duration], level: Double)

    package static let names = CallTones.names.sorted()

    /// `busy`, or `{ name:, country: }`, or `{ frequencies:, cadence:, level: }`. `map` is the mapping that holds them.
    static func read(_ map: MappingReader, default name: String?, _ sink: DiagnosticSink) -> ToneSpec? {
        let country = Self.country(map, sink)
        if let node = map.node("frequencies") {
            let frequencies = NodeRead.list(node).compactMap { NodeRead.double($0, "`frequencies`", in: 20...4000, sink) }
            let cadence = (map.node("cadence").map(NodeRead.list) ?? []).compactMap { NodeRead.duration($0, "`cadence`", sink) }
            guard !frequencies.isEmpty else { return nil }
            return .frequencies(frequencies, cadence: cadence, level: map.double("level", in: -60...0) ?? -13)
        }
        guard let name = map.string("name") ?? name else {
            sink.error(at: map.place, "a tone needs `name` or `frequencies`", mend: "name: busy")
            return nil
        }
        return named(name, country: country, at: map.place(of: "name"), sink)
    }

    /// The country whose tones are meant; `us` where none is named.
    static func country(_ map: MappingReader, _ sink: DiagnosticSink) -> String {
        let country = map.string("country") ?? "us"
        if country.count != 2 || !country.allSatisfy(\.isLetter) {
            sink.error(at: map.place(of: "country"), "`country` is a code of two letters such as us or de, not `\(country)`")
        } else if !CallTones.isKnown(country) {
            sink.error(
                at: map.place(of: "country"), "the tones of `\(country)` are not known",
                mend: "known: \(CallTones.countries.joined(separator: ", ")); or write `frequencies`")
        }
        return country.lowercased()
    }

    static func named(_ name: String, country: String, at place: SourcePlace, _ sink: DiagnosticSink) -> ToneSpec? {
        guard names.contains(name) else {
            NodeRead.unknown("tone", name, of: "the tone plan", at: place, known: names, sink)
            return nil
        }
        return .named(name, country: country.lowercased())
    }

    static func read(_ node: YAMLNode, _ sink: DiagnosticSink) -> ToneSpec? {
        if case .mapping = node.content {
            guard let map = MappingReader(node, "`tone`", sink) else { return nil }
            defer { map.finish() }
            return read(map, default: nil, sink)
        }
        return NodeRead.string(node, "`tone`", sink).flatMap { named($0, country: "us", at: node.place, sink) }
    }

    var source: AudioSource {
        switch self {
        case .named(let name, let country): .countryTone(name: name, country: country)
        case .frequencies(let frequencies, let cadence, let level):
            .tone(frequencies: frequencies, cadence: cadence, level: level)
        }
    }

    var words: String {
        switch self {
        case .named(let name, _): "tone \(name)"
        case .frequencies(let frequencies, _, _): "tone \(frequencies.map { Value.double($0).text }.joined(separator: "+"))"
        }
    }

    /// What to listen for to hear it.
    var listening: ListenRequest {
        switch self {
        case .named(_, let country): ListenRequest(progress: country)
        case .frequencies(let frequencies, _, _): ListenRequest(tones: [frequencies])
        }
    }

    /// Whether it is this tone that was heard; one that sounds the same counts.
    func isHeard(_ event: ListenEvent) -> Bool {
        switch (self, event) {
        case (.named(let name, _), .progress(let names, _)): names.contains(name)
        case (.frequencies(let wanted, _, _), .tone(let heard, _)): wanted == heard
        default: false
        }
    }
}
