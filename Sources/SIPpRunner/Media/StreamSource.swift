// What `rtp_stream` plays: a file in packets of a codec, or a pattern that the far end sends back.

import Audio
import Basics
import Foundation

/// The words of `rtp_stream`: `file[,loops[,payload[,name/rate]]]`, a pattern, or a command to a stream that plays.
enum StreamCommand {
    case pause
    case resume
    case file(path: String, loops: Int, payloadType: UInt8, codec: String?)
    case pattern(octet: UInt8, payloadType: UInt8, codec: String?, isVideo: Bool)

    /// nil with a reason when the words mean nothing.
    static func read(_ text: String, standard: UInt8) -> Result<StreamCommand, StreamProblem> {
        let words = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
        func word(_ place: Int) -> String? { words.indices.contains(place) && !words[place].isEmpty ? words[place] : nil }
        switch words[0] {
        case "pause", "pauseapattern", "pausevpattern": return .success(.pause)
        case "resume", "resumeapattern", "resumevpattern": return .success(.resume)
        case "apattern", "vpattern":
            guard let number = Int(word(1) ?? ""), (1...6).contains(number) else {
                return .failure(StreamProblem("rtp_stream \"\(text)\": a pattern has a number from 1 to 6"))
            }
            let octets: [UInt8] = [0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF]
            let isVideo = words[0] == "vpattern"
            guard let type = UInt8(word(2) ?? (isVideo ? "97" : "0")), type < 128 else {
                return .failure(StreamProblem("rtp_stream \"\(text)\": \"\(words[2])\" is no payload type"))
            }
            return .success(.pattern(octet: octets[number - 1], payloadType: type, codec: word(3), isVideo: isVideo))
        default:
            guard let loops = Int(word(1) ?? "1"), loops == -1 || loops > 0 else {
                return .failure(StreamProblem("rtp_stream \"\(text)\": \"\(words[1])\" is no number of loops; -1 is for ever"))
            }
            guard let type = UInt8(word(2) ?? "\(standard)"), type < 128 else {
                return .failure(StreamProblem("rtp_stream \"\(text)\": \"\(words[2])\" is no payload type"))
            }
            return .success(.file(path: words[0], loops: loops, payloadType: type, codec: word(3)))
        }
    }
}

struct StreamProblem: Error {
    var message: String

    init(_ message: String) { self.message = message }
}

/// The sizes of packets by payload type and codec.
struct StreamFormat {
    /// Octets a packet, its length, and how far the timestamp goes on.
    var octets: Int
    var packetTime: Duration
    var ticks: UInt32
    /// What a WAV file is encoded with; nil: the file's octets are sent as they are.
    var codec: AudioCodec?
    /// Of the timestamps, in Hz.
    var clock: UInt32 { UInt32(Int64(ticks) * 1_000_000_000 / packetTime.nanoseconds) }

    init?(payloadType: UInt8, name: String?) {
        let parts = name?.split(separator: "/").map(String.init) ?? []
        switch (payloadType, parts.first?.lowercased()) {
        case (0, _): self.init(160, 20, 160, .pcmu)
        case (8, _): self.init(160, 20, 160, .pcma)
        case (9, _): self.init(160, 20, 160, .g722)
        case (13, _): self.init(1, 150, 1200, nil)
        case (18, _): self.init(20, 20, 160, nil)
        case (96..., "ilbc"): self.init(50, 30, 240, nil)
        case (96..., "h264"): self.init(1280, 160, 14_400, nil)
        case (96..., let codec?):
            guard let found = AudioCodec(name: codec, clockRate: parts.count > 1 ? Int(parts[1]) ?? 8000 : 8000) else {
                return nil
            }
            let bytes = found.usualBytes(inMilliseconds: 20)
            self.init(bytes, 20, found.ticks(inMilliseconds: 20), found.isCoded ? found : nil)
        default: return nil
        }
    }

    private init(_ octets: Int, _ milliseconds: Int64, _ ticks: UInt32, _ codec: AudioCodec?) {
        self.octets = octets
        packetTime = .milliseconds(milliseconds)
        self.ticks = ticks
        self.codec = codec
    }
}

/// The payloads of a file.
enum StreamPayloads {
    case encoded(EncodedPrompt)
    case plain([UInt8], size: Int)

    /// A WAV file (and any other that libsndfile reads) is encoded; a file without a head is sent as it is.
    init(path: String, format: StreamFormat) throws(StreamProblem) {
        guard let data = FileManager.default.contents(atPath: path), !data.isEmpty else {
            throw StreamProblem("\(path) cannot be read: is it there?")
        }
        if let codec = format.codec, let clip = try? PromptFile.read(path) {
            self = .encoded(EncodedPrompt(clip, codec: codec))
        } else {
            self = .plain(Array(data), size: format.octets)
        }
    }

    var count: Int {
        switch self {
        case .encoded(let prompt): prompt.packetCount
        case .plain(let octets, let size): (octets.count + size - 1) / size
        }
    }

    /// Copies a payload and tells its length.
    func copy(_ index: Int, to output: UnsafeMutableRawBufferPointer) -> Int {
        switch self {
        case .encoded(let prompt): return prompt.copyPayload(index, to: output)
        case .plain(let octets, let size):
            let part = octets[index * size..<min(octets.count, (index + 1) * size)]
            output.copyBytes(from: part)
            return part.count
        }
    }
}
