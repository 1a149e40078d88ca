// The options by name: what each takes, what it does, and what the help says.

import Reactor

/// One option of the command line.
struct OptionEntry {
    enum Action {
        case flag((inout Options) -> Void)
        case text((inout Options, String) -> Void)
        case pair((inout Options, String, String) throws(OptionError) -> Void)
        case whole((inout Options, Int) -> Void)
        case number((inout Options, Double) -> Void)
        /// Milliseconds; the unit of a bare number in milliseconds.
        case time(unit: Double, (inout Options, Double) -> Void)
        case checked((inout Options, String) throws(OptionError) -> Void)
        /// Taken and without effect here, with so many values: why.
        case ignored(values: Int)
        /// Refused: why.
        case refused(String)
    }

    var name: String
    var value: String
    var help: String
    var action: Action

    init(_ name: String, _ value: String, _ help: String, _ action: Action) {
        self.name = name
        self.value = value
        self.help = help
        self.action = action
    }
}

enum OptionTable {
    /// All options, in the order of the help.
    static var all: [OptionEntry] {
        scenario + network + behavior + calls + injection + media + rates + times + twins + watchdog + tracing
    }

    private static var scenario: [OptionEntry] {
        [
            .init("-sf", "FILE", "the scenario", .text { $0.scenarioFile = $1 }),
            .init(
                "-sn", "NAME", "an embedded scenario: \(EmbeddedScenarios.names) (default: uac)", .text { $0.scenarioName = $1 }),
            .init("-sd", "NAME", "prints an embedded scenario", .text { $0.dumpName = $1 }),
            .init("-oocsf", "FILE", "the scenario for messages that belong to no call", .text { $0.outOfCallFile = $1 }),
            .init("-oocsn", "NAME", "the same, embedded: ooc_default, ooc_dummy", .text { $0.outOfCallName = $1 })
        ]
    }

    private static var network: [OptionEntry] {
        [
            .init(
                "-t", "MODE",
                "u1 UDP, one socket (default); un UDP, a socket a call; ui UDP, an address a call; t1, tn TCP; l1, ln TLS; "
                    + "w1, wn WebSocket; wl1, wln WebSocket over TLS",
                .checked { options, text throws(OptionError) in
                    guard let transport = Options.Transport(rawValue: text) else {
                        let names = Options.Transport.allCases.map(\.rawValue).joined(separator: ", ")
                        throw OptionError(message: "-t \(text): there are \(names); SCTP and compression are not supported")
                    }
                    options.transport = transport
                }),
            .init("-i", "IP", "this end's address", .text { $0.localIP = $1 }),
            .init(
                "-p", "PORT", "this end's port (default: 5060, or a free one when that is taken)", .whole { $0.localPort = $1 }),
            .init(
                "-udp_segments", "WHEN",
                "the kernel cuts what leaves together in one length: auto (default; while nobody here captures packets), on, off",
                .checked { options, text throws(OptionError) in
                    guard let choice = DatagramSegmentation(rawValue: text) else {
                        throw OptionError(message: "-udp_segments \(text): auto, on or off")
                    }
                    options.segmentation = choice
                }),
            .init("-bind_local", "", "listens on the address of -i alone", .flag { $0.bindsLocal = true }),
            .init("-rsa", "HOST:PORT", "where everything is sent to", .text { $0.remoteSending = $1 }),
            .init("-max_socket", "N", "sockets at a time, at most (default: 50000)", .whole { $0.maxSockets = $1 }),
            .init(
                "-max_reconnect", "N", "new connections after a lost one, at most (default: 3)", .whole { $0.maxReconnect = $1 }),
            .init(
                "-reconnect_close", "BOOL", "calls end with their connection (default: true)",
                .text { $0.closesOnReconnect = $1 != "false" }),
            .init("-reconnect_sleep", "TIME", "before a new connection (default: 1s)", .time(unit: 1) { $0.reconnectSleep = $1 }),
            .init("-buff_size", "N", "octets of the sockets' buffers", .whole { $0.bufferSize = $1 }),
            .init("-tls_cert", "FILE", "the certificate (default: cacert.pem)", .text { $0.tlsCertificate = $1 }),
            .init("-tls_key", "FILE", "its key (default: cakey.pem)", .text { $0.tlsKey = $1 }),
            .init("-tls_ca", "FILE", "the authorities that are believed", .text { $0.tlsAuthorities = $1 }),
            .init(
                "-ws_path", "PATH", "the path of WebSockets, at both ends (default: /)",
                .checked { options, text throws(OptionError) in
                    guard text.hasPrefix("/"), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else {
                        throw OptionError(message: "-ws_path \(text): a path begins with / and has no blanks and no #")
                    }
                    options.webSocketPath = text
                }),
            .init("-multihome", "", "", .refused("SCTP is not supported")),
            .init("-heartbeat", "", "", .refused("SCTP is not supported")),
            .init("-plugin", "", "", .refused("plugins are not supported")),
            .init("-tdmmap", "", "", .refused("TDM circuits are not supported")),
            .init("-ci", "", "", .ignored(values: 1)), .init("-cp", "", "", .ignored(values: 1)),
            .init("-sendbuffer_warn", "", "", .ignored(values: 0)), .init("-skip_rlimit", "", "", .ignored(values: 0)),
            .init("-nostdin", "", "", .ignored(values: 0)), .init("-timer_resol", "", "", .ignored(values: 1)),
            .init("-max_sched_loops", "", "", .ignored(values: 1)), .init("-rtp_threadtasks", "", "", .ignored(values: 1)),
            .init("-rtp_buffsize", "", "", .ignored(values: 1)), .init("-mb", "", "", .ignored(values: 1)),
            .init("-ringbuffer_files", "", "", .ignored(values: 1)),
            .init("-ringbuffer_size", "", "", .ignored(values: 1)), .init("-max_log_size", "", "", .ignored(values: 1)),
            .init("-trace_screen_format", "", "", .ignored(values: 1))
        ]
    }

