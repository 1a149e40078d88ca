import Audio
package import Basics

/// The facts about a call that flows, logs and results read.
package struct CallInfo: Sendable {
    package enum Direction: String, Sendable {
        case inbound
        case outbound
    }

    /// Made by the engine: letters, digits and `-` only, so it is safe in a file name.
    package var id: String
    package var direction: Direction
    package var from: CallParty
    package var to: CallParty
    /// The header fields of the INVITE that came in, or of the final answer to the one that went out; in their order.
    package var headers: [CallHeader]
    /// The line that it came by or goes out through; empty without one.
    package var line: String
    /// The registrar's user who proved to be the caller; empty otherwise.
    package var user = ""
    /// The caller as a trusted line has asserted him (P-Asserted-Identity); nil otherwise.
    package var identity: CallParty?
    /// The value of Privacy: what the caller wants to keep private; empty: nothing.
    package var privacy = ""
    /// Who was called before the call came here, the latest first.
    package var diversions: [CallDiversion] = []
    /// What the far side has sent by MESSAGE in the call, the latest last.
    package var texts: [String] = []
    /// Wall clock at the start, seconds since 1970.
    package var startedAt: Double
    /// On the loop's clock.
    package var started: Instant
    package var answered: Instant?
    package var ended: Instant?
    /// `PCMU/8000`, `opus/48000/2`; empty before media is agreed.
    package var codec: String
    /// The last final (or, before it, provisional) status of the INVITE; 0 before any.
    package var sipStatus: Int
    package var sipReason: String
    /// How long each step took from the INVITE on; nil for what did not happen.
    package var timings: CallTimings
    package var media: MediaReport

    package init(id: String, direction: Direction, from: CallParty, to: CallParty, started: Instant) {
        self.id = id
        self.direction = direction
        self.from = from
        self.to = to
        headers = []
        line = ""
        startedAt = 0
        self.started = started
        codec = ""
        sipStatus = 0
        sipReason = ""
        timings = CallTimings()
        media = MediaReport()
    }
}

extension CallInfo {
    /// Why nothing of its audio can be heard here; nil when it can.
    package var undecodable: String? {
        guard let known = AudioCodec.known.first(where: { $0.description == codec }), !known.isCoded else { return nil }
        return known.notDecoded
    }
}

/// One side of a call, as its From or To header (or the Request-URI) names it.
package struct CallParty: Equatable, Sendable {
    /// `sip:anna@example.com`, without header parameters.
    package var uri: String
    package var user: String
    package var host: String
    package var display: String

    package init(uri: String, user: String = "", host: String = "", display: String = "") {
        self.uri = uri
        self.user = user
        self.host = host
        self.display = display
    }
}

/// Somebody who was called, and had the call sent on.
package struct CallDiversion: Equatable, Sendable {
    package var party: CallParty
    /// `no-answer`, `user-busy`, `unconditional` and others of RFC 5806; a status of History-Info for which that has none; empty: it is not said.
    package var reason: String

    package init(party: CallParty, reason: String) {
        self.party = party
        self.reason = reason
    }
}

/// Times from the INVITE on.
package struct CallTimings: Equatable, Sendable {
    package var trying: Duration?
    package var ringing: Duration?
    package var firstMedia: Duration?
    package var answer: Duration?
    /// From the INVITE to the end.
    package var total: Duration?

    package init() {}
}

/// Counts of the call's RTP, as RFC 3550 defines them.
package struct MediaReport: Equatable, Sendable {
    package var sent: UInt64 = 0
    package var received: UInt64 = 0
    package var lost: Int64 = 0
    package var late: UInt64 = 0
    /// Interarrival jitter at the end (section 6.4.1).
    package var jitter: Duration = .zero
    /// The largest that it was.
    package var maximumJitter: Duration = .zero
    /// From RTCP; nil when no report came.
    package var roundTrip: Duration?
    /// What the far side told about our stream; nil when it told nothing.
    package var remote: RemoteReception?
    /// Whom nobody hears; nil as long as there is no sign of it.
    package var oneWay: OneWayAudio?
    /// What the far side sent before the first packet that came: so much of its first words was not heard. nil as long as it told nothing.
    package var clippedStart: Duration?
    /// The suite of SRTP (RFC 4568 section 6.2); empty for a stream that is not encrypted.
    package var srtp = ""

    package init() {}
}

/// How the far side receives our stream, by its last RTCP reports.
package struct RemoteReception: Equatable, Sendable {
    package var lost: Int64
    package var jitter: Duration
    /// Its own mean opinion score (RTCP XR), listening quality; nil where it does not tell.
    package var score: Double?

    package init(lost: Int64, jitter: Duration, score: Double? = nil) {
        self.lost = lost
        self.jitter = jitter
        self.score = score
    }
}

/// Audio that passes one way only.
package enum OneWayAudio: String, Sendable, CaseIterable {
    /// We sent for two seconds and more, and never got a packet.
    case hearsNothing = "hears-nothing"
    /// The far side's reports know of no packet of ours, although we sent for five seconds and more.
    case isNotHeard = "is-not-heard"
}
