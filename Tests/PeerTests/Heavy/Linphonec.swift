// linphonec without a screen or sound card: it speaks a WAV file, writes down what it hears, and takes commands on its standard input.

import Foundation
import TestKit

/// One linphonec with a home of its own.
final class Linphonec {
    let folder: TemporaryFolder
    let port = Ports.free()
    private let program: PeerProgram

    /// - Parameters:
    ///   - prompt: what it says in each call, over and over.
    ///   - codec: the only one that it offers and takes.
    ///   - encryption: of its media: `none` or `srtp`.
    ///   - answers: takes calls by itself.
    ///   - account: whom it registers as, where (a SIP URI, which may ask for TLS), and its password.
    ///   - routes: sends everything by the server of its account.
    ///   - authority: a PEM file with whom it believes about servers of TLS.
    init(
        speaking prompt: String, codec: String = "PCMU", encryption: String = "none", answers: Bool = false,
        account: (user: String, realm: String, password: String, server: String)? = nil, routes: Bool = false,
        authority: String? = nil
    ) throws {
        folder = try TemporaryFolder()
        let manager = FileManager.default
        // Without the folder of its database it does not start; its grammars are looked for below the working folder, too.
        for name in [".local/share/linphone", ".config/linphone"] {
            try manager.createDirectory(atPath: folder.path(name), withIntermediateDirectories: true)
        }
        try manager.createSymbolicLink(atPath: folder.path("share"), withDestinationPath: "\(HeavyPeer.root)/usr/share")
        let rate = codec == "opus" ? 48000 : 8000
        try SpeechFile.write(prompt, room: .milliseconds(500), rate: rate, to: folder.path("speech.wav"))
        var configuration = Self.configuration(port, codec, encryption, authority)
        if let account {
            configuration += """
                [proxy_0]
                reg_proxy=<\(account.server)>
                reg_route=\(routes ? "<\(account.server);lr>" : "")
                reg_identity=<sip:\(account.user)@\(account.realm)>
                reg_expires=600
                reg_sendregister=1
                publish=0

                [auth_info_0]
                username=\(account.user)
                passwd=\(account.password)
                realm=\(account.realm)

                """
        }
        try folder.write(configuration, to: "linphonerc")
        program = try HeavyPeer.linphonec.start(
            ["-c", folder.path("linphonerc"), "-d", "6", "-l", folder.path("log")] + (answers ? ["-a"] : []), in: folder,
            reads: true)
        program.type("soundcard use files")
        program.type("record \(folder.path("heard.wav"))")
        program.type("play \(folder.path("speech.wav"))")
        _ = program.waitForOutput("Using wav files")
    }

    private static func configuration(
        _ port: UInt16, _ codec: String, _ encryption: String, _ authority: String?
    ) -> String {
        // TLS: -1 is any port, 0 none.
        var text = """
            [sip]
            sip_port=\(port)
            sip_tcp_port=\(port)
            sip_tls_port=\(authority == nil ? 0 : -1)
            root_ca=\(authority ?? "")
            verify_server_certs=1
            verify_server_cn=1
            default_proxy=0
            bind_address=127.0.0.1
            contact=sip:phone@127.0.0.1
            use_ipv6=0
            ipv6_migration_done=1
            media_encryption=\(encryption)

            [rtp]
            audio_rtp_port=\(Ports.freeMedia())

            [video]
            enabled=0
            capture=0
            display=0


            """
        // What is not listed is added, and enabled.
        let known = [("opus", 48000, 2), ("speex", 16000, 1), ("speex", 8000, 1), ("PCMU", 8000, 1), ("PCMA", 8000, 1)]
        for (index, (name, rate, channels)) in known.enumerated() {
            let enabled = name == codec ? 1 : 0
            text += "[audio_codec_\(index)]\nmime=\(name)\nrate=\(rate)\nchannels=\(channels)\nenabled=\(enabled)\n\n"
        }
        return text
    }

    /// Types a command, or keys while in a call.
    func type(_ command: String) { program.type(command) }

    /// Waits until it has said this so many times.
    func waitForOutput(_ text: String, times: Int = 1, _ limit: Duration = .seconds(8)) -> Bool {
        program.waitForOutput(text, times: times, limit)
    }

    /// What it said and, after a failure, the end of its log.
    var output: String { program.output + "\n" + folder.text("log").suffix(4000) }

    /// Ends it and returns the file with what it heard.
    func stopAndListen() -> String {
        program.type("quit")
        _ = program.wait(.seconds(5))
        return folder.path("heard.wav")
    }

    func stop() { program.stop() }
}
