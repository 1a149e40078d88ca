// The media of a run: the echo of -rtp_echo, and what scenarios play.

import Basics
import Reactor

final class RunMedia {
    private unowned let run: ScenarioRun
    private var echoes: [DatagramSocket] = []
    /// The global echo, which the action `rtp_echo` stops and resumes.
    var isEchoing = true
    private(set) var echoed = 0
    /// A check of returned RTP failed.
    private(set) var checkFailed = false

    init(run: ScenarioRun) {
        self.run = run
    }

    /// Sends back what comes to the media port and to the port two above.
    func openEcho() throws(RunFailure) {
        for offset in [0, 2] {
            let address = SocketAddress(ip: run.addresses.media, port: UInt16(clamping: run.options.mediaPort + offset))
            do throws(SystemError) {
                let socket = try run.loop.bindDatagram(to: address)
                socket.onReceive = { [unowned self, unowned socket] octets, source in
                    guard isEchoing else { return }
                    echoed += 1
                    socket.send(octets, to: source)
                }
                echoes.append(socket)
            } catch {
                throw .bind("-rtp_echo: \(error)")
            }
        }
    }

    func streamPort(of call: ScenarioCall, isVideo: Bool) -> Int { run.options.mediaPort }

    func play(_ action: Action.Media, _ text: String, of call: ScenarioCall) {
        run.fatal("exec of media (\(text)) is not built yet")
    }

    func release(_ call: ScenarioCall) {}

    func close() {
        for socket in echoes { socket.close() }
        echoes = []
    }

    // MARK: Results

    var summaryLines: [String] { echoed > 0 ? ["  RTP packets sent back: \(echoed)"] : [] }
    var description: JSONText { .object([("echoed", .count(echoed))]) }
}
