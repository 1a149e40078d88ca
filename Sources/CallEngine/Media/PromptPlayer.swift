// One playback: its sources one after the other, without a gap, as often as asked. It gives a frame a tick; who sends is the session.

import Audio
import Basics

/// What to send in a tick.
enum PlayedFrame {
    /// It lies where it was asked for, and has so many octets.
    case payload(octets: Int)
    case silence
    /// Still loading.
    case notYet
    case over
}

final class PromptPlayer {
    private enum Item {
        case pending
        case prompt(EncodedPrompt)
        /// A tone without an end.
        case endless(EncodedPrompt)
        case silence(packets: Int)
    }

    @exclusivity(unchecked) private var packet = 0
    /// The encoded item that plays now, and its end: a tick within it looks at nothing else.
    @exclusivity(unchecked) private var current: EncodedPrompt?
    @exclusivity(unchecked) private var currentEnd = 0
    /// The frame that was given last was not encoded as what follows the one before.
    @exclusivity(unchecked) private(set) var isJoint = false
    private var packetTime: Int
    let playback: Playback
    /// A source cannot be played, for this reason.
    var onFailure: ((String) -> Void)?
    private let request: PlaybackRequest
    /// Those of the request; what was got once is the file that it became.
    private var sources: [AudioSource]
    private var items: [Item] = []
    private var pending = 0
    private var index = 0
    private var rounds: Int
    private var codec: Audio.AudioCodec
    /// Loads that were asked for before the last change of the codec are not taken.
    private var generation = 0

    init(_ request: PlaybackRequest, playback: Playback, codec: Audio.AudioCodec, packetTime: Int) {
        self.request = request
        sources = request.sources
        self.playback = playback
        self.codec = codec
        self.packetTime = packetTime
        switch request.loop {
        case .times(let times): rounds = max(times, 0)
        case .forever: rounds = .max
        }
    }

    /// Gets everything that is to be played; see `onFailure`.
    func load(from library: PromptLibrary) {
        generation += 1
        let generation = generation
        items = [Item](repeating: .pending, count: sources.count)
        pending = items.count
        leaveCurrent()
        for place in sources.indices {
            guard generation == self.generation else { return }
            load(place, from: library)
        }
    }

    private func load(_ place: Int, from library: PromptLibrary) {
        let generation = generation
        switch way(of: place) {
        case .silence(let length):
            take(.silence(packets: max(0, Int(length.milliseconds.rounded(.up)) + packetTime - 1) / packetTime), at: place)
        case .failed(let reason): onFailure?(reason)
        case .find(let origin):
            library.find(origin) { [self] outcome in
                guard generation == self.generation else { return }
                switch outcome {
                case .success(let path):
                    sources[place] = .file(path: path)
                    load(place, from: library)
                case .failure(let failure): onFailure?(failure.reason)
                }
            }
        case .load(let key, let endless):
            library.load(key) { [self] outcome in
                guard generation == self.generation else { return }
                switch outcome {
                case .ready(let prompt): take(endless ? .endless(prompt) : .prompt(prompt), at: place)
                case .failed(let reason): onFailure?(named(reason, place))
                }
            }
        }
    }

    /// The reason with what was asked for in place of the file that it became.
    private func named(_ reason: String, _ place: Int) -> String {
        guard case .supplied(let origin) = request.sources[place], case .file(let path) = sources[place] else { return reason }
        return reason.replacing(path, with: origin.shown)
    }

    /// The codec or packet time changed: everything is loaded anew and goes on where it was.
    func change(codec: Audio.AudioCodec, packetTime: Int, from library: PromptLibrary) {
        guard codec != self.codec || packetTime != self.packetTime else { return }
        packet = packet * self.packetTime / packetTime
        self.codec = codec
        self.packetTime = packetTime
        load(from: library)
    }

    /// It is over: what is still being loaded for it is not taken.
    func cancel() {
        generation += 1
        onFailure = nil
    }

    private enum Way {
        case silence(Duration)
        case find(PromptOrigin)
        case load(PromptKey, endless: Bool)
        case failed(String)
    }

