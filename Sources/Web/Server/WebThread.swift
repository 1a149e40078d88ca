// The web thread: libwebsockets' service loop with its listeners, the connections of its servers and of WebSocket clients.
package import Basics
import CWebSockets
import Glibc
import Reactor

/// One thread that serves HTTP and WebSockets on its listeners and holds the WebSockets of clients.
///
/// Everything of libwebsockets happens on that thread. Other threads hand over commands in a queue and wake it; what happens goes to
/// the loops by `EventLoop.execute`. The queue is bounded by what feeds it: one answer a request in flight, one notice a WebSocket.
///
/// `@unchecked Sendable`: what may be called from any thread is behind locks or constant; the rest is the thread's own.
package final class WebThread: @unchecked Sendable {
    enum Command {
        case answer(request: UInt64, HTTPResponse)
        case attend(UInt64)
        case connect(WebSocketAttempt)
        case stop(grace: Duration)
    }

    struct Mailbox {
        var commands: [Command] = []
        /// Set with the first command that waits.
        var hasCommands = Outcome<Void>()
        var nextID: UInt64 = 0
        var lookups = 0
        var isStopping = false
        var isOver = false
        var whenOver: [@Sendable () -> Void] = []
    }

    /// Where it listens, in the order of its listeners, with the ports that the system chose.
    package private(set) var addresses: [SocketAddress] = []
    let counters = Locked(WebCounters())
    let mailbox = Locked(Mailbox())
    private var thread: SystemThread?

    // MARK: The thread's own

    private(set) var context: OpaquePointer!
    var listeners: [OpaquePointer: ListenerSocket] = [:]
    var connections: [OpaquePointer: any WireRole] = [:]
    var requests: [UInt64: HTTPConnection] = [:]
    var links: [UInt64: WebSocketLink] = [:]
    var clientVhosts: [String: OpaquePointer] = [:]
    private var tables: [ProtocolTable] = []
    private var isOver = false
    /// Callbacks and commands so far.
    private var progress: UInt64 = 0
    private var idleTurns = 0
    private static let idleTurnsAtOnce = 64
    private static let rest = Duration.milliseconds(1)
    /// Room for what is written: `scratchSize` bytes after libwebsockets' own room.
    let scratch: UnsafeMutablePointer<UInt8>
    private let wakeTimer: UnsafeMutablePointer<lws_sorted_usec_list_t>
    private var stopAt: Int64?

    static let scratchSize = 32768
    /// How many contexts were made. libwebsockets has process-wide state (OpenSSL's, the log) that contexts touch when they come and go:
    /// one at a time, and only the first sets it up. Each set-up gives the library other places in OpenSSL's objects, and a
    /// handshake of an older context that is under way would not find its connection any more.
    private static let contexts = Locked(0)

    /// Binds, reads certificates, then starts the thread. Without listeners it serves clients only.
    package init(listeners: [WebListener] = []) throws(WebStartError) {
        scratch = .allocate(capacity: rw_lws_pre + Self.scratchSize)
        scratch.initialize(repeating: 0, count: rw_lws_pre + Self.scratchSize)
        wakeTimer = .allocate(capacity: 1)
        wakeTimer.initialize(to: lws_sorted_usec_list_t())
        WebLibraryLog.apply()
        context = Self.contexts.withLock { count in
            count += 1
            return makeContext(listeners, isFirst: count == 1)
        }
        guard context != nil else { throw .outOfResources }
        do throws(WebStartError) {
            let table = listenerTable(listeners)
            for listener in listeners { try open(listener, table) }
        } catch {
            destroyContext()
            throw error
        }
        thread = SystemThread(name: "web") { self.run() }
    }

    deinit {
        scratch.deallocate()
        wakeTimer.deallocate()
    }

    package var currentCounters: WebCounters { counters.withLock { $0 } }

    // MARK: Stopping

    /// Stops: no new connections; requests in flight get up to `grace` for their answers, WebSockets are closed with 1001; then
    /// everything is closed and the thread ends. `then` runs on the web thread at its end. From any thread; at once when it is over.
    package func stop(grace: Duration = .seconds(5), then: @escaping @Sendable () -> Void = {}) {
        let isOver = mailbox.withLock { mailbox in
            if !mailbox.isOver { mailbox.whenOver.append(then) }
            return mailbox.isOver
        }
        if isOver { then() } else { post(.stop(grace: grace)) }
    }

    /// Stops and waits for the thread's end. Not from a loop: its handlers could not answer any more, and not from the web thread.
    package func stopAndWait(grace: Duration = .seconds(5)) {
        stop(grace: grace)
        let thread = mailbox.withLock { _ in
            defer { self.thread = nil }
            return self.thread
        }
        thread?.join()
    }

    // MARK: Commands

    func post(_ command: Command) {
        mailbox.withLock { mailbox in
            guard !mailbox.isOver else { return }
            mailbox.commands.append(command)
            // Under the lock, so that the context is still there.
            guard mailbox.commands.count == 1 else { return }
            mailbox.hasCommands.set(())
            lws_cancel_service(context)
        }
    }

    func nextID() -> UInt64 {
        mailbox.withLock {
            $0.nextID += 1
            return $0.nextID
        }
    }

    private func run() {
        while !isOver {
            let before = progress
            if lws_service(context, 0) < 0 { break }
            perform()
            rest(hadNothingToDo: progress == before)
        }
        // The commands that came too late still get their ends.
        let rest = mailbox.withLock { mailbox in
            mailbox.isOver = true
            defer { mailbox.commands = [] }
            return mailbox.commands
        }
        for case .connect(let attempt) in rest { attempt.fail(.unavailable) }
        destroyContext()
        let whenOver = mailbox.withLock { mailbox in
            defer { mailbox.whenOver = [] }
            return mailbox.whenOver
        }
        whenOver.forEach { $0() }
    }

    /// libwebsockets does not wait while a connection has input that its state does not let it read, such as what a client sends
    /// behind a request whose answer it does not take. A peer that brings that about may not cost a whole processor: after a row of
    /// turns that did nothing, each one is followed by a wait for a command, of a millisecond at most.
    private func rest(hadNothingToDo: Bool) {
        guard hadNothingToDo else {
            idleTurns = 0
            return
        }
        idleTurns += 1
        guard idleTurns > Self.idleTurnsAtOnce else { return }
        _ = mailbox.withLock { $0.hasCommands }.wait(within: Self.rest)
    }

    private func perform() {
        let commands = mailbox.withLock { mailbox in
            if mailbox.commands.isEmpty { return mailbox.commands }
            mailbox.hasCommands = Outcome()
            defer { mailbox.commands.removeAll(keepingCapacity: true) }
            return mailbox.commands
        }
        progress &+= UInt64(commands.count)
        for command in commands {
            switch command {
            case .answer(let request, let response): requests[request]?.answer(response)
            case .attend(let id): links[id]?.attend()
            case .connect(let attempt): connect(attempt)
            case .stop(let grace): beginStop(grace)
            }
        }
        if let stopAt {
            if connections.isEmpty || monotonicMicroseconds() >= stopAt { isOver = true }
        }
    }

    private func beginStop(_ grace: Duration) {
        let end = monotonicMicroseconds() + max(0, grace.nanoseconds / 1000)
        guard stopAt == nil || end < stopAt! else { return }
        stopAt = end
        mailbox.withLock { $0.isStopping = true }
        for wsi in listeners.keys { close(wsi) }
        for (wsi, role) in connections where role.mayCloseForShutdown { close(wsi) }
        for link in links.values { link.socket.close(code: 1001, reason: "shutdown") }
        // Wakes the service when the grace is over.
        lws_sul_schedule(context, 0, wakeTimer, { _ in }, max(1, grace.nanoseconds / 1000))
    }

    var isStopping: Bool { stopAt != nil }

    /// Closes a connection in the next turn.
    func close(_ wsi: OpaquePointer) {
        lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, Int32(LWS_TO_KILL_ASYNC))
    }

    // MARK: The context

    private func makeContext(_ listeners: [WebListener], isFirst: Bool) -> OpaquePointer? {
        var info = lws_context_creation_info()
        info.port = rw_lws_no_listen
        info.options = isFirst ? rw_lws_options_tls : rw_lws_options_context
        info.gid = -1
        info.uid = -1
        info.user = Unmanaged.passUnretained(self).toOpaque()
        let connections = listeners.reduce(0) { $0 + $1.limits.connections }
        info.max_http_header_pool2 = UInt32(clamping: connections + 256)
        info.max_http_header_data2 = UInt32(clamping: (listeners.map(\.limits.headerBytes).max() ?? 8192))
        info.pt_serv_buf_size = 16384
        // The timers of the connections decide; these are the last resort.
        info.timeout_secs = 120
        info.connect_timeout_secs = 120
        return lws_create_context(&info)
    }

    private func destroyContext() {
        guard let context else { return }
        Self.contexts.withLock { _ in lws_context_destroy(context) }
        self.context = nil
        tables = []
    }

    /// The subprotocols of all listeners: libwebsockets takes a connection to another one's vhost when the Host that its client names, or
    /// none of ours, asks for that. Routes look at what was agreed on.
    private func listenerTable(_ listeners: [WebListener]) -> ProtocolTable {
        let subprotocols = Set(listeners.flatMap(\.webSockets).flatMap(\.subprotocols)).sorted()
        let table = ProtocolTable(["ringwright-plain"] + subprotocols)
        tables.append(table)
        return table
    }

    private func open(_ listener: WebListener, _ table: ProtocolTable) throws(WebStartError) {
        if let tls = listener.tls {
            for path in [tls.certificate, tls.key] where access(path, R_OK) != 0 {
                throw .unreadable(path: path, reason: String(cString: strerror(errno)))
            }
        }
        let (descriptor, address) = try ListeningSocket.open(listener.address)
        let pings = listener.webSockets.map { max(1, Int($0.limits.pingAfter.seconds)) }.min()
        let vhost = makeVhost(port: rw_lws_no_listen_server, table: table, pings: pings) {
            (info: inout lws_context_creation_info, withVhost: (inout lws_context_creation_info) -> OpaquePointer?) in
            info.keepalive_timeout = 120
            info.timeout_secs_ah_idle = 120
            guard let tls = listener.tls else { return withVhost(&info) }
            return tls.certificate.withCString { certificate in
                tls.key.withCString { key in
                    info.ssl_cert_filepath = certificate
                    info.ssl_private_key_filepath = key
                    info.alpn = ("http/1.1" as StaticString).kept
                    return withVhost(&info)
                }
            }
        }
        guard let vhost else {
            Glibc.close(descriptor)
            if let tls = listener.tls { throw .badCertificate(path: tls.certificate) }
            throw .outOfResources
        }
        guard let wsi = rw_lws_adopt_listener(vhost, descriptor, "ringwright-plain") else { throw .outOfResources }
        listeners[wsi] = ListenerSocket(thread: self, wsi: wsi, vhost: vhost, descriptor: descriptor, listener: listener)
        addresses.append(address)
    }

    /// A vhost for the servers of a listener, or for clients with one kind of TLS.
    func makeVhost(
        port: Int32, table: ProtocolTable, pings: Int?,
        _ configure: (inout lws_context_creation_info, (inout lws_context_creation_info) -> OpaquePointer?) -> OpaquePointer?
    ) -> OpaquePointer? {
        var info = lws_context_creation_info()
        info.port = port
        info.protocols = UnsafePointer(table.pointer)
        info.options = rw_lws_options_tls
        info.gid = -1
        info.uid = -1
        // Compared with each Host.
        info.vhost_name = ("ringwright" as StaticString).kept
        if let pings { info.retry_and_idle_policy = UnsafePointer(keptPolicy(seconds: pings)) }
        let context = context!
        return configure(&info) { lws_create_vhost(context, &$0) }
    }

    func keep(_ table: ProtocolTable) { tables.append(table) }

    /// One policy for each number of seconds, for as long as the process lives: vhosts and connections point at it.
    func keptPolicy(seconds: Int) -> UnsafeMutablePointer<lws_retry_bo_t> {
        PingPolicies.policy(seconds: seconds)
    }
}

