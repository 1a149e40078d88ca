// The scenario files of the folder Scenarios: each pair runs against itself in virtual time here, and against sipp in PeerTests. Together
// they use every element, attribute, action and keyword.

import Audio
import Foundation
import Reactor
import SIPpRunner
import Testing

/// A pair of files, with what their first comments say: `arguments:` for the command line, `status:` of the end.
struct ScenarioPair: CustomTestStringConvertible, Sendable {
    let name: String
    var testDescription: String { name }

    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Scenarios").path
    static let all = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasSuffix(".caller.xml") }
        .sorted().map { ScenarioPair(name: String($0.dropLast(".caller.xml".count))) }

    func path(_ role: String) -> String { "\(Self.folder)/\(name).\(role).xml" }
    func text(_ role: String) -> String { (try? String(contentsOfFile: path(role), encoding: .utf8)) ?? "" }

    private func comment(_ word: String, _ role: String) -> String? {
        guard let start = text(role).range(of: "<!-- \(word): ") else { return nil }
        return text(role)[start.upperBound...].range(of: " -->").map { String(text(role)[start.upperBound..<$0.lowerBound]) }
    }

    func arguments(_ role: String) -> [String] { comment("arguments", role)?.split(separator: " ").map(String.init) ?? [] }
    func status(_ role: String) -> Int32 { comment("status", role).flatMap { Int32($0) } ?? 0 }
}

@Suite("SIPp runner: pairs of scenarios")
struct PairTests {
    /// Files that scenarios name: those of the folder, and sounds.
    static func prepare(_ folder: ScratchFolder) throws {
        for name in ["names.csv", "many.csv", "note.txt"] {
            let data = try Data(contentsOf: URL(fileURLWithPath: "\(ScenarioPair.folder)/\(name)"))
            try data.write(to: folder.url.appendingPathComponent(name))
        }
        try Data(MediaFiles.wave).write(to: folder.url.appendingPathComponent("tone.wav"))
        try Data(MediaFiles.capture).write(to: folder.url.appendingPathComponent("keys.pcap"))
    }

    @Test("a pair runs against itself", arguments: ScenarioPair.all)
    func runs(_ pair: ScenarioPair) throws {
        let scene = try Scene()
        try Self.prepare(scene.folder)
        func words(_ role: String) -> [String] {
            let words = pair.arguments(role)
            let own = words.enumerated().map { $0 > 0 && words[$0 - 1] == "-inf" ? scene.folder.path($1) : $1 }
            let log = ["-trace_err", "-error_file", scene.folder.path("\(role).err"), "-timeout", "100s"]
            return log + (own.contains("-m") ? [] : ["-m", "2"]) + own
        }
        func text(_ role: String) -> String { pair.text(role).replacing("note.txt", with: scene.folder.path("note.txt")) }
        let called = try scene.start(text("called"), words("called"))
        let caller = try scene.start(text("caller"), words("caller"), to: called)
        #expect(scene.play())
        #expect(caller.status == pair.status("caller"), "\(RunSummary(caller.run).text)\(scene.folder.text("caller.err"))")
        #expect(called.status == pair.status("called"), "\(RunSummary(called.run).text)\(scene.folder.text("called.err"))")
        #expect(scene.loop.openSockets == 0)
    }