    private static var behavior: [OptionEntry] {
        [
            .init("-h", "", "this text", .flag { $0.wantsHelp = true }),
            .init("--help", "", "this text", .flag { $0.wantsHelp = true }),
            .init("-v", "", "the version", .flag { $0.wantsVersion = true }),
            .init("-bg", "", "goes on in the background and ends with 99 in the foreground", .flag { $0.inBackground = true }),
            .init("-sleep", "TIME", "before the start", .time(unit: 1000) { $0.sleep = $1 }),
            .init("-lost", "PERCENT", "messages lost on purpose", .number { $0.calls.loss = $1 }),
            .init(
                "-key", "NAME VALUE", "a keyword of one's own",
                .pair { options, name, value throws(OptionError) in options.keys[name] = value }),
            .init(
                "-set", "NAME VALUE", "a global variable",
                .pair { options, name, value throws(OptionError) in options.globals.append((name, value)) }),
            .init("-dynamicStart", "N", "the first [dynamic_id] (default: 10000)", .whole { $0.dynamicStart = $1 }),
            .init("-dynamicMax", "N", "the last one (default: 12000)", .whole { $0.dynamicMax = $1 }),
            .init("-dynamicStep", "N", "from one to the next (default: 4)", .whole { $0.dynamicStep = $1 })
        ]
    }

    private static var calls: [OptionEntry] {
        [
            .init("-aa", "", "answers INFO, NOTIFY, OPTIONS and UPDATE with 200", .flag { $0.calls.autoAnswers = true }),
            .init("-base_cseq", "N", "where [cseq] begins (default: 0)", .whole { $0.calls.baseCSeq = $1 }),
            .init(
                "-cid_str", "TEXT", "Call-IDs: %u the call's number, %p the process, %s the address (default: %u-%p@%s)",
                .text { $0.callID = $1 }),
            .init("-d", "TIME", "the length of a pause that has none (default: 0)", .time(unit: 1) { $0.calls.pause = $1 }),
            .init(
                "-deadcall_wait", "TIME", "for how long the Call-IDs of calls that are over are known (default: 33s)",
                .time(unit: 1) { $0.deadCallWait = $1 }),
            .init("-auth_uri", "URI", "the digest's URI (default: the remote address)", .text { $0.authURI = $1 }),
            .init("-au", "USER", "who authenticates (default: -s)", .text { $0.authUser = $1 }),
            .init("-ap", "PASSWORD", "the password (default: password)", .text { $0.calls.authPassword = $1 }),
            .init("-s", "USER", "[service] (default: service)", .text { $0.calls.user = $1 }),
            .init(
                "-default_behaviors", "LIST", "all, none, bye, abortunexp, pingreply; a minus takes one away",
                .checked { options, text throws(OptionError) in options.calls.behaviors = try OptionReader.behaviors(text) }),
            .init("-nd", "", "no default behaviours", .flag { $0.calls.behaviors = [] }),
            .init("-pause_msg_ign", "", "overlooks what comes in a pause", .flag { $0.calls.ignoresMessagesInPauses = true }),
            .init("-callid_slash_ign", "", "Call-IDs are taken as they are, slashes and all", .flag { $0.keepsSlashes = true }),
            .init("-nr", "", "no retransmissions", .flag { $0.calls.retransmits = false }),
            .init("-max_retrans", "N", "retransmissions, at most", .whole { $0.calls.maxRetransmissions = $1 }),
            .init("-max_invite_retrans", "N", "of INVITE (default: 5)", .whole { $0.calls.maxInvite = $1 }),
            .init("-max_non_invite_retrans", "N", "of others (default: 9)", .whole { $0.calls.maxNonInvite = $1 }),
            .init(
                "-rtcheck", "full|loose", "how repetitions are told (default: full)",
                .checked { options, text throws(OptionError) in
                    guard text == "full" || text == "loose" else {
                        throw OptionError(message: "-rtcheck is full or loose, not \(text)")
                    }
                    options.calls.detectsLoosely = text == "loose"
                }),
            .init("-T2", "TIME", "the longest time between retransmissions (default: 4s)", .time(unit: 1) { $0.calls.t2 = $1 })
        ]
    }

