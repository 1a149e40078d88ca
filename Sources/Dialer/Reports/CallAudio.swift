// The audio of a call in a report: its waveform as inline SVG, one lane a side, and the sound itself, in the page as long as the page
// does not grow too large, beside it otherwise. Reads what recordings are: WAV with 16-bit samples.

import Basics
import Foundation

package enum CallAudio {
    /// Where the recording of an attempt is, within the report's folder.
    /// - Parameter party: whose half of a test; nil: the caller's, or the only one.
    package static func path(row: Int, attempt: Int, party: String? = nil) -> String {
        "audio/\(row)-\(attempt)\(party.map { "-\($0)" } ?? "").wav"
    }

    private static let width = 600
    private static let lane = 32
    /// Of all audio in one page, bytes: browsers and mail take no more.
    static let most = 20_000_000

    /// The waveform and a player for a file of the report's folder; nil when there is no such file, or no audio in it.
    /// - Parameter room: what the page may still grow by, bytes; less than that afterwards.
    static func figure(_ path: String, in folder: String, room: inout Int) -> String? {
        guard let data = FileManager.default.contents(atPath: "\(folder)/\(path)"), let sound = Sound(data) else { return nil }
        var source = path
        if data.count <= room {
            room -= data.count
            source = "data:audio/wav;base64,\(data.base64EncodedString())"
        }
        let seconds = JSONText.number(sound.seconds, digits: 1).text
        return "<figure class='audio'>\(picture(sound))<audio controls preload='none' src='\(source)'></audio>"
            + "<figcaption>\(seconds) s\(sound.channels == 2 ? "; above the other side, below this one" : "")</figcaption></figure>"
    }

    private static func picture(_ sound: Sound) -> String {
        let height = lane * 2 * sound.channels
        var svg = "<svg viewBox='0 0 \(width) \(height)' preserveAspectRatio='none' role='img' aria-label='waveform'>"
        for channel in 0..<sound.channels {
            let middle = lane * (2 * channel + 1)
            var path = ""
            for (column, peak) in sound.peaks(of: channel, columns: width).enumerated() {
                // A silent column is a thin line: it shows that there was time.
                let half = max(0.5, Double(peak) / 32768 * Double(lane))
                path += "M\(column) \(figure(Double(middle) - half))V\(figure(Double(middle) + half))"
            }
            svg += "<path d='\(path)' stroke='\(channel == 0 ? Page.plain : Page.other)' fill='none'/>"
        }
        return svg + "</svg>"
    }

    private static func figure(_ value: Double) -> String { JSONText.number(value, digits: 1).text }
}

/// The samples of a WAV file.
private struct Sound {
    let channels: Int
    private let rate: Int
    private let samples: Data

    /// nil for anything but 16-bit samples of one or two channels, and for none.
    init?(_ data: Data) {
        func number(_ at: Int, _ bytes: Int) -> Int {
            (0..<bytes).reduce(0) { $0 | Int(data[data.startIndex + at + $1]) << (8 * $1) }
        }
        func name(_ at: Int) -> String {
            String(decoding: data[(data.startIndex + at)..<(data.startIndex + at + 4)], as: UTF8.self)
        }
        guard data.count >= 12, name(0) == "RIFF", name(8) == "WAVE" else { return nil }
        var format: (channels: Int, rate: Int)?
        var place = 12
        while place + 8 <= data.count {
            let (kind, size) = (name(place), number(place + 4, 4))
            let body = place + 8
            if kind == "fmt ", size >= 16, body + 16 <= data.count, number(body + 14, 2) == 16 {
                format = (number(body + 2, 2), number(body + 4, 4))
            }
            if kind == "data" {
                let end = min(data.count, body + size)
                guard let format, (1...2).contains(format.channels), format.rate > 0, end - body >= 2 * format.channels else {
                    return nil
                }
                (channels, rate) = format
                samples = data.subdata(in: (data.startIndex + body)..<(data.startIndex + end))
                return
            }
            // Chunks begin at even places.
            place = body + size + size % 2
        }
        return nil
    }

    private var frames: Int { samples.count / (2 * channels) }
    var seconds: Double { Double(frames) / Double(rate) }

    /// The greatest sample of each column, 0 to 32768.
    func peaks(of channel: Int, columns: Int) -> [Int] {
        (0..<columns).map { column in
            let from = frames * column / columns
            let until = max(from + 1, frames * (column + 1) / columns)
            return (from..<min(until, frames)).reduce(0) { peak, frame in
                let place = (frame * channels + channel) * 2
                return max(peak, abs(Int(Int16(bitPattern: UInt16(samples[place]) | UInt16(samples[place + 1]) << 8))))
            }
        }
    }
}
