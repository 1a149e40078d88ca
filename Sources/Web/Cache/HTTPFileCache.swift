// Files at URLs, kept in a folder and asked about again as RFC 9111 wants it. Many that ask for one URL wait for one fetch. When the
// server is down, the copy that is there is used. Nothing of this blocks the one who asks: disk and network have threads of their own.
package import Basics
import Glibc
package import Reactor

/// The limits of a fetch.
package struct HTTPFileLimits: Equatable, Sendable {
    /// From the question to the last octet, over all redirects.
    package var time = Duration.seconds(10)
    package var octets = 50 << 20
    /// Of all files that are being fetched.
    package var octetsTogether = 200 << 20
    package var redirects = 5
    /// After a failure the copy that is there is used for so long without asking.
    package var rest = Duration.seconds(30)

    package init() {}
}

/// What became of files that were asked for.
package struct HTTPFileCounters: Equatable, Sendable {
    /// Given without asking a server.
    package var kept: UInt64 = 0
    package var fetched: UInt64 = 0
    /// The server said that the copy is still good.
    package var confirmed: UInt64 = 0
    /// The copy was used because the server failed, or had failed a moment ago.
    package var stale: UInt64 = 0
    package var failed: UInt64 = 0

    package init() {}
}

package final class HTTPFileCache: Sendable {
    /// The path of a file, or why there is none, in words for a log: without what may be secret in a URL.
    package typealias Answer = @Sendable (Result<String, HTTPFileFailure>) -> Void

    private struct Known {
        let response: StoredResponse
        let path: String
        let freshUntil: Double
        /// When the file was seen last.
        var seenAt: Double
        /// The server failed; until then it is left alone.
        var restsUntil: Double

        init(response: StoredResponse, path: String, seenAt: Double, restsUntil: Double = 0) {
            self.response = response
            self.path = path
            freshUntil = response.freshUntil
            self.seenAt = seenAt
            self.restsUntil = restsUntil
        }
    }

    private struct State {
        var known: [String: Known] = [:]
        var waiting: [String: [Answer]] = [:]
        var counters = HTTPFileCounters()
    }

    private let client: HTTPClient
    let files: FileCache
    private let workers: WorkerPool
    let limits: HTTPFileLimits
    private let room: BodyRoom
    private let now: @Sendable () -> Double
    private let refuses: @Sendable (_ url: String) -> String?
    private let authorization: @Sendable (_ url: String) -> Secret?
    private let judge: @Sendable (_ path: String, _ mayBeCut: Bool) -> String?
    private let onStale: @Sendable (_ text: String) -> Void
    private let state = Locked(State())
    private static let mostKnown = 10_000

    /// - Parameters:
    ///   - workers: for what blocks.
    ///   - now: seconds since 1970.
    ///   - refuses: asked about each URL, those of redirects too: why it must not be fetched, or nil.
    ///   - authorization: asked about each URL of the host that was asked first, those of redirects too: the value of Authorization.
    ///   - judge: looks at a file that was fetched; why it is of no use, or nil. `mayBeCut`: nothing in the response tells whether it
    ///     came whole. On a worker.
    ///   - onStale: hears that a copy is used in place of what could not be fetched, and why. Once a failure, on any thread.
    package init(
        client: HTTPClient, files: FileCache, workers: WorkerPool, limits: HTTPFileLimits = HTTPFileLimits(),
        now: @escaping @Sendable () -> Double = { Double(time(nil)) },
        refuses: @escaping @Sendable (String) -> String? = { _ in nil },
        authorization: @escaping @Sendable (String) -> Secret? = { _ in nil },
        judge: @escaping @Sendable (_ path: String, _ mayBeCut: Bool) -> String? = { _, _ in nil },
        onStale: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.client = client
        self.files = files
        self.workers = workers
        self.limits = limits
        room = BodyRoom(octets: limits.octetsTogether)
        self.now = now
        self.refuses = refuses
        self.authorization = authorization
        self.judge = judge
        self.onStale = onStale
    }

    package var counters: HTTPFileCounters { state.withLock { $0.counters } }

    /// Gets the file at `url` (http or https): a path that is good for a minute at least. `then` runs once, at once or on some thread.
    /// - Parameter shown: what texts call it; they name no other part of a URL than a host.
    package func file(at url: String, shown: String, then: @escaping Answer) {
        let key = String(url.prefix { $0 != "#" })
        guard WebAddress.isFetched(key) else { return then(.failure(HTTPFileFailure(shown, "only http and https are fetched"))) }
        if let reason = refuses(key) { return then(.failure(HTTPFileFailure(shown, reason))) }
        let now = now()
        enum Way { case kept(String), waits, begins }
        let way = state.withLock { state -> Way in
            // The file itself is looked at once a second at most.
            if let known = state.known[key], now < known.freshUntil, now - known.seenAt < 1 {
                state.counters.kept += 1
                return .kept(known.path)
            }
            guard state.waiting[key] == nil else {
                state.waiting[key]?.append(then)
                return .waits
            }
            state.waiting[key] = [then]
            return .begins
        }
        switch way {
        case .kept(let path): then(.success(path))
        case .waits: break
        case .begins: work(key, shown) { self.look(key, shown) }
        }
    }

    private func work(_ key: String, _ shown: String, _ body: @escaping @Sendable () -> Void) {
        do throws(WorkRefused) {
            try workers.submit(body)
        } catch {
            finish(key, .failure(HTTPFileFailure(shown, "too many files are being fetched")))
        }
    }

    private func finish(
        _ key: String, _ result: Result<String, HTTPFileFailure>, _ count: WritableKeyPath<HTTPFileCounters, UInt64>
    ) {
        let waiting = state.withLock { state in
            state.counters[keyPath: count] += 1
            return state.waiting.removeValue(forKey: key) ?? []
        }
        for answer in waiting { answer(result) }
    }

    private func finish(_ key: String, _ failure: Result<String, HTTPFileFailure>) { finish(key, failure, \.failed) }

    // MARK: On a worker

    private func look(_ key: String, _ shown: String) {
        let now = now()
        var fetch = HTTPFileFetch(
            key: key, shown: shown, url: key, deadline: monotonicMicroseconds() + limits.time.nanoseconds / 1000)
        guard var known = state.withLock({ $0.known[key] }) ?? read(key), isThere(known) else {
            state.withLock { $0.known[key] = nil }
            return ask(fetch)
        }
        known.seenAt = now
        remember(known, for: key)
        if now < known.freshUntil { return finish(key, .success(known.path), \.kept) }
        if now < known.restsUntil, known.response.mayBeStale(at: now) { return finish(key, .success(known.path), \.stale) }
        fetch.response = known.response
        ask(fetch)
    }

    private func ask(_ fetch: HTTPFileFetch) {
        var call = HTTPCall("GET", fetch.url, headers: ["Accept": "audio/*, application/octet-stream;q=0.8, */*;q=0.5"])
        // What was kept from another place says nothing about this one.
        if let response = fetch.response, response.source == fetch.source { call.headers.all += response.conditions }
        // Whoever redirects elsewhere is not given what others are told (RFC 9110 section 15.4).
        if WebAddress.haveSameOrigin(fetch.key, fetch.url), let value = authorization(fetch.url) {
            call.headers["Authorization"] = value.revealed
        }
        call.timeout = .microseconds(max(0, fetch.deadline - monotonicMicroseconds()))
        call.connectTimeout = min(call.connectTimeout, call.timeout)
        call.maximumBytes = limits.octets
        let share = BodyShare(of: room)
        call.share = share
        var fetch = fetch
        fetch.requestedAt = now()
        let asked = fetch
        client.start(call) { result in
            self.work(asked.key, asked.shown) { withExtendedLifetime(share) { self.took(result, asked) } }
        }
    }

    private func took(_ result: Result<HTTPReply, HTTPFailure>, _ fetch: HTTPFileFetch) {
        let reply: HTTPReply
        switch result {
        case .failure(let failure):
            let isLate = failure.reason == .timeout
            return fail(fetch, isLate ? "the server took too long (prompts.timeout)" : failure.words)
        case .success(let success): reply = success
        }
        switch reply.status {
        case 200: store(reply, fetch)
        case 304:
            guard var response = fetch.response, response.source == fetch.source else {
                return fail(fetch, "the server answered 304")
            }
            response.freshen(
                reply.headers, requestedAt: fetch.requestedAt, receivedAt: now(), redirectLifetime: fetch.redirectLifetime)
            keep(response, fetch.key, files.path(of: fetch.key, ending: fetch.ending))
            finish(fetch.key, .success(files.path(of: fetch.key, ending: fetch.ending)), \.confirmed)
        case 301, 302, 303, 307, 308:
            guard let target = reply.redirect else { return fail(fetch, "the server answered \(reply.status) without a target") }
            follow(target, reply, fetch)
        case 408, 429, 500...: fail(fetch, "the server answered \(reply.status)")
        default:
            // It says that there is none: a copy is of no use either.
            forget(fetch.key)
            let mend = reply.status == 401 || reply.status == 403 ? " (prompts.credentials)" : ""
            finish(fetch.key, .failure(HTTPFileFailure(fetch.shown, "the server answered \(reply.status)\(mend)")))
        }
    }

    private func follow(_ target: String, _ reply: HTTPReply, _ fetch: HTTPFileFetch) {
        let target = String(target.prefix { $0 != "#" })
        guard fetch.redirects < limits.redirects else { return fail(fetch, "more than \(limits.redirects) redirects") }
        guard WebAddress.isFetched(target) else { return fail(fetch, "it is redirected to what is neither http nor https") }
        if let reason = refuses(target) {
            let host = target.drop { $0 != "/" }.dropFirst(2).prefix { !"/?".contains($0) }
            return fail(fetch, "it is redirected to \(host.contains("@") ? "a URL with a user name" : host): \(reason)")
        }
        let response = StoredResponse(source: fetch.source, reply.headers, requestedAt: fetch.requestedAt, receivedAt: now())
        var next = fetch
        next.url = target
        next.redirects += 1
        // RFC 9110 section 15.4: 301 and 308 hold until they say otherwise, the others only as long as they say.
        let isLasting = (reply.status == 301 || reply.status == 308) && response.saysNothing
        if !isLasting {
            next.redirectLifetime = min(fetch.redirectLifetime ?? .infinity, max(0, response.freshUntil - now()))
        }
        ask(next)
    }

    private func store(_ reply: HTTPReply, _ fetch: HTTPFileFetch) {
        guard !reply.body.isEmpty else { return fail(fetch, "the server sent nothing") }
        let path = files.path(of: fetch.key, ending: fetch.ending)
        do throws(SystemError) {
            if let reason = try files.keep(reply.body, at: path, unless: { judge($0, !reply.isEndTold) }) {
                let type = reply.headers["content-type"].map { " (\($0))" } ?? ""
                return fail(fetch, "what the server sent\(type) \(reason)")
            }
        } catch {
            return fail(fetch, "it cannot be kept: \(error); look at cache.folder")
        }
        var response = StoredResponse(
            source: fetch.source, reply.headers, requestedAt: fetch.requestedAt, receivedAt: now(),
            redirectLifetime: fetch.redirectLifetime)
        if response.isForbidden {
            forget(fetch.key)
        } else if let state = FileState(path) {
            (response.size, response.changed) = (state.size, state.changed)
            keep(response, fetch.key, path)
        }
        finish(fetch.key, .success(path), \.fetched)
    }

    /// The copy is used where there is one that may be.
    private func fail(_ fetch: HTTPFileFetch, _ words: String) {
        let failure = HTTPFileFailure(fetch.shown, words)
        let now = now()
        guard let response = fetch.response, response.mayBeStale(at: now) else { return finish(fetch.key, .failure(failure)) }
        let path = files.path(of: fetch.key, ending: fetch.ending)
        remember(
            Known(response: response, path: path, seenAt: now, restsUntil: now + Double(limits.rest.components.seconds)),
            for: fetch.key)
        onStale("\(failure.text); a copy from before is used")
        finish(fetch.key, .success(path), \.stale)
    }

    // MARK: What is kept

    private func remember(_ known: Known, for key: String) {
        state.withLock { state in
            if state.known.count >= Self.mostKnown { state.known = [:] }
            state.known[key] = known
        }
    }

    private func keep(_ response: StoredResponse, _ key: String, _ path: String) {
        remember(Known(response: response, path: path, seenAt: now()), for: key)
        // Without its note it is fetched again by the next process, and that is all.
        _ = try? files.keep(response.note, at: files.path(of: key, ending: ".note"))
    }

    private func forget(_ key: String) {
        state.withLock { $0.known[key] = nil }
        files.remove(files.path(of: key, ending: ".note"))
    }

    private func read(_ key: String) -> Known? {
        let note = files.path(of: key, ending: ".note")
        guard files.use(note), let octets = try? AtomicFile.read(note), let response = StoredResponse(note: octets) else {
            return nil
        }
        return Known(response: response, path: files.path(of: key, ending: HTTPFileFetch.ending(of: key)), seenAt: 0)
    }

    /// The file is the one that the response brought.
    private func isThere(_ known: Known) -> Bool {
        guard files.use(known.path), let state = FileState(known.path) else { return false }
        return state.size == known.response.size && state.changed == known.response.changed
    }
}

