// Files at URLs against our own server, with a clock that the test turns.

import Basics
import Foundation
import Reactor
import TestKit
import Testing
import Web

/// A server, a client, and a cache in a folder of its own.
private final class CacheWorld {
    let thread: LoopThread
    let web: WebThread
    let client = HTTPClient()
    let workers: WorkerPool
    let folder: TemporaryFolder
    let clock = Locked(1_000_000.0)
    /// What the server says now, by path: a status, fields and a body.
    let says = Locked<[String: HTTPResponse]>([:])
    /// What it was asked: `/a if-none-match`.
    let asked = Gathered<String>()
    /// The Authorization that came with it; empty: none.
    let authorized = Gathered<String>()
    /// Held back while it is set.
    let gate = Locked<Outcome<Void>?>(nil)
    /// Each file that was fetched waits for it, after it was gathered here.
    let judging = Locked<Outcome<Void>?>(nil)
    let judged = Gathered<String>()
    let troubles = Gathered<String>()

    init() async throws {
        let (says, asked, authorized, gate) = (says, asked, authorized, gate)
        thread = try LoopThread()
        let workers = try WorkerPool(name: "gates", threads: 4, limit: 100)
        self.workers = workers
        folder = try TemporaryFolder()
        let routes = await thread.perform { loop in
            [
                HTTPRoute(.get, "/{name}", on: loop) { request in
                    let tag = request.headers["if-none-match"] ?? ""
                    asked.add("\(request.path) \(tag)")
                    authorized.add(request.headers["authorization"] ?? "")
                    if let gate = gate.withLock({ $0 }) {
                        _ = try? await workers.run(on: loop) { gate.wait(within: .seconds(60)) }
                    }
                    guard let answer = says.withLock({ $0[request.path] }) else { return HTTPResponse(status: 404) }
                    if !tag.isEmpty, answer.headers["etag"] == tag {
                        return HTTPResponse(status: 304, headers: answer.headers)
                    }
                    return answer
                }
            ]
        }
        web = try WebThread(listeners: [WebListener(loopback, routes: routes, extraHeaders: ["if-none-match", "authorization"])])
    }

    var base: String { "http://127.0.0.1:\(web.addresses[0].port)" }

    func say(_ path: String, _ status: Int = 200, _ headers: HTTPFields = [:], _ body: String = "") {
        says.withLock { $0[path] = HTTPResponse(status: status, headers: headers, body: Array(body.utf8)) }
    }

    /// Of a machine that has much else to do.
    private static let patient = {
        var limits = HTTPFileLimits()
        limits.time = .seconds(300)
        return limits
    }()

    func cache(
        _ limits: HTTPFileLimits = patient, refuses: @escaping @Sendable (String) -> String? = { _ in nil },
        authorization: @escaping @Sendable (String) -> Secret? = { _ in nil }
    ) -> HTTPFileCache {
        let (clock, troubles, judging, judged) = (clock, troubles, judging, judged)
        return HTTPFileCache(
            client: client, files: FileCache(folder: folder.path("cache"), budget: 1 << 20), workers: workers, limits: limits,
            now: { clock.withLock { $0 } }, refuses: refuses,
            authorization: authorization,
            judge: { path, _ in
                judged.add(path)
                _ = judging.withLock({ $0 })?.wait(within: .seconds(60))
                return FileManager.default.contents(atPath: path)?.first == UInt8(ascii: "<") ? "is no audio" : nil
            },
            onStale: { troubles.add($0) })
    }

    func pass(_ seconds: Double) { clock.withLock { $0 += seconds } }

    private var isUp = true

    func stopServer() {
        if isUp { web.stopAndWait(grace: .zero) }
        isUp = false
    }

    func end() {
        client.stopAndWait()
        stopServer()
        workers.stop()
        #expect(thread.stop() == EpollLoop.Leftovers())
    }
}

extension HTTPFileCache {
    /// The content of the file, or why there is none.
    fileprivate func content(_ url: String) async -> String {
        let result = await withCheckedContinuation { continuation in
            file(at: url, shown: "it") { continuation.resume(returning: $0) }
        }
        switch result {
        case .success(let path): return String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
        case .failure(let failure): return failure.text
        }
    }
}

