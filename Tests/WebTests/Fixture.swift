// What the web tests share: a loop with a thread, a web thread on loopback, commands as peers, raw sockets.
import Basics
import Foundation
import Reactor
import TestKit
import Testing
import Web

/// A loop of production with what runs on it, ended by `stop`.
final class LoopThread: Sendable {
    let loop: EpollLoop

    init() throws {
        loop = try EpollLoop(name: "test")
        try loop.start()
    }

    /// What is left over: nothing, in a good test.
    @discardableResult
    func stop() -> EpollLoop.Leftovers { loop.stop(within: .seconds(2)) }

    /// Runs `body` as a task of the loop and waits for its result.
    func run<Result: Sendable>(_ body: @escaping @Sendable (EpollLoop) async -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            loop.execute { [loop] in
                loop.spawn { continuation.resume(returning: await body(loop)) }
            }
        }
    }

    /// Runs `body` on the loop.
    func perform<Result: Sendable>(_ body: @escaping @Sendable (EpollLoop) -> Result) async -> Result {
        await run { body($0) }
    }
}

/// Gathers what comes from a loop, for a test that waits for it.
final class Gathered<Item: Sendable>: Sendable {
    private let gathered = Locked([Item]())
    private let changes = Changes()

    func add(_ item: Item) {
        gathered.withLock { $0.append(item) }
        changes.tell()
    }

    var items: [Item] { gathered.withLock { $0 } }

    /// The first `count` items, when they are there; fewer after a minute, so that a test fails instead of waiting for ever.
    func first(_ count: Int) async -> [Item] {
        if items.count < count {
            await withCheckedContinuation { continuation in
                // Not on a thread that other tests need.
                Thread.detachNewThread {
                    _ = self.changes.wait(within: .seconds(60)) { self.items.count >= count }
                    continuation.resume()
                }
            }
        }
        return Array(items.prefix(count))
    }
}

/// The events of one WebSocket.
typealias SocketLog = Gathered<WebSocketEvent>

extension SocketLog {
    /// Everything up to `closed`.
    func untilClosed() async -> [WebSocketEvent] {
        var count = 1
        while true {
            let items = await first(count)
            if case .closed = items.last { return items }
            guard items.count == count else { return items }
            count += 1
        }
    }
}

struct CommandResult: Sendable {
    var status: Int32
    var output: String
    var errors: String
}

/// Runs a program to its end; nil when it is not installed.
func command(_ name: String, _ arguments: String..., input: String? = nil) async -> CommandResult? {
    await command(name, arguments, input: input)
}

func command(_ name: String, _ arguments: [String], input: String? = nil) async -> CommandResult? {
    guard let path = programPath(name) else { return nil }
    guard let folder = try? TemporaryFolder() else { return nil }
    let (out, err) = (folder.path("out"), folder.path("err"))
    _ = FileManager.default.createFile(atPath: out, contents: nil)
    _ = FileManager.default.createFile(atPath: err, contents: nil)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.standardOutput = FileHandle(forWritingAtPath: out)
    process.standardError = FileHandle(forWritingAtPath: err)
    process.standardInput = FileHandle.nullDevice
    let status = await withCheckedContinuation { (continuation: CheckedContinuation<Int32, Never>) in
        process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
        do { try process.run() } catch { continuation.resume(returning: -1) }
    }
    func text(_ path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }
    return CommandResult(status: status, output: text(out), errors: text(err))
}

func programPath(_ name: String) -> String? {
    if name.hasPrefix("/") { return FileManager.default.isExecutableFile(atPath: name) ? name : nil }
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
}

extension TestCertificates {
    /// A server's of `localhost`, and the authority that signed it.
    var tls: WebServerTLS { WebServerTLS(certificate: path("local.pem"), key: path("local.key")) }
    var authority: String { path("ca.pem") }
}

let loopback = SocketAddress(ip: .loopback4, port: 0)

/// A plain TCP client that writes what it is told and reads to the end: for what no decent client sends.
final class RawClient {
    private let descriptor: Int32

    init?(_ address: SocketAddress) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = address.port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { return nil }
        // A test that waits for nothing fails instead of hanging.
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    func write(_ text: String) { write(Array(text.utf8)) }

    func write(_ bytes: [UInt8]) {
        _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// What comes until the text `mark` is there, or to the end.
    func read(until mark: String? = nil) -> String {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            all += buffer[..<count]
            if let mark, String(decoding: all, as: UTF8.self).contains(mark) { break }
        }
        return String(decoding: all, as: UTF8.self)
    }
}
