// UDP: one socket for all calls (u1), one for each (un), or one for each address of the injection file (ui).

import Basics
import Reactor

final class DatagramChannels: Channels {
    private var main: DatagramSocket? {
        didSet { mainPort = Int(main?.localAddress.port ?? 0) }
    }
    private var mainPort = 0
    /// Sockets of calls, and how many calls use each.
    private var perCall: [(socket: DatagramSocket, calls: Int)] = []
    private var perAddress: [IPAddress: DatagramSocket] = [:]
    private var nextShared = 0
    private static let standardPort = 5060

    override var localPort: Int { mainPort }
    override var openCount: Int { perCall.count + perAddress.count }

    override func open() throws(RunFailure) {
        let wanted = options.localPort.map { [$0] } ?? [Self.standardPort, 0]
        var problem: SystemError?
        for port in wanted {
            do throws(SystemError) {
                main = try socket(on: SocketAddress(ip: addresses.bound, port: UInt16(clamping: port)))
                return
            } catch {
                problem = error
            }
        }
        throw .bind(problem.map { "\($0)" } ?? "no socket")
    }

    private func socket(on address: SocketAddress) throws(SystemError) -> DatagramSocket {
        var settings = DatagramOptions()
        settings.reading = .paced
        settings.receiveBuffer = options.bufferSize ?? 4 << 20
        settings.sendBuffer = options.bufferSize ?? 4 << 20
        settings.stampsArrival = true
        settings.segmentation = options.segmentation
        settings.sendQueueLimit = 65_536
        let socket = try loop.bindDatagram(to: address, options: settings)
        socket.onReceive = { [unowned self, unowned socket] octets, source in
            user.received(octets, from: source, on: socket === main ? nil : socket, at: socket.arrival)
        }
        return socket
    }

    override func prepare(_ call: ScenarioCall, source: IPAddress?) -> Bool {
        do throws(SystemError) {
            if let source {
                if perAddress[source] == nil {
                    perAddress[source] = try socket(on: SocketAddress(ip: source, port: UInt16(localPort)))
                }
                call.link = perAddress[source]
            } else if options.transport == .un {
                if perCall.count >= options.maxSockets {
                    nextShared = (nextShared + 1) % perCall.count
                    perCall[nextShared].calls += 1
                    call.link = perCall[nextShared].socket
                } else {
                    let own = try socket(on: SocketAddress(ip: addresses.bound, port: 0))
                    perCall.append((own, 1))
                    call.link = own
                }
            }
            return true
        } catch {
            user.warn("\(error)")
            return false
        }
    }

    override func release(_ call: ScenarioCall) {
        guard options.transport == .un, let socket = call.link as? DatagramSocket,
            let place = perCall.firstIndex(where: { $0.socket === socket })
        else { return }
        perCall[place].calls -= 1
        call.link = nil
        guard perCall[place].calls == 0 else { return }
        socket.close()
        perCall.remove(at: place)
    }

    override func localPort(of call: ScenarioCall) -> Int {
        guard options.transport != .u1 else { return localPort }
        return (call.link as? DatagramSocket).map { Int($0.localAddress.port) } ?? localPort
    }

    override func send(_ octets: UnsafeRawBufferPointer, of call: ScenarioCall) -> SendOutcome {
        guard let destination = destination(of: call) else { return .failed }
        let socket = options.transport == .u1 ? main : call.link as? DatagramSocket ?? main
        guard let socket, octets.count <= 65_507 else { return .failed }
        socket.send(octets, to: destination)
        return .sent
    }

    override func close(then: @escaping () -> Void) {
        main?.close()
        for entry in perCall { entry.socket.close() }
        for socket in perAddress.values { socket.close() }
        perCall = []
        perAddress = [:]
        then()
    }
}