/// The ping policies that libwebsockets points at.
/// `@unchecked Sendable` by way of `Locked`: the pointers' contents never change.
private enum PingPolicies {
    private struct Table: @unchecked Sendable {
        var known: [Int: UnsafeMutablePointer<lws_retry_bo_t>] = [:]
    }
    private static let table = Locked(Table())

    static func policy(seconds: Int) -> UnsafeMutablePointer<lws_retry_bo_t> {
        let seconds = min(max(1, seconds), 20000)
        return table.withLock { table in
            if let known = table.known[seconds] { return known }
            let policy = UnsafeMutablePointer<lws_retry_bo_t>.allocate(capacity: 1)
            policy.initialize(to: lws_retry_bo_t())
            policy.pointee.secs_since_valid_ping = UInt16(seconds)
            policy.pointee.secs_since_valid_hangup = UInt16(seconds * 2)
            table.known[seconds] = policy
            return policy
        }
    }
}

/// What a connection is at the moment: an HTTP connection, a WebSocket.
protocol WireRole: AnyObject {
    /// Handles a callback; not 0 closes the connection.
    func handle(_ reason: lws_callback_reasons, _ data: UnsafeMutableRawPointer?, _ length: Int) -> Int32
    /// The connection is gone.
    func ended()
    /// Idle: nothing is lost by closing it now.
    var mayCloseForShutdown: Bool { get }
}

