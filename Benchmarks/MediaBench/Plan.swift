// What is measured, as the command line says it.

import Basics
import CallEngine
import SDP

struct Plan: Sendable {
    let sessions: Int
    let seconds: Int
    let prompt: String?
    let codec: String
    /// Of each second pair: with `--bridge` the legs speak different codecs.
    let otherCodec: String
    let isBridged: Bool
    /// Of each conference; 0: there is none.
    let members: Int
    /// Of those, how many speak all the time.
    let speakers: Int
    /// The folder for a recording of each session.
    let recordings: String?
    let isEncrypted: Bool
    /// Keys are agreed on as sound alone, so all that is heard is searched for them.
    let hearsKeysAsSound: Bool
    let bargesIn: Bool
    let measuresCodecs: Bool
    let core: Int?
    let bindTo: IPAddress

    init(_ arguments: [String]) {
        func option(_ name: String) -> String? {
            arguments.firstIndex(of: name).flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
        }
        func number(_ name: String, _ standard: Int) -> Int { option(name).flatMap { Int($0) } ?? standard }
        bargesIn = arguments.contains("--barge-in")
        measuresCodecs = arguments.contains("--codec-time")
        sessions = number("--sessions", bargesIn ? 2000 : 500)
        seconds = number("--seconds", 10)
        prompt = option("--prompt")
        codec = option("--codec") ?? "pcmu"
        otherCodec = option("--other-codec") ?? codec
        isBridged = arguments.contains("--bridge")
        members = number("--conference", 0)
        speakers = number("--speakers", 1)
        recordings = option("--record")
        isEncrypted = arguments.contains("--srtp")
        hearsKeysAsSound = arguments.contains("--inband")
        core = option("--core").flatMap { Int($0) }
        bindTo = option("--bind").flatMap { IPAddress($0) } ?? .any4
    }

    /// What one session is made with; `isOther`: of a second pair.
    func settings(_ inbox: DigitInbox, isOther: Bool = false, idle: MediaSettings.IdlePolicy = .silence) -> MediaSettings {
        var settings = MediaSettings(digits: inbox, localIP: .loopback4, codecs: [isOther ? otherCodec : codec])
        settings.security = isEncrypted ? .required : .off
        settings.telephoneEvents = !hearsKeysAsSound
        settings.idle = idle
        return settings
    }

    /// Pairs that have agreed.
    func open(_ services: MediaServices) throws -> [MediaSession] {
        var sessions: [MediaSession] = []
        for pair in 0..<self.sessions / 2 {
            let ends = try (0..<2).map { _ in
                try MediaSession(services: services, settings: settings(DigitInbox(), isOther: pair % 2 == 1))
            }
            sessions += ends
            let answer = try ends[1].answer(ends[0].makeOffer()[...])
            ends[1].start()
            try ends[0].receive(answer: answer[...])
        }
        return sessions
    }
}