@Suite struct HTTPFileCacheTests {
    @Test func aFileIsAskedForAgainWhenItsTimeIsOver() async throws {
        let world = try await CacheWorld()
        let cache = world.cache()
        world.say("/a", 200, ["cache-control": "max-age=60", "etag": "\"1\""], "one")
        #expect(await cache.content("\(world.base)/a#part") == "one")
        world.pass(59)
        #expect(await cache.content("\(world.base)/a") == "one")
        #expect(world.asked.items == ["/a "])
        // Confirmed, and fresh again.
        world.pass(2)
        #expect(await cache.content("\(world.base)/a") == "one")
        world.pass(59)
        #expect(await cache.content("\(world.base)/a") == "one")
        #expect(world.asked.items == ["/a ", "/a \"1\""])
        world.say("/a", 200, ["cache-control": "max-age=60", "etag": "\"2\""], "two")
        world.pass(2)
        #expect(await cache.content("\(world.base)/a") == "two")
        #expect(await cache.content("\(world.base)/a") == "two")
        let counters = cache.counters
        #expect(counters.fetched == 2 && counters.confirmed == 1 && counters.kept == 3 && counters.failed == 0)
        world.end()
    }

    @Test func anotherProcessFindsIt() async throws {
        let world = try await CacheWorld()
        world.say("/a.wav", 200, ["cache-control": "max-age=60", "etag": "\"1\""], "one")
        #expect(await world.cache().content("\(world.base)/a.wav?secret") == "one")
        let second = world.cache()
        #expect(await second.content("\(world.base)/a.wav?secret") == "one")
        #expect(second.counters.kept == 1 && world.asked.items.count == 1)
        world.pass(61)
        #expect(await second.content("\(world.base)/a.wav?secret") == "one")
        #expect(second.counters.confirmed == 1)
        // Nobody reads a secret in what lies there.
        for name in try Folder.names(in: world.folder.path("cache")) {
            #expect(!name.contains("secret") && world.folder.text("cache/\(name)").contains("secret") == false, "\(name)")
        }
        // A file that somebody changed is no copy.
        let files = try Folder.names(in: world.folder.path("cache")).filter { $0.hasSuffix(".wav") }
        #expect(files.count == 1)
        try world.folder.write("other", to: "cache/\(files[0])")
        #expect(await world.cache().content("\(world.base)/a.wav?secret") == "one")
        #expect(world.asked.items.last == "/a.wav ")
        world.end()
    }

    @Test func manyWaitForOneFetch() async throws {
        let world = try await CacheWorld()
        let cache = world.cache()
        let gate = Outcome<Void>()
        world.gate.withLock { $0 = gate }
        world.say("/a", 200, ["cache-control": "no-store"], "one")
        let answers = Gathered<String>()
        for _ in 0..<100 {
            cache.file(at: "\(world.base)/a", shown: "it") { result in
                answers.add(
                    (try? result.get()).flatMap { FileManager.default.contents(atPath: $0) }.map {
                        String(decoding: $0, as: UTF8.self)
                    } ?? "-")
            }
        }
        #expect(await world.asked.first(1).count == 1)
        gate.set(())
        #expect(await answers.first(100) == [String](repeating: "one", count: 100))
        #expect(world.asked.items.count == 1)
        // What may not be kept is fetched for the next one.
        #expect(await cache.content("\(world.base)/a") == "one")
        #expect(world.asked.items == ["/a ", "/a "])
        world.end()
    }