    private func way(of place: Int) -> Way {
        switch sources[place] {
        case .silence(let length): return .silence(length)
        case .supplied(.speech) where !codec.isCoded: return .failed(codec.notEncoded)
        case .supplied(let origin): return .find(origin)
        case .file(let path):
            let isFirst = sources.firstIndex { $0.isFile } == place
            return .load(
                .file(
                    PromptVariant(
                        path: path, codec: codec, packetTime: packetTime, volume: request.volume,
                        from: isFirst ? request.from : .zero, until: isFirst ? request.until : nil)), endless: false)
        case .countryTone(let name, let country):
            guard let plan = TonePlan.country(country) else {
                return .failed("tone \(name): no tones are known for \"\(country)\"")
            }
            guard let name = TonePlan.Name(rawValue: name) else { return .failed("tone \(name): there is no such tone") }
            return tone(plan[name], level: -13)
        case .tone(let frequencies, let cadence, let level):
            let most = Double(codec.sampleRate) / 2
            guard !frequencies.isEmpty, frequencies.allSatisfy({ $0 > 0 && $0 < most }),
                cadence.isEmpty || cadence.contains(where: { $0 > .zero })
            else { return .failed("tone: frequencies from 1 Hz to \(Int(most)) Hz, and a cadence that lasts") }
            return tone(Tone(frequencies: frequencies, cadence: cadence), level: level)
        }
    }

    private func tone(_ tone: Tone, level: Double) -> Way {
        guard codec.isCoded else { return .failed(codec.notEncoded) }
        let isEndless = tone.cadence == nil
        let seamless = isEndless || rounds > 1
        return .load(
            .tone(tone, level: level + request.volume, seamless: seamless, codec: codec, packetTime: packetTime),
            endless: isEndless)
    }

    private func take(_ item: Item, at place: Int) {
        items[place] = item
        pending -= 1
    }

    /// The frame of this tick; a payload is written to `output`.
    func next(to output: UnsafeMutableRawBufferPointer) -> PlayedFrame {
        if packet < currentEnd, let current {
            isJoint = false
            return step(.payload(octets: current.copyPayload(packet, to: output)))
        }
        return nextOfItems(to: output)
    }

    private func nextOfItems(to output: UnsafeMutableRawBufferPointer) -> PlayedFrame {
        guard pending == 0 else { return .notYet }
        var isFruitless = false
        while rounds > 0 {
            guard index < items.count else {
                // A round without a single packet would go on for ever.
                if isFruitless { return .over }
                isFruitless = true
                index = 0
                packet = 0
                if rounds != .max { rounds -= 1 }
                continue
            }
            switch items[index] {
            case .pending: return .notYet
            case .prompt(let prompt) where packet < prompt.packetCount: return enter(prompt, output, isJoint: true)
            case .endless(let prompt):
                if packet >= prompt.packetCount { packet = 0 }
                // The first packet follows the last one.
                return enter(prompt, output, isJoint: current !== prompt)
            case .silence(let packets) where packet < packets: return step(.silence)
            default:
                index += 1
                packet = 0
                leaveCurrent()
            }
        }
        return .over
    }

    private func enter(_ prompt: EncodedPrompt, _ output: UnsafeMutableRawBufferPointer, isJoint: Bool) -> PlayedFrame {
        self.isJoint = isJoint
        current = prompt
        currentEnd = prompt.packetCount
        return step(.payload(octets: prompt.copyPayload(packet, to: output)))
    }

    /// What was encoded before the frame that was given last.
    func lead(octets: Int) -> [UInt8] { current?.lead(before: packet - 1, octets: octets) ?? [] }

    private func leaveCurrent() {
        current = nil
        currentEnd = 0
    }

    /// Whether nothing comes after the frame that was given last.
    var isOver: Bool {
        if packet < currentEnd { return false }
        guard pending == 0, rounds <= 1 else { return false }
        guard rounds == 1, index < items.count else { return true }
        guard index == items.count - 1 else { return false }
        switch items[index] {
        case .prompt(let prompt): return packet >= prompt.packetCount
        case .silence(let packets): return packet >= packets
        case .pending, .endless: return false
        }
    }

    private func step(_ frame: PlayedFrame) -> PlayedFrame {
        packet += 1
        playback.advance(milliseconds: packetTime)
        return frame
    }
}