/// The one callback of all vhosts.
func webCallback(
    _ wsi: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?, _ data: UnsafeMutableRawPointer?,
    _ length: Int
) -> Int32 {
    guard let wsi, let context = lws_get_context(wsi), let user = lws_context_user(context) else { return 0 }
    return Unmanaged<WebThread>.fromOpaque(user).takeUnretainedValue().handle(wsi, reason, data, length)
}

extension WebThread {
    fileprivate func handle(
        _ wsi: OpaquePointer, _ reason: lws_callback_reasons, _ data: UnsafeMutableRawPointer?, _ length: Int
    ) -> Int32 {
        progress &+= 1
        switch reason {
        case LWS_CALLBACK_PROTOCOL_INIT, LWS_CALLBACK_PROTOCOL_DESTROY, LWS_CALLBACK_EVENT_WAIT_CANCELLED,
            LWS_CALLBACK_WSI_CREATE:
            return 0
        case LWS_CALLBACK_RAW_RX_FILE:
            listeners[wsi]?.accept()
            return 0
        case LWS_CALLBACK_WSI_DESTROY:
            if listeners.removeValue(forKey: wsi) == nil { role(wsi)?.ended() }
            connections[wsi] = nil
            return 0
        case LWS_CALLBACK_TIMER:
            if let listener = listeners[wsi] {
                listener.resume()
                return 0
            }
            return role(wsi)?.handle(reason, data, length) ?? 0
        default:
            return role(wsi)?.handle(reason, data, length) ?? 0
        }
    }

    /// A client's first callbacks come before its connection is known here; its number rides along.
    private func role(_ wsi: OpaquePointer) -> (any WireRole)? {
        if let known = connections[wsi] { return known }
        guard let number = lws_get_opaque_user_data(wsi) else { return nil }
        let link = links[UInt64(UInt(bitPattern: number))]
        if let link {
            connections[wsi] = link
            link.wsi = wsi
        }
        return link
    }
}