    @Test func aCopyServesWhileTheServerFails() async throws {
        let world = try await CacheWorld()
        let cache = world.cache()
        world.say("/a", 200, ["cache-control": "max-age=60"], "one")
        world.say("/strict", 200, ["cache-control": "max-age=60, must-revalidate"], "strict")
        #expect(await cache.content("\(world.base)/a") == "one")
        #expect(await cache.content("\(world.base)/strict") == "strict")
        world.say("/a", 503)
        world.say("/strict", 503)
        world.pass(61)
        #expect(await cache.content("\(world.base)/a") == "one")
        #expect(await cache.content("\(world.base)/strict") == "it: the server answered 503")
        #expect(world.troubles.items == ["it: the server answered 503; a copy from before is used"])
        // It is left alone for a while.
        #expect(await cache.content("\(world.base)/a") == "one")
        #expect(world.asked.items.count == 4 && cache.counters.stale == 2)
        world.pass(31)
        world.say("/a", 200, ["cache-control": "max-age=60"], "two")
        #expect(await cache.content("\(world.base)/a") == "two")
        // Nobody there at all.
        world.pass(61)
        world.stopServer()
        #expect(await cache.content("\(world.base)/a") == "two")
        #expect(world.troubles.items.count == 2)
        #expect(await cache.content("\(world.base)/never").hasPrefix("it: "))
        world.end()
    }

    @Test func whatIsGoneIsGone() async throws {
        let world = try await CacheWorld()
        let cache = world.cache()
        world.say("/a", 200, ["cache-control": "max-age=60"], "one")
        #expect(await cache.content("\(world.base)/a") == "one")
        world.say("/a", 410)
        world.pass(61)
        #expect(await cache.content("\(world.base)/a") == "it: the server answered 410")
        world.say("/a", 500)
        #expect(await cache.content("\(world.base)/a") == "it: the server answered 500")
        #expect(cache.counters.failed == 2)
        world.end()
    }

    @Test func whatIsOfNoUseIsNotKept() async throws {
        let world = try await CacheWorld()
        var limits = HTTPFileLimits()
        limits.octets = 100
        let cache = world.cache(limits)
        world.say("/page", 200, ["content-type": "text/html", "cache-control": "max-age=60"], "<html>")
        world.say("/empty", 200, [:], "")
        world.say("/large", 200, [:], String(repeating: "x", count: 101))
        #expect(await cache.content("\(world.base)/page") == "it: what the server sent (text/html) is no audio")
        #expect(await cache.content("\(world.base)/empty") == "it: the server sent nothing")
        #expect(await cache.content("\(world.base)/large").contains("too large"))
        #expect(await cache.content("ftp://example.com/a") == "it: only http and https are fetched")
        #expect((try? Folder.names(in: world.folder.path("cache"))) ?? [] == [])
        // A copy is better than a page that says sorry.
        world.say("/a", 200, [:], "one")
        #expect(await cache.content("\(world.base)/a") == "one")
        world.say("/a", 200, ["content-type": "text/html"], "<html>")
        #expect(await cache.content("\(world.base)/a") == "one")
        world.end()
    }

    @Test func whatIsFetchedAtATimeIsBounded() async throws {
        let world = try await CacheWorld()
        var limits = HTTPFileLimits()
        (limits.octets, limits.octetsTogether) = (100, 150)
        let cache = world.cache(limits)
        world.say("/a", 200, [:], String(repeating: "a", count: 100))
        world.say("/b", 200, [:], String(repeating: "b", count: 100))
        world.say("/small", 200, [:], "small")
        let (gate, answers) = (Outcome<Void>(), Gathered<Bool>())
        world.judging.withLock { $0 = gate }
        cache.file(at: "\(world.base)/a", shown: "it") { answers.add((try? $0.get()) != nil) }
        #expect(await world.judged.first(1).count == 1)
        world.judging.withLock { $0 = nil }
        #expect(await cache.content("\(world.base)/b") == "it: too much is being fetched at once")
        #expect(await cache.content("\(world.base)/small") == "small")
        gate.set(())
        #expect(await answers.first(1) == [true])
        world.end()
    }

    @Test func aRoomIsFreeAgainWhenNobodyHoldsAShareOfIt() {
        let room = BodyRoom(octets: 100)
        var first: BodyShare? = BodyShare(of: room)
        let second = BodyShare(of: room)
        #expect(first?.take(40) == true && first?.take(40) == true && !second.take(30) && second.take(20))
        first = nil
        #expect(second.take(80) && !second.take(1))
    }

