// Our WebSockets against Python's `websockets`: fragments, pings, binary, close codes. Without the package these tests say that
// they were skipped.
import Basics
import Foundation
import Reactor
import Testing
import Web

/// The peer program (Peers/websocket_peer.py) with a Python that has what it needs.
struct PythonPeer {
    let python: String
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Peers/websocket_peer.py")
        .path

    /// Nil, with a word on standard output, when no Python here has the package. The system's own comes first: an installed package
    /// belongs to that one.
    static func find() async -> PythonPeer? {
        for name in ["/usr/bin/python3", "python3"] {
            guard let python = programPath(name) else { continue }
            if await command(python, "-c", "import websockets")?.status == 0 { return PythonPeer(python: python) }
        }
        print("skipped: no Python with the websockets package (Debian: python3-websockets)")
        return nil
    }

    /// The server, at work until the result is released.
    func serve() throws -> Server { try Server(self) }

    final class Server {
        private let process = Process()
        private let (input, output) = (Pipe(), Pipe())
        let port: UInt16

        init(_ peer: PythonPeer) throws {
            process.executableURL = URL(fileURLWithPath: peer.python)
            process.arguments = [peer.script, "serve"]
            (process.standardInput, process.standardOutput) = (input, output)
            try process.run()
            let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            port = try #require(UInt16(line.trimmingCharacters(in: .whitespacesAndNewlines)))
        }

        deinit {
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
        }
    }
}

extension WebSocketTests {
    @Test func ourClientTalksToThePythonServer() async throws {
        guard let peer = await PythonPeer.find() else { return }
        let thread = try LoopThread()
        let clients = try WebThread()
        let python = try peer.serve()
        let url = "ws://127.0.0.1:\(python.port)/path?x=1"
        let log = SocketLog()
        let socket = await open(
            clients, WebSocketRequest(url, headers: ["X-Test": "a value"], subprotocols: ["talk", "chat"]), on: thread, log)
        let binary = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        for text in ["header", "ping", "fragments", ""] { socket.send(text: text) }
        socket.send(binary: binary)
        socket.send(text: "close")
        let fragments =
            [UInt8](repeating: 0, count: 70000) + [UInt8](repeating: 1, count: 70000) + [UInt8](repeating: 2, count: 70000)
        #expect(
            await log.untilClosed() == [
                .opened(subprotocol: "chat"), .text("a value"), .text("ponged"), .text("fragmented é"), .binary(fragments),
                .text(""), .binary(binary), .closed(.byPeer(code: 4001, reason: "as asked"))
            ])

        let broken = SocketLog()
        let second = await open(clients, WebSocketRequest(url), on: thread, broken)
        second.send(text: "drop")
        #expect(await broken.untilClosed() == [.opened(subprotocol: nil), .closed(.lost)])

        let ended = SocketLog()
        let third = await open(clients, WebSocketRequest(url), on: thread, ended)
        _ = await ended.first(1)
        third.close(code: 3000, reason: "é")
        #expect(await ended.untilClosed().last == .closed(.byUs(code: 3000, reason: "é")))
        finish(thread, clients)
    }

    @Test func thePythonClientTalksToOurServer() async throws {
        guard let peer = await PythonPeer.find() else { return }
        let thread = try LoopThread()
        var limits = WebSocketLimits()
        limits.messageBytes = 300_000
        let log = SocketLog()
        let web = try await server(thread, limits: limits, log: log)
        let python = await command(peer.python, peer.script, "client", "ws://127.0.0.1:\(web.addresses[0].port)/echo")
        #expect(
            python?.output == """
                subprotocol chat
                text fragmented é
                binary True
                pong
                closed 1009
                closed 3999

                """, "\(python?.errors ?? "")")
        #expect(log.items.contains(.closed(.byUs(code: 1009, reason: "message too big"))))
        #expect(log.items.contains(.closed(.byPeer(code: 3999, reason: "done"))))
        finish(thread, web)
    }
}