    private static var injection: [OptionEntry] {
        [
            .init("-inf", "FILE", "lines of fields for calls (may be repeated)", .text { $0.injections.append($1) }),
            .init(
                "-infindex", "FILE FIELD", "looks lines up by a field",
                .pair { options, file, field throws(OptionError) in
                    guard let number = Int(field), number >= 0 else {
                        throw OptionError(message: "-infindex: \"\(field)\" is no number of a field")
                    }
                    options.indices.append((file, number))
                }),
            .init("-ip_field", "N", "the field with the address, for -t ui (default: 0)", .whole { $0.ipField = $1 })
        ]
    }

    private static var media: [OptionEntry] {
        [
            .init("-mi", "IP", "the address of media (default: -i)", .text { $0.mediaIP = $1 }),
            .init("-mp", "PORT", "the port of media (default: 6000)", .whole { $0.mediaPort = $1 }),
            .init("-min_rtp_port", "PORT", "the same", .whole { $0.mediaPort = $1 }),
            .init("-max_rtp_port", "", "", .ignored(values: 1)),
            .init("-rtp_echo", "", "sends RTP back that comes to -mp and the port two above", .flag { $0.echoes = true }),
            .init(
                "-rtp_payload", "N", "the payload type of rtp_stream without one (default: 8)",
                .checked { options, text throws(OptionError) in
                    guard let type = UInt8(text), type < 128 else {
                        throw OptionError(message: "-rtp_payload \(text): a payload type is 0 to 127")
                    }
                    options.streamPayload = type
                }),
            .init(
                "-audiotolerance", "SHARE", "of an audio pattern's packets need not come back, 0 to 1 (default: 1)",
                .number { $0.audioTolerance = $1 }),
            .init("-videotolerance", "SHARE", "the same of a video pattern's", .number { $0.videoTolerance = $1 }),
            .init("-rtpcheck_debug", "", "", .ignored(values: 0)), .init("-srtpcheck_debug", "", "", .ignored(values: 0))
        ]
    }

    private static var rates: [OptionEntry] {
        [
            .init("-r", "N", "calls each -rp (default: 10)", .number { $0.rate = $1 }),
            .init("-rp", "TIME", "the period of -r (default: 1s)", .time(unit: 1) { $0.ratePeriod = $1 }),
            .init("-rate_scale", "N", "what the keys + - * / change by", .number { $0.rateScale = $1 }),
            .init("-rate_increase", "N", "more calls each -rate_interval", .number { $0.rateIncrease = $1 }),
            .init("-rate_max", "N", "ends when the rate has come this far", .number { $0.rateMax = $1 }),
            .init(
                "-rate_interval", "TIME", "between two steps of the rate (default: -fd)",
                .time(unit: 1000) { $0.rateInterval = $1 }),
            .init("-no_rate_quit", "", "goes on at -rate_max", .flag { $0.quitsAtRateMax = false }),
            .init("-l", "N", "calls at a time, at most (default: 3 * rate * duration)", .whole { $0.limit = $1 }),
            .init("-m", "N", "ends after so many calls", .whole { $0.most = $1 }),
            .init("-users", "N", "so many calls at a time, instead of a rate", .whole { $0.users = $1 })
        ]
    }

    private static var times: [OptionEntry] {
        [
            .init("-recv_timeout", "TIME", "how long a message is waited for", .time(unit: 1) { $0.calls.receiveTimeout = $1 }),
            .init(
                "-send_timeout", "TIME", "how long a message may wait to be sent", .time(unit: 1) { $0.calls.sendTimeout = $1 }),
            .init("-timeout", "TIME", "no more calls after this time", .time(unit: 1000) { $0.timeout = $1 }),
            .init("-timeout_error", "", "-timeout is an error", .flag { $0.timeoutIsError = true })
        ]
    }

