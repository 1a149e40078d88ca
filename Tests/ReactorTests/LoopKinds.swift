import Basics
import Reactor
import Testing

/// Runs the same test on a loop of each kind.
enum LoopKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case epoll, virtual

    var testDescription: String { rawValue }

    /// Runs `body` as a task of a new loop and checks that nothing is left over.
    func run(sourceLocation: SourceLocation = #_sourceLocation, _ body: @escaping @Sendable (EventLoop) async throws -> Void)
        async throws
    {
        switch self {
        case .virtual:
            let loop = VirtualLoop()
            var failure: (any Error)?
            var ended = false
            loop.spawn {
                do { try await body(loop) } catch { failure = error }
                ended = true
            }
            loop.run()
            #expect(ended, "the body waits for something that never comes", sourceLocation: sourceLocation)
            #expect(loop.liveTasks == 0 && loop.openSockets == 0 && loop.pendingTimers == 0, sourceLocation: sourceLocation)
            if let failure { throw failure }
        case .epoll: try await Self.runEpoll(sourceLocation: sourceLocation, body)
        }
    }

    static func runEpoll(
        pace: Duration = EpollLoop.standardPace, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: @escaping @Sendable (EpollLoop) async throws -> Void
    ) async throws {
        let loop = try EpollLoop(name: "test", pace: pace)
        try loop.start()
        let failure: (any Error)? = await withCheckedContinuation { continuation in
            loop.execute {
                loop.spawn {
                    do {
                        try await body(loop)
                        continuation.resume(returning: nil)
                    } catch { continuation.resume(returning: error) }
                }
            }
        }
        #expect(loop.stop(within: .seconds(5)) == EpollLoop.Leftovers(), sourceLocation: sourceLocation)
        if let failure { throw failure }
    }
}

let loopback = SocketAddress(ip: .loopback4, port: 0)

extension DatagramSocket {
    func send(_ text: String, to peer: SocketAddress) { Array(text.utf8).withUnsafeBytes { send($0, to: peer) } }

    @discardableResult
    func sendNow(_ text: String, to peer: SocketAddress) -> Bool { Array(text.utf8).withUnsafeBytes { sendNow($0, to: peer) } }

    func sendNow(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes { sendNow($0) } }
}

func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }

/// A socket on the loopback address, where a throw has no way out.
func bound(on loop: EventLoop) -> DatagramSocket {
    guard let socket = try? loop.bindDatagram(to: loopback) else { preconditionFailure("the loopback address takes a socket") }
    return socket
}
