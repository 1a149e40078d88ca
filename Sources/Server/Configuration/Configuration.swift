// What a server is told: `ringwright.yaml` as plain values, with the defaults of a server without a file. docs/configuration.md
// describes each word. How the file is read is in ConfigurationReader.

package import Basics
package import CallEngine
package import Reactor
package import SDP
package import SIP
package import Web

/// The configuration of a server.
package struct Configuration: Sendable {
    package var sip = SIP()
    package var rtp = RTP()
    package var limits = Admission.Limits()
    /// The trunks, in the file's order.
    package var lines: [LineSettings] = []
    /// nil: nobody logs in here.
    package var registrar: Registrar?
    /// The first that matches wins.
    package var routes: [Route] = []
    package var allow = Allowance()
    /// Names of environment variables that expressions may read, with their values; unset ones are left out.
    package var environment: [String: String] = [:]
    /// All names that `env` lists, set or not.
    package var environmentNames: [String] = []
    /// The folder that everything recorded lies in.
    package var recordings = "recordings"
    /// Of prompts by URL.
    package var prompts = HTTPFileLimits()
    /// The first that is meant for a URL counts.
    package var promptCredentials: [PromptCredential] = []
    package var cache = Cache(folder: "cache")
    package var speech = SpeechSettings()
    package var control = Control()
    package var log = Log()
    /// nil: no call is traced.
    package var trace: Trace?

    package init() {}

    package struct SIP: Sendable {
        package var listen: [EngineSettings.Listener] = [
            .init(.udp, SocketAddress(ip: .any4, port: 5060)), .init(.tcp, SocketAddress(ip: .any4, port: 5060))
        ]
        /// The address in SDP, Via and Contact; nil: the local one on which the peer is reached.
        package var external: IPAddress?
        /// The session timer that calls of this end ask for (RFC 4028).
        package var sessionTimer = SessionTimer.Settings()
        package var streams = EngineSettings.Streams()
        package var tls = TLSSettings()
        /// How many targets a call may be redirected to.
        package var redirects = 5
        /// Whether the kernel cuts what leaves together for one peer.
        package var segmentation = DatagramSegmentation.auto
    }

    package struct RTP: Sendable {
        package var ports: ClosedRange<UInt16> = 20000...29999
        /// Zero: off.
        package var timeout = Duration.seconds(60)
        package var security = MediaSecurity.accepted
        package var comfortNoise = ComfortNoisePolicy.accepted
    }

    /// Phones that log in here.
    package struct Registrar: Equatable, Sendable {
        package var settings: RegistrarSettings
        /// Where registrations are kept over a restart; nil: nowhere.
        package var file: String?

        package init(settings: RegistrarSettings, file: String?) {
            self.settings = settings
            self.file = file
        }
    }

    /// Where what is fetched is kept.
    package struct Cache: Equatable, Sendable {
        package var folder: String
        /// The most octets.
        package var size = 500 << 20

        package init(folder: String) { self.folder = folder }
    }

    /// Health and metrics over HTTP.
    package struct Control: Sendable {
        /// nil: off.
        package var listen: SocketAddress? = SocketAddress(ip: .loopback4, port: 8080)
    }

    package struct Log: Equatable, Sendable {
        package enum Level: String, CaseIterable, Sendable, Comparable {
            case debug
            case info
            case warning
            case error

            package static func < (left: Level, right: Level) -> Bool {
                allCases.firstIndex(of: left)! < allCases.firstIndex(of: right)!
            }
        }

        package enum Format: String, CaseIterable, Sendable {
            case text
            case json
        }

        package var level = Level.info
        package var format = Format.text
    }

    /// Which calls are written as captures and ladders, and how much of them.
    package struct Trace: Equatable, Sendable {
        package var folder: String
        package var line: String?
        package var from: Route.Number?
        package var to: Route.Number?
        package var sample = 1
        package var calls = 100
        package var kept = 200
        /// Octets a call.
        package var size = 10 << 20
        package var hasMedia = true
        package var showsKeys = false

        package init(folder: String) { self.folder = folder }

        package var settings: TraceSettings {
            TraceSettings(
                folder: folder, sample: sample, calls: calls, kept: kept, size: size, hasMedia: hasMedia, showsKeys: showsKeys
            ) { [self] call in
                (line ?? call.line) == call.line && from?.matches(call.from) != false && to?.matches(call.to) != false
            }
        }
    }

    package func line(named name: String) -> LineSettings? { lines.first { $0.name == name } }

    /// The first route for a call to `number` (the user part of the Request-URI) that came over `line` (empty: over none).
    package func route(to number: String, line: String) -> Route? {
        routes.first { $0.matches(number: number, line: line) }
    }

    /// What the engine needs to know of it.
    package var engineSettings: EngineSettings {
        var settings = EngineSettings(
            listeners: sip.listen, streams: sip.streams, external: sip.external, rtpPorts: rtp.ports, limits: limits,
            lines: lines,
            rtpTimeout: rtp.timeout, sessionTimer: sip.sessionTimer)
        settings.security = rtp.security
        settings.comfortNoise = rtp.comfortNoise
        settings.redirects.limit = sip.redirects
        settings.segmentation = sip.segmentation
        settings.registrar = registrar?.settings
        settings.registrarFile = registrar?.file
        return settings
    }
}