/// Why a file could not be fetched.
package struct HTTPFileFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// Begins with its name.
    package let text: String
    package var description: String { text }

    init(_ shown: String, _ words: String) { text = "\(shown): \(words)" }
}

/// A fetch under way.
private struct HTTPFileFetch: Sendable {
    let key: String
    let shown: String
    /// Where it is asked for now.
    var url: String
    /// Microseconds of the monotonic clock.
    let deadline: Int64
    /// The copy that is there.
    var response: StoredResponse?
    var redirects = 0
    var redirectLifetime: Double?
    var requestedAt = 0.0

    /// `StoredResponse.source`.
    var source: String { FileCache.name(of: url) }
    var ending: String { Self.ending(of: key) }

    /// The ending of the URL's path, where it is one of a few letters and digits: for formats that show by their name alone.
    static func ending(of url: String) -> String {
        let path = url.prefix { $0 != "?" }
        guard let dot = path.lastIndex(of: "."), case let ending = path[dot...], (2...6).contains(ending.utf8.count),
            ending.dropFirst().allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
        else { return "" }
        return ending.lowercased() == ".note" ? "" : ending.lowercased()
    }
}

/// What tells one state of a file from another.
private struct FileState {
    var size: Int64
    var changed: Int64

    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        size = Int64(status.st_size)
        changed = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
    }
}
