// What comes in: whose call it is, and what becomes of messages that are nobody's.

import Basics
import Reactor
import SIP

extension ScenarioRun: ChannelUser {
    func received(_ octets: UnsafeRawBufferPointer, from source: SocketAddress, on link: AnyObject?, at instant: Instant) {
        guard !isOver else { return }
        let message: Message
        do throws(ParseError) {
            message = try Message(parsing: Array(octets))
        } catch {
            // CRLF by itself keeps a path open.
            if octets.contains(where: { $0 > 32 }) { warn("what came from \(source) is no SIP message: \(error.fault)") }
            return
        }
        files.traceReceived(message, transport: options.transport, at: loop.wallClock)
        let id = callID(of: message)
        guard !id.isEmpty else { return warn("SIP message without Call-ID discarded") }
        let key = id.withUnsafeBytes { OctetHash.of($0) }
        if let call = calls[key] {
            if call.link == nil { call.link = link }
            if call.source == nil, addresses.remote == nil || !call.isOutgoing { call.source = source }
            return call.receive(message, at: instant)
        }
        if dead.holds(key, at: loop.now) {
            statistics.count(\.deadCall)
            return
        }
        begin(message, id: Array(id), source, link, instant)
    }

    /// The Call-ID that counts: what is before `///` was put there by a B2BUA.
    private func callID(of message: Message) -> ArraySlice<UInt8> {
        let id = message.callID
        guard !options.keepsSlashes, id.contains(UInt8(ascii: "/")) else { return id }
        let slash = UInt8(ascii: "/")
        var at = id.startIndex
        while at + 2 < id.endIndex {
            if id[at] == slash, id[at + 1] == slash, id[at + 2] == slash { return id[(at + 3)...] }
            at += 1
        }
        return id
    }

    /// A message that belongs to no call: the beginning of one, or a stranger's.
    private func begin(_ message: Message, id: [UInt8], _ source: SocketAddress, _ link: AnyObject?, _ instant: Instant) {
        let begins: Scenario?
        if scenario.role == .server, !scenario.beginsWithCommand {
            begins = isQuitting ? nil : scenario
        } else {
            begins = message.isRequest ? outOfCall : nil
        }
        guard let begins else {
            statistics.count(\.outOfCall)
            if scenario.role != .server {
                warn(
                    "Discarding message which can't be mapped to a known SIPp call:\n\(String(decoding: message.octets, as: UTF8.self))"
                )
            }
            return
        }
        if begins === outOfCall { statistics.count(\.outOfCall) }
        let call = make(begins, id: id, isOutgoing: false)
        call.link = link
        call.source = options.remoteSending == nil ? source : nil
        call.start()
        if !call.isOver { call.receive(message, at: instant) }
        checkEnd()
    }

    func lost(_ link: AnyObject, _ reason: String) {
        for call in calls.values where call.link === link || (call.link == nil && !options.transport.isPerCall) {
            call.link = nil
            // It only waits for what may still come.
            guard !call.isInTimewait else { continue }
            warn("Call-Id: \(String(decoding: call.id, as: UTF8.self)): \(reason)")
            call.fail(.tcpClosed)
        }
    }
}
