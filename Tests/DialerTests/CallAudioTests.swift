// The waveform of a call in a report, and what becomes of files that are none.

import CallEngine
import Dialer
import Foundation
import Store
import Testing

@Suite struct CallAudioTests {
    /// Stereo at 8 kHz: so many seconds of a full square wave on the left, silence on the right.
    static func wave(seconds: Double, channels: Int = 2, bits: Int = 16) -> Data {
        var data = Data()
        func number(_ value: Int, _ bytes: Int) { for place in 0..<bytes { data.append(UInt8(value >> (8 * place) & 255)) } }
        let frames = Int(seconds * 8000)
        data.append(Data("RIFF".utf8))
        number(0, 4)
        data.append(Data("WAVELIST".utf8))
        // A chunk of an odd length before the ones that count.
        number(3, 4)
        data.append(Data("abc\0".utf8))
        data.append(Data("fmt ".utf8))
        for (value, bytes) in [(16, 4), (1, 2), (channels, 2), (8000, 4), (8000 * channels * 2, 4), (channels * 2, 2), (bits, 2)]
        {
            number(value, bytes)
        }
        data.append(Data("data".utf8))
        number(frames * channels * 2, 4)
        for frame in 0..<frames {
            for channel in 0..<channels { number(channel == 0 ? (frame / 10 % 2 == 0 ? 16384 : -16384) & 0xFFFF : 0, 2) }
        }
        return data
    }

    /// The page of a campaign with one row that failed and this as its recording.
    static func page(_ audio: Data?) throws -> String {
        let bench = try CampaignTests.Bench(CampaignTests.Bench.rows(1))
        let plan = try CampaignTests.Bench.plan()
        _ = try bench.open(plan)
        bench.go(plan) { _ in (.seconds(1), CampaignTests.result(.failed, .rejected, 603)) }
        let folder = bench.folder.path()
        if let audio {
            try FileManager.default.createDirectory(atPath: "\(folder)/audio", withIntermediateDirectories: true)
            try audio.write(to: URL(filePath: "\(folder)/\(CallAudio.path(row: 1, attempt: 1))"))
        }
        _ = try #require(bench.database).performAndWait { connection throws(StoreError) in
            try CampaignReport.write("x", into: folder, wasStopped: false, wasCut: false, connection)
        }
        return try String(contentsOfFile: "\(folder)/report.html", encoding: .utf8)
    }

    @Test func bothSidesAreDrawnAndPlayed() throws {
        let sound = Self.wave(seconds: 1.5)
        let page = try Self.page(sound)
        #expect(page.contains("src='data:audio/wav;base64,\(sound.base64EncodedString())'"))
        #expect(page.contains("<figcaption>1.5 s; above the other side, below this one</figcaption>"))
        // Half of the range on the left, a thin line on the right.
        #expect(page.contains("M0 16.0V48.0M1 16.0V48.0"))
        #expect(page.contains("M0 95.5V96.5M1 95.5V96.5"))
        #expect(page.contains("M599 "))
        #expect(!page.contains("M600 "))
    }

    @Test func aLongRecordingStaysBesideThePage() throws {
        let page = try Self.page(Self.wave(seconds: 700))
        #expect(page.contains("src='audio/1-1.wav'"))
        #expect(page.utf8.count < 200_000)
    }

    @Test func whatIsNoAudioIsLeftOut() throws {
        #expect(!(try Self.page(nil)).contains("<audio"))
        let whole = Self.wave(seconds: 0.1)
        for length in [0, 11, 12, 20, 40, 56, 58] {
            #expect(!(try Self.page(whole.prefix(length))).contains("<audio"), "\(length)")
        }
        #expect(!(try Self.page(Self.wave(seconds: 0.1, bits: 8))).contains("<audio"))
        #expect(!(try Self.page(Self.wave(seconds: 0.1, channels: 6))).contains("<audio"))
        // One that was cut off is shown as far as it goes.
        #expect(try Self.page(whole.prefix(1000)).contains("<audio"))
        #expect(try Self.page(Self.wave(seconds: 0.1, channels: 1)).contains("<figcaption>0.1 s</figcaption>"))
    }
}
