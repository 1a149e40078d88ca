package import Basics
package import Reactor
package import SDP
package import SIP

/// Everything the engine is told before it starts; `Server` reads it from `ringwright.yaml`.
package struct EngineSettings: Sendable {
    /// Where SIP is listened for.
    package struct Listener: Hashable, Sendable {
        package enum Transport: String, Hashable, Sendable, CaseIterable {
            case udp
            case tcp
            case tls
            /// WebSockets (RFC 7118): the engine is handed their connections.
            case ws
            case wss

            package var isWebSocket: Bool { self == .ws || self == .wss }

            /// The transport as messages name it.
            package var onTheWire: SIP.Transport {
                switch self {
                case .udp: .udp
                case .tcp: .tcp
                case .tls: .tls
                case .ws: .ws
                case .wss: .wss
                }
            }
        }

        package var transport: Transport
        /// Port 0: the system chooses.
        package var address: SocketAddress
        /// Of WebSockets: where they are, beginning with a slash.
        package var path = "/"

        package init(_ transport: Transport, _ address: SocketAddress) {
            self.transport = transport
            self.address = address
        }
    }

    /// How many streams SIP may hold, and how long.
    package struct Streams: Equatable, Sendable {
        /// At a time, accepted and opened ones; so a flood of connections leaves descriptors for media.
        package var limit: Int
        /// One on which nothing passed for so long is closed.
        package var idle: Duration

        package init(limit: Int = 4096, idle: Duration = .seconds(600)) {
            self.limit = limit
            self.idle = idle
        }
    }

    /// Whether calls of ours that are redirected go on.
    package struct Redirects: Sendable {
        /// How many targets one call may be redirected to; 0: a redirection is its end.
        package var limit: Int
        /// Whether a target may be called. From any thread.
        package var allows: @Sendable (String) -> Bool

        package init(limit: Int = 0, allows: @escaping @Sendable (String) -> Bool = { _ in true }) {
            self.limit = limit
            self.allows = allows
        }
    }

    package var listeners: [Listener]
    package var redirects = Redirects()
    package var streams: Streams
    /// Whether messages of one length that leave for one peer at the same moment are cut by the kernel (`DatagramOptions.segmentation`).
    package var segmentation = DatagramSegmentation.auto
    /// The address in SDP, Via and Contact; nil: the local one on which the peer is reached.
    package var external: IPAddress?
    /// RTP takes the even ports, RTCP the odd ones above.
    package var rtpPorts: ClosedRange<UInt16>
    package var limits: Admission.Limits
    package var lines: [LineSettings]
    /// Certificates and rules of TLS; listeners of it need one with a certificate. nil: no TLS at all.
    package var tls: TLSContext?
    /// WebSockets to servers can be opened: the front is given the opener.
    package var opensWebSockets = false
    /// Phones, bots and browsers that log in here; nil: none.
    package var registrar: RegistrarSettings?
    /// Where their registrations are kept over a restart; nil: nowhere.
    package var registrarFile: String?
    /// How names are looked up; on workers.
    package var names = NameLookup.dns()
    /// Codecs offered and accepted where a line does not say otherwise, best first, of `MediaSettings.knownCodecs`. An offer that comes
    /// in has an order of its own, and that one counts.
    package var codecs: [String]
    /// Whether media is encrypted, where a line does not say otherwise.
    package var security = MediaSecurity.accepted
    /// Whether pauses are told by comfort noise, where a line does not say otherwise.
    package var comfortNoise = ComfortNoisePolicy.accepted
    /// An answered call on which nothing was heard for so long is ended; zero: never.
    package var rtpTimeout: Duration
    /// Whether calls send silence while nothing plays, so that the far side hears a stream; without, they send nothing then.
    package var sendsSilence = true
    /// Whose tones callers hear where a flow does not say: an ISO 3166 code, `xx` for the international plan.
    package var country: String
    /// The text of User-Agent.
    package var product: String
    /// The session timer that this end asks for, and the shortest that it takes (RFC 4028).
    package var sessionTimer: SessionTimer.Settings
    /// T1, T2 and T4 of RFC 3261 (table 4).
    package var timers: SIPTimers

    package init(
        listeners: [Listener], streams: Streams = Streams(), external: IPAddress? = nil,
        rtpPorts: ClosedRange<UInt16> = 20000...29999, limits: Admission.Limits = Admission.Limits(),
        lines: [LineSettings] = [], tls: TLSContext? = nil, codecs: [String] = ["pcmu", "pcma", "g722", "opus"],
        rtpTimeout: Duration = .seconds(60), country: String = "us", product: String = "Ringwright",
        sessionTimer: SessionTimer.Settings = SessionTimer.Settings(), timers: SIPTimers = SIPTimers()
    ) {
        self.listeners = listeners
        self.streams = streams
        self.external = external
        self.rtpPorts = rtpPorts
        self.limits = limits
        self.lines = lines
        self.tls = tls
        self.codecs = codecs
        self.rtpTimeout = rtpTimeout
        self.country = country
        self.product = product
        self.sessionTimer = sessionTimer
        self.timers = timers
    }
}