    @Test func aSlowServerIsNotWaitedForLong() async throws {
        let world = try await CacheWorld()
        var limits = HTTPFileLimits()
        limits.time = .milliseconds(200)
        let cache = world.cache(limits)
        let gate = Outcome<Void>()
        world.gate.withLock { $0 = gate }
        world.say("/a", 200, [:], "one")
        #expect(await cache.content("\(world.base)/a") == "it: the server took too long (prompts.timeout)")
        gate.set(())
        world.end()
    }

    @Test func redirectsAreFollowedWhereTheyMayBe() async throws {
        let world = try await CacheWorld()
        let base = world.base
        let cache = world.cache(refuses: { $0.contains("forbidden") ? "not allowed" : nil })
        world.say("/a", 302, ["location": "/b"])
        world.say("/b", 301, ["location": "\(base)/c"])
        world.say("/c", 200, ["cache-control": "max-age=60", "etag": "\"1\""], "one")
        #expect(await cache.content("\(base)/a") == "one")
        #expect(world.asked.items == ["/a ", "/b ", "/c "])
        // A 302 says nothing about the next time; what it led to is confirmed where it came from.
        #expect(await cache.content("\(base)/a") == "one")
        #expect(Array(world.asked.items.dropFirst(3)) == ["/a ", "/b ", "/c \"1\""])
        // A lasting redirect lasts.
        #expect(await cache.content("\(base)/b") == "one")
        #expect(await cache.content("\(base)/b") == "one")
        #expect(world.asked.items.count == 8)
        world.say("/away", 302, ["location": "/forbidden"])
        world.say("/file", 302, ["location": "file:///etc/hostname"])
        world.say("/round", 302, ["location": "/round"])
        world.say("/nowhere", 302)
        #expect(await cache.content("\(base)/forbidden") == "it: not allowed")
        #expect(await cache.content("\(base)/away") == "it: it is redirected to \(base.dropFirst(7)): not allowed")
        #expect(await cache.content("\(base)/file") == "it: it is redirected to what is neither http nor https")
        #expect(await cache.content("\(base)/round") == "it: more than 5 redirects")
        #expect(await cache.content("\(base)/nowhere") == "it: the server answered 302 without a target")
        world.end()
    }

    @Test func credentialsGoToTheHostThatWasNamedAndToNoOther() async throws {
        let world = try await CacheWorld()
        let other = try await CacheWorld()
        let base = world.base
        // Both hosts have a secret; what one redirects to does not get the other's.
        let cache = world.cache(authorization: { url in
            Secret(url.hasPrefix(base) ? "Bearer of-the-first" : "Bearer of-the-second")
        })
        world.say("/a", 302, ["location": "/b"])
        world.say("/b", 302, ["location": "\(other.base)/c"])
        other.say("/c", 200, ["cache-control": "max-age=60", "etag": "\"1\""], "one")
        #expect(await cache.content("\(base)/a") == "one")
        #expect(world.authorized.items == ["Bearer of-the-first", "Bearer of-the-first"])
        #expect(other.authorized.items == [""])
        #expect(await cache.content("\(other.base)/c") == "one")
        #expect(other.authorized.items == ["", "Bearer of-the-second"])
        for name in try Folder.names(in: world.folder.path("cache")) {
            #expect(!world.folder.text("cache/\(name)").contains("of-the-"), "\(name)")
        }
        world.say("/closed", 401)
        #expect(await cache.content("\(base)/closed") == "it: the server answered 401 (prompts.credentials)")
        other.end()
        world.end()
    }

    @Test func aFolderThatCannotBeWrittenIsSaid() async throws {
        let world = try await CacheWorld()
        try world.folder.write("a file", to: "cache")
        world.say("/a", 200, [:], "one")
        let failure = await world.cache().content("\(world.base)/a")
        #expect(failure.hasPrefix("it: it cannot be kept: ") && failure.hasSuffix("; look at cache.folder"), "\(failure)")
        world.end()
    }
}