    private static var twins: [OptionEntry] {
        [
            .init("-3pcc", "HOST:PORT", "the twin of third party call control", .text { $0.twin = $1 }),
            .init("-master", "NAME", "the master's name (extended 3PCC)", .text { $0.master = $1 }),
            .init("-slave", "NAME", "this slave's name", .text { $0.slave = $1 }),
            .init("-slave_cfg", "FILE", "names and addresses of all: NAME;HOST:PORT", .text { $0.slaveConfiguration = $1 })
        ]
    }

    private static var watchdog: [OptionEntry] {
        [
            .init("-max_recv_loops", "N", "messages read at a time, at most", .whole { $0.maxReceiveLoops = $1 }),
            .init("-watchdog_interval", "TIME", "between two looks (default: 400)", .time(unit: 1) { $0.watchdogInterval = $1 }),
            .init(
                "-watchdog_reset", "TIME", "after which the counts begin anew (default: 10m)",
                .time(unit: 1) { $0.watchdogReset = $1 }),
            .init("-watchdog_minor_threshold", "TIME", "(default: 500)", .time(unit: 1) { $0.watchdogMinor = $1 }),
            .init("-watchdog_major_threshold", "TIME", "(default: 3000)", .time(unit: 1) { $0.watchdogMajor = $1 }),
            .init("-watchdog_major_maxtriggers", "N", "(default: 10)", .whole { $0.watchdogMajorMost = $1 }),
            .init("-watchdog_minor_maxtriggers", "N", "(default: 120)", .whole { $0.watchdogMinorMost = $1 })
        ]
    }

    private static var tracing: [OptionEntry] {
        [
            .init("-f", "TIME", "between two lines on a terminal (default: 1s)", .time(unit: 1000) { $0.screenInterval = $1 }),
            .init("-trace_stat", "", "writes statistics to SCENARIO_PID_.csv", .flag { $0.tracesStatistics = true }),
            .init(
                "-stf", "FILE", "writes them to this file",
                .text {
                    $0.statisticsFile = $1; $0.tracesStatistics = true
                }),
            .init("-stat_delimiter", "TEXT", "between two columns (default: ;)", .text { $0.statisticsDelimiter = $1 }),
            .init("-fd", "TIME", "between two rows (default: 60s)", .time(unit: 1000) { $0.statisticsInterval = $1 }),
            .init("-periodic_rtd", "", "repartitions begin anew with each row", .flag { $0.periodicTimers = true }),
            .init("-rfc3339", "", "times as RFC 3339 has them", .flag { $0.calls.rfc3339 = true }),
            .init("-rtt_freq", "N", "response times written at a time (default: 200)", .whole { $0.rttFrequency = $1 }),
            .init("-json", "FILE", "a summary as JSON, with percentiles", .text { $0.json = $1 }),
            .init("--json", "FILE", "the same", .text { $0.json = $1 })
        ] + files
    }

    /// For each file its switch, its name and whether it is begun anew.
    private static var files: [OptionEntry] {
        [
            (Options.Trace.messages, "-trace_msg", "-message_file", "-message_overwrite", "messages"),
            (.shortMessages, "-trace_shortmsg", "-shortmessage_file", "-shortmessage_overwrite", "a line for each message"),
            (.errors, "-trace_err", "-error_file", "-error_overwrite", "errors and unexpected messages"),
            (.logs, "-trace_logs", "-log_file", "-log_overwrite", "what <log> says"),
            (.callDebug, "-trace_calldebug", "-calldebug_file", "-calldebug_overwrite", "the story of calls that failed"),
            (.screens, "-trace_screen", "-screen_file", "-screen_overwrite", "the summary"),
            (.counts, "-trace_counts", "", "", "counts of each step"), (.rtt, "-trace_rtt", "", "", "response times"),
            (.errorCodes, "-trace_error_codes", "", "", "statuses that came unexpectedly")
        ].flatMap { trace, flag, file, overwrite, help -> [OptionEntry] in
            var entries = [OptionEntry(flag, "", "writes \(help)", .flag { $0.traces.insert(trace) })]
            guard !file.isEmpty else { return entries }
            entries.append(
                OptionEntry(
                    file, "FILE", "to this file",
                    .text {
                        $0.traceFiles[trace] = $1; $0.traces.insert(trace)
                    }))
            entries.append(
                OptionEntry(
                    overwrite, "BOOL", "false: behind what is there", .text { if $1 == "false" { $0.appendsTo.insert(trace) } }))
            return entries
        }
    }
}