/// The base timers of RFC 3261 (table 4); the others are multiples of them.
package struct SIPTimers: Equatable, Sendable {
    /// The estimate of a round trip.
    package var t1: Duration
    /// The longest gap between retransmissions.
    package var t2: Duration
    /// How long a message stays in the network.
    package var t4: Duration

    package init(t1: Duration = .milliseconds(500), t2: Duration = .seconds(4), t4: Duration = .seconds(5)) {
        self.t1 = t1
        self.t2 = t2
        self.t4 = t4
    }
}

/// A SIP trunk or a registered line: where calls come from and go out through.
package struct LineSettings: Equatable, Sendable {
    /// What a line registers as.
    package struct Registration: Equatable, Sendable {
        /// The registrar's domain, with a port when it is not the usual one: `pbx.example.com`.
        package var domain: String
        /// Seconds that are asked for; the registrar decides.
        package var expires: Int
        /// `urn:uuid:…`: this device, the same after each restart (RFC 5626); empty: none.
        package var instance: String
        /// Asks whether the registrar takes the credentials, and binds nothing.
        package var isQuery = false
        /// The edge proxies that it registers by, each with a flow of its own (RFC 5626); empty: it goes to the line's server.
        package var edges: [Edge] = []

        /// An edge proxy: host name or address, and port (nil: as the line's server).
        package struct Edge: Equatable, Sendable {
            package var server: String
            package var port: UInt16?

            package init(server: String, port: UInt16? = nil) {
                self.server = server
                self.port = port
            }

            /// As it stands in a URI: with the port, where it has one.
            var name: String {
                (IPAddress(server)?.isV6 == true ? "[\(server)]" : server) + (port.map { ":\($0)" } ?? "")
            }
        }

        package init(domain: String, expires: Int = 3600, instance: String = "") {
            self.domain = domain
            self.expires = expires
            self.instance = instance
        }
    }

    package var name: String
    /// Host name or address, and port (nil: the transport's own, 5060 or for TLS 5061).
    package var server: String
    package var port: UInt16?
    package var transport: EngineSettings.Listener.Transport
    /// Of a WebSocket: its path on the server.
    package var path = "/"
    /// Networks whose calls belong to this line.
    package var from: [IPNetwork]
    package var username: String?
    /// Never printed.
    package var password: Secret?
    /// Calls that bring this line's name and password are its calls, wherever they come from; `from` is empty then.
    package var isKnownByDigest = false
    package var codecs: [String]?
    /// Whether media is encrypted; nil: as for every call.
    package var security: MediaSecurity?
    /// Whether pauses are told by comfort noise; nil: as for every call.
    package var comfortNoise: ComfortNoisePolicy?
    /// The From of calls that go out, when the flow does not say: a number or URI; `anonymous`: none is shown.
    package var callerID: String?
    /// How the network is told who calls, besides From; nil: it is not.
    package var identity: Identity?
    /// What the network asserts of callers is believed.
    package var isTrusted = false
    /// Its calls say whom they were for from their beginning (History-Info, RFC 7044), and ask to be told where they went.
    package var tellsHistory = false
    /// How many targets a call may be redirected to; nil: as many as the engine says.
    package var redirects: Int?
    /// nil: a trunk, which needs no registration.
    package var registration: Registration?
    /// Whether the server's domain chooses the transport (RFC 3263), because nobody named one.
    package var findsTransport = false
    /// How often the trunk's servers are asked whether they live; nil: never.
    package var monitor: Duration?

    package init(
        name: String, server: String, port: UInt16? = nil, transport: EngineSettings.Listener.Transport = .udp,
        from: [IPNetwork] = [], username: String? = nil, password: Secret? = nil, codecs: [String]? = nil,
        callerID: String? = nil,
        registration: Registration? = nil
    ) {
        self.name = name
        self.server = server
        self.port = port
        self.transport = transport
        self.from = from
        self.username = username
        self.password = password
        self.codecs = codecs
        self.callerID = callerID
        self.registration = registration
    }
}
