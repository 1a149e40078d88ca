// Twin instances of third party call control: commands over TCP, each ended by one octet ESC. With -3pcc one end listens and the other
// connects; in the extended form (-master, -slave) every instance listens at its place in -slave_cfg and connects to whom it commands.

import Basics
import Foundation
import Reactor

final class TwinLinks {
    private unowned let run: ScenarioRun
    private var listener: StreamListener?
    private var streams: [ObjectIdentifier: StreamConnection] = [:]
    private var pending: [ObjectIdentifier: [UInt8]] = [:]
    /// The twin of -3pcc.
    private var twin: StreamConnection?
    /// Connections to others by name, and all addresses.
    private var byName: [String: StreamConnection] = [:]
    private var places: [String: SocketAddress] = [:]
    private var isClosed = false
    private static let end: UInt8 = 27

    private var ownName: String? { run.options.master ?? run.options.slave }

    init(run: ScenarioRun) {
        self.run = run
    }

    func open() throws(RunFailure) {
        if let file = run.options.slaveConfiguration {
            try readPlaces(file)
            guard let ownName, let own = places[ownName] else {
                throw .fatal("\(file) has no line for \(ownName ?? "this instance"): NAME;HOST:PORT")
            }
            return try listen(on: own)
        }
        guard let text = run.options.twin, let (host, port) = HostAddress.split(text), let port, let ip = HostAddress.look(host)
        else {
            throw .fatal("-3pcc takes HOST:PORT, not \(run.options.twin ?? "")")
        }
        guard let sendsFirst = run.scenario.sendsCommandFirst else {
            throw .fatal("\(run.scenario.file): -3pcc is given, but there is neither <sendCmd> nor <recvCmd>")
        }
        let address = SocketAddress(ip: ip, port: port)
        if sendsFirst { twin = connect(to: address) } else { try listen(on: address) }
    }

    private func readPlaces(_ path: String) throws(RunFailure) {
        guard let data = FileManager.default.contents(atPath: path) else { throw .fatal("\(path) cannot be read") }
        for (index, line) in String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let parts = line.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count >= 2 else { continue }
            guard let (host, port) = HostAddress.split(parts[1]), let port, let ip = HostAddress.look(host) else {
                throw .fatal("\(path):\(index + 1): \"\(parts[1])\" is no HOST:PORT")
            }
            places[parts[0]] = SocketAddress(ip: ip, port: port)
        }
    }

    private func listen(on address: SocketAddress) throws(RunFailure) {
        do throws(SystemError) {
            listener = try run.loop.listen(on: address) { [unowned self] stream in
                if run.options.twin != nil { twin = stream }
                hold(stream)
            }
        } catch {
            throw .bind("\(error)")
        }
    }

    private func connect(to address: SocketAddress) -> StreamConnection {
        let stream = run.loop.openStream(to: address)
        hold(stream)
        return stream
    }

    private func hold(_ stream: StreamConnection) {
        let key = ObjectIdentifier(stream)
        streams[key] = stream
        stream.onReceive = { [unowned self] octets in read(octets, key) }
        stream.onClose = { [unowned self] end in
            streams[key] = nil
            pending[key] = nil
            byName = byName.filter { $0.value !== stream }
            guard !isClosed, stream === twin else { return }
            twin = nil
            if run.isQuitting || run.calls.isEmpty && run.scenario.beginsWithCommand { return run.quit() }
            if case .ended = end { return run.quit() }
            run.fatal("3PCC: \(end.words(about: stream.peerAddress)); the twin instances are started before this one")
        }
    }

    private func read(_ octets: UnsafeRawBufferPointer, _ key: ObjectIdentifier) {
        pending[key, default: []] += octets
        while let text = pending[key], let end = text.firstIndex(of: Self.end) {
            pending[key] = Array(text[(end + 1)...])
            take(Array(text[..<end]))
        }
    }

    private func take(_ command: [UInt8]) {
        guard let id = OctetText.line(beginningWith: "Call-ID", in: command).map({ OctetText.trimmed(Array($0)) }), !id.isEmpty
        else {
            return run.warn("a command without Call-ID was dropped")
        }
        let source = OctetText.line(beginningWith: "From", in: command).map {
            String(decoding: OctetText.trimmed(Array($0)), as: UTF8.self)
        }
        let call = run.calls[OctetHash.of(id)]
        if let kind = OctetText.line(beginningWith: "internal-cmd", in: command),
            String(decoding: kind, as: UTF8.self).contains("abort_call")
        {
            return call?.abort() ?? ()
        }
        if let call { return call.receiveCommand(command, from: source) }
        guard run.scenario.beginsWithCommand, !run.isQuitting else { return }
        let fresh = run.make(run.scenario, id: id, isOutgoing: true)
        guard run.channels.prepare(fresh, source: nil) else { return fresh.fail(.cannotSendMessage) }
        fresh.start()
        fresh.receiveCommand(command, from: source)
        run.checkEnd()
    }

    /// False when there is nobody to send to.
    func send(_ octets: [UInt8], to destination: String?) -> Bool {
        let stream: StreamConnection?
        if let destination {
            if byName[destination] == nil, let place = places[destination] { byName[destination] = connect(to: place) }
            stream = byName[destination]
        } else {
            stream = twin
        }
        return stream?.send(octets + [Self.end]) ?? false
    }

    /// Tells the twin that a call was given up.
    func abort(_ call: ScenarioCall) {
        guard let twin, !isClosed else { return }
        twin.send(call.expand(run.defaultMessage(.abort)) + [Self.end])
    }

    func close() {
        isClosed = true
        listener?.close()
        for stream in streams.values { stream.close() }
        streams = [:]
    }
}
