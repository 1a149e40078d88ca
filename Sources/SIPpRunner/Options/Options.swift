// What SIPp's command line says, read. Defaults are SIPp's.

package import Reactor

/// The options of a run.
package struct Options {
    package enum Transport: String, CaseIterable {
        case u1, un, ui, t1, tn, l1, ln, w1, wn, wl1, wln

        package var isUDP: Bool { name == "UDP" }
        package var isWebSocket: Bool { name == "WS" || name == "WSS" }
        package var isSecure: Bool { name == "TLS" || name == "WSS" }
        /// A socket for each call.
        package var isPerCall: Bool { rawValue.last != "1" }
        /// As Via has it (RFC 3261 section 18, RFC 7118 section 5.1).
        package var name: String {
            switch self {
            case .u1, .un, .ui: "UDP"
            case .t1, .tn: "TCP"
            case .l1, .ln: "TLS"
            case .w1, .wn: "WS"
            case .wl1, .wln: "WSS"
            }
        }
    }

    package var remote: String?
    package var scenarioFile: String?
    package var scenarioName: String?
    package var outOfCallFile: String?
    package var outOfCallName: String?
    /// Print an embedded scenario and end.
    package var dumpName: String?
    package var wantsHelp = false
    package var wantsVersion = false

    package var transport = Transport.u1
    package var localIP: String?
    package var localPort: Int?
    package var bindsLocal = false
    package var maxSockets = 50_000
    package var remoteSending: String?
    package var maxReconnect = 3
    package var closesOnReconnect = true
    package var reconnectSleep = 1000.0
    package var mediaIP: String?
    package var mediaPort = 6000
    package var echoes = false
    /// The payload type of an `rtp_stream` that names none.
    package var streamPayload: UInt8 = 8
    /// Shares of a pattern's packets that need not come back, 0 to 1.
    package var audioTolerance = 1.0
    package var videoTolerance = 1.0
    package var bufferSize: Int?
    package var tlsCertificate = "cacert.pem"
    package var tlsKey = "cakey.pem"
    package var tlsAuthorities: String?
    package var webSocketPath = "/"
    /// Whether the kernel cuts what leaves together.
    package var segmentation = DatagramSegmentation.auto

    package var inBackground = false
    package var keys: [String: String] = [:]
    package var globals: [(name: String, value: String)] = []
    package var dynamicStart = 10_000
    package var dynamicMax = 12_000
    package var dynamicStep = 4
    /// Milliseconds.
    package var sleep = 0.0

    package var calls = CallSettings()
    package var callID = "%u-%p@%s"
    package var deadCallWait = 33_000.0
    package var keepsSlashes = false
    package var authUser: String?
    package var authURI: String?

    package var injections: [String] = []
    package var indices: [(file: String, field: Int)] = []
    package var ipField = 0

    package var rate = 10.0
    /// Milliseconds.
    package var ratePeriod = 1000.0
    package var rateScale = 1.0
    package var rateIncrease = 0.0
    package var rateMax = 0.0
    package var rateInterval: Double?
    package var quitsAtRateMax = true
    package var limit: Int?
    package var most: Int?
    package var users: Int?

    /// Milliseconds.
    package var timeout: Double?
    package var timeoutIsError = false

    package var twin: String?
    package var master: String?
    package var slave: String?
    package var slaveConfiguration: String?

    package var maxReceiveLoops = 1000
    package var watchdogInterval = 400.0
    package var watchdogMinor = 500.0
    package var watchdogMajor = 3000.0
    package var watchdogMinorMost = 120
    package var watchdogMajorMost = 10
    package var watchdogReset = 600_000.0

    package var screenInterval = 1000.0
    package var tracesStatistics = false
    package var statisticsFile: String?
    package var statisticsDelimiter = ";"
    package var statisticsInterval = 60_000.0
    package var periodicTimers = false
    package var traces: Set<Trace> = []
    package var traceFiles: [Trace: String] = [:]
    package var appendsTo: Set<Trace> = []
    package var rttFrequency = 200
    package var json: String?

    /// The files that a run may write besides its statistics.
    package enum Trace: String, CaseIterable {
        case messages, shortMessages, counts, errors, errorCodes, callDebug, screens, rtt, logs

        /// The end of the standard file name, behind the scenario's name and the process number.
        package var ending: String {
            switch self {
            case .messages: "messages.log"
            case .shortMessages: "shortmessages.log"
            case .counts: "counts.csv"
            case .errors: "errors.log"
            case .errorCodes: "error_codes.csv"
            case .callDebug: "calldebug.log"
            case .screens: "screen.log"
            case .rtt: "rtt.csv"
            case .logs: "logs.log"
            }
        }
    }

    package init() {}
}

/// A command line that SIPp would not take: the message, without a place.
package struct OptionError: Error, Equatable, Sendable {
    package var message: String
}