    @Test("together they use every element, attribute, action and keyword")
    func coverage() {
        let text = ScenarioPair.all.map { $0.text("caller") + $0.text("called") }.joined() + ThirdPartyTests.scenarios.joined()
        // What is not there is named; the whole text is no help.
        func has(_ word: String) -> Bool { text.contains(word) }
        let elements = [
            "scenario", "send", "recv", "pause", "timewait", "nop", "sendCmd", "recvCmd", "label", "init", "Global", "User",
            "Reference",
            "ResponseTimeRepartition", "CallLengthRepartition", "DefaultMessage", "action", "ereg", "log", "warning", "error",
            "assign",
            "add", "subtract", "multiply", "divide", "assignstr", "todouble", "sample", "strcmp", "test", "trim", "urlencode",
            "urldecode",
            "gettimeofday", "index", "jump", "pauserestore", "lookup", "insert", "replace", "setdest", "closecon", "verifyauth",
            "rtp_echo", "exec"
        ]
        let attributes = [
            "retrans", "lost", "timeout", "ontimeout", "start_txn", "ack_txn", "response", "request", "optional", "regexp_match",
            "response_txn", "rrs", "auth", "ignoresdp", "advance_state", "milliseconds", "variable", "distribution",
            "sanity_check",
            "dest", "src", "start_rtd", "rtd", "repeat_rtd", "counter", "next", "test", "chance", "condexec", "condexec_inverse",
            "crlf",
            "display", "hide", "hiderest", "search_in", "header", "case_indep", "occurrence", "start_line", "check_it",
            "check_it_inverse", "assign_to", "command", "int_cmd", "play_pcap_audio", "play_pcap_video", "play_pcap_image",
            "play_dtmf", "rtp_stream", "variable2",
            "compare"
        ]
        let values = [
            "global", "fixed", "uniform", "normal", "lognormal", "exponential", "weibull", "pareto", "gpareto", "gamma", "negbin",
            "equal",
            "not_equal", "greater_than", "less_than", "greater_than_equal", "less_than_equal", "msg", "hdr", "body", "var",
            "stop_call",
            "stop_gracefully", "stop_now", "_unexp.main", "ack", "200"
        ]
        let keywords = [
            "service", "remote_host", "remote_ip", "remote_port", "local_ip", "local_ip_type", "local_port", "server_ip",
            "transport",
            "media_ip", "media_ip_type", "media_port", "auto_media_port", "rtpstream_audio_port", "rtpstream_video_port",
            "call_id",
            "branch", "cseq", "last_cseq_number", "peer_tag_param", "routes", "next_url", "last_Request_URI", "last_message",
            "last_Via:", "call_number", "dynamic_id", "msg_index", "pid", "clock_tick", "users", "userid", "sipp_version", "len",
            "field0",
            "file", "fill", "date", "timestamp", "authentication", "$", "cryptotag1audio", "cryptosuiteaescm128sha1801audio",
            "cryptokeyparams1audio", "cryptotag2audio", "cryptosuiteaescm128sha1322audio", "cryptokeyparams2audio",
            "cryptotag1video", "cryptosuitenullsha1801video", "cryptokeyparams1video", "tdmmap"
        ]
        let commands = [
            "pause", "resume", "apattern", "vpattern", "pauseapattern", "resumeapattern", "pausevpattern", "resumevpattern",
            "startaudio", "updateaudio", "stopaudio", "startvideo", "updatevideo", "stopvideo"
        ]
        for name in elements { #expect(has("<\(name)"), "no <\(name)>") }
        for name in attributes { #expect(has(" \(name)=\""), "no \(name)=") }
        for value in values { #expect(has("\"\(value)\""), "no \"\(value)\"") }
        for command in commands { #expect(has("=\"\(command)"), "no exec \(command)") }
        for keyword in keywords { #expect(has("[\(keyword)"), "no [\(keyword)]") }
        #expect(ScenarioPair.all.count >= 20)
    }
}

/// Sounds for scenarios.
enum MediaFiles {
    /// Half a second of a tone, as a WAV file.
    static let wave: [UInt8] = {
        let samples = (0..<4000).map { Int16(8000 * sin(Double($0) * 2 * .pi * 440 / 8000)) }
        func little(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(value >> ($0 * 8) & 255) } }
        var file = Array("RIFF".utf8) + little(36 + samples.count * 2, 4) + Array("WAVEfmt ".utf8) + little(16, 4) + little(1, 2)
        file += little(1, 2) + little(8000, 4) + little(16_000, 4) + little(2, 2) + little(16, 2) + Array("data".utf8)
        file += little(samples.count * 2, 4)
        for sample in samples { file += little(Int(UInt16(bitPattern: sample)), 2) }
        return file
    }()

    /// Key 5 by RFC 4733 with payload type 101, eight packets, as a capture of Ethernet frames.
    static let capture: [UInt8] = {
        func big(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).reversed().map { UInt8(value >> ($0 * 8) & 255) } }
        var file = big(0xA1B2_C3D4, 4) + big(2, 2) + big(4, 2) + big(0, 8) + big(65_535, 4) + big(1, 4)
        for number in 0..<8 {
            let isEnd = number >= 5
            var rtp: [UInt8] = [0x80, (number == 0 ? 0x80 : 0) | 101] + big(100 + number, 2) + big(8000, 4) + big(0x1234_5678, 4)
            rtp += [5, isEnd ? 0x8A : 0x0A] + big(160 * (min(number, 5) + 1), 2)
            let udp = big(4000, 2) + big(4002, 2) + big(8 + rtp.count, 2) + big(0, 2) + rtp
            let ip = [0x45, 0] + big(20 + udp.count, 2) + big(0, 4) + [64, 17] + big(0, 2) + [127, 0, 0, 1, 127, 0, 0, 1] + udp
            let frame = [UInt8](repeating: 2, count: 12) + [8, 0] + ip
            file += big(1, 4) + big(number * 20_000, 4) + big(frame.count, 4) + big(frame.count, 4) + frame
        }
        return file
    }()
}
