// baresip without a screen or sound card: it speaks a WAV file, writes down what it hears, and takes keys by a UDP console.

import Foundation
import TestKit

/// One baresip with a configuration in a folder of its own.
final class Baresip {
    static let modules = "/usr/lib/baresip/modules"
    static let isInstalled =
        PeerProgram.isInstalled("baresip") && FileManager.default.fileExists(atPath: "\(modules)/sndfile.so")

    let folder = try? TemporaryFolder()
    let port: UInt16
    private let console = Ports.free()
    private let program: PeerProgram

    /// - Parameters:
    ///   - prompt: what it says in the call.
    ///   - after: silence before it.
    ///   - codec: the only one that it has, by baresip's name: `pcmu`, `G722/16000/1`, `opus/48000/2`.
    ///   - room: silence after it; baresip ends the call when its file is over.
    ///   - limit: seconds after which it ends by itself.
    ///   - registering: the address that it logs in as, at the registrar on that port.
    ///   - dial: calls this URI at once; nil: it waits and answers by itself.
    ///   - encryption: of its media: `srtp`, `srtp-mand` (RTP/SAVP and nothing else) or `srtp-mandf` (RTP/SAVPF); nil: none.
    ///   - certificate: of the standard test certificates: it speaks TLS too, on the port above `port`.
    init(
        speaking prompt: String, after: Duration = .zero, room: Duration = .seconds(8), codec: String = "pcmu",
        dial: String? = nil, limit: Int = 25,
        encryption: String? = nil, certificate: String? = nil, registering account: String? = nil, at registrar: UInt16 = 0,
        password: String = ""
    ) throws {
        guard let folder else { throw PeerError.missing("a temporary folder") }
        var port = Ports.free()
        let console = console
        let rate = codec.hasPrefix("opus") ? 48000 : codec.hasPrefix("G722") || codec.hasPrefix("L16") ? 16000 : 8000
        try SpeechFile.write(prompt, after: after, room: room, rate: rate, to: folder.path("speech.wav"))
        try FileManager.default.createDirectory(atPath: folder.path("heard"), withIntermediateDirectories: true)
        func writeConfiguration() throws {
            try folder.write(
                """
                poll_method epoll
                sip_listen 127.0.0.1:\(port)
                audio_player aubridge,nowhere
                audio_source aufile,\(folder.path("speech.wav"))
                audio_alert aubridge,alert
                ausrc_srate \(rate)
                auplay_srate \(rate)
                ausrc_channels 1
                auplay_channels 1
                rtp_ports \(Ports.freeMedia())-65534
                rtp_timeout 30
                module_path \(Baresip.modules)
                module cons.so
                module g711.so
                module g722.so
                module l16.so
                module opus.so
                opus_bitrate 32000
                opus_inbandfec yes
                module aufile.so
                module aubridge.so
                module sndfile.so
                module srtp.so
                module_app account.so
                module_app contact.so
                module_app menu.so
                cons_listen 127.0.0.1:\(console)
                snd_path \(folder.path("heard"))
                \(Baresip.security(certificate, in: folder))

                """, to: "config")
        }
        let way = certificate == nil ? "" : ";transport=tls"
        func writeAccount() throws {
            let identity =
                account.map {
                    "<\($0)>;auth_pass=\(password);outbound=\"sip:127.0.0.1:\(registrar)\";regint=60"
                } ?? "<sip:bot@127.0.0.1:\(port)\(way)>;regint=0"
            try folder.write(
                "\(identity);answermode=auto;audio_codecs=\(codec)\(encryption.map { ";mediaenc=\($0)" } ?? "")\n", to: "accounts"
            )
        }
        try folder.write("", to: "contacts")
        var arguments = ["-f", folder.url.path, "-t", "\(limit)"]
        if let dial { arguments += ["-e", "d \(dial)"] }
        func start() throws -> PeerProgram {
            try writeConfiguration()
            try writeAccount()
            return try PeerProgram("baresip", arguments, in: folder, environment: PeerProgram.announcing())
        }
        var program = try start()
        // Somebody else may take the port for TCP before it does; it then serves UDP only, and says nothing.
        for _ in 0..<3 where dial == nil {
            if program.waitForOutput("baresip is ready"), program.hasOpened([(.tcp, port)]) { break }
            program.stop()
            port = Ports.free()
            program = try start()
        }
        self.program = program
        self.port = port
    }

    /// The words of its configuration for TLS; its certificate and key are in one file.
    private static func security(_ certificate: String?, in folder: TemporaryFolder) -> String {
        guard let certificate, let made = TestCertificates.standard else { return "" }
        let file = folder.path("certificate.pem")
        made.run("cat \(certificate).pem \(certificate).key > \(file)")
        return "sip_certificate \(file)\nsip_cafile \(made.path("ca.pem"))"
    }

    /// Presses keys, as on its keyboard: digits in a call; `x` and `X` hold and resume, `b` hangs up.
    func press(_ keys: String) { _ = Ports.exchange([Array(keys.utf8)], with: console, patience: .zero) }

    func waitForOutput(_ text: String, _ limit: Duration = .seconds(8)) -> Bool { program.waitForOutput(text, limit) }

    var output: String { program.output }

    /// Ends it; it logs out before.
    func stop() { program.stop() }

    /// Ends it and returns the files with what it heard. (Its recorder stops at its first hold.)
    func stopAndListen() -> [String] {
        program.stop()
        guard let folder else { return [] }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path("heard"))) ?? []
        return names.filter { $0.hasSuffix("dec.wav") }.map { folder.path("heard/\($0)") }
    }
}
