// RTCP of a session (RFC 3550 section 6): a report every few seconds, what the far side reports about us, BYE at the end.
//
//   the port of RTCP     is read when something comes until the first report has told how much of the stream's beginning was lost, for
//                        which it has to be seen between the packets before and behind it; then before each report of ours: a wake-up
//                        of the loop costs more than all else about a report, and the kernel tells when it came. Who floods it gets it
//                        read on arrival again: what nobody reads would fill the socket and keep the far side's reports out
//   one port for both    its RTCP comes with the RTP, and the other port is left alone

import Audio
import Basics
import RTP
import Reactor
import SDP

extension MediaSession {
    /// What may come between two reports of ours, which are 7.5 seconds apart at most; more is a flood.
    private static let mostReports = 16

    func nextReportDelay() -> Duration {
        RTCPInterval.next(isFirst: !hasReported, chance: UInt32(truncatingIfNeeded: services.randomBits()))
    }

    /// The clock of our reports: the loop's. Only differences of it are ever used, by both sides.
    private func time(_ instant: Instant) -> NTPTime { NTPTime(unixNanoseconds: instant.nanoseconds) }

    func sendReport(at now: Instant) {
        nextReport = now + nextReportDelay()
        readReports()
        user?.mediaMeasured()
        guard !isClosed, let agreement = negotiation.agreement, agreement.rtcpWanted else { return }
        hasReported = true
        compose(at: now, isLast: false)
    }

    private func readReports() {
        guard ports.rtcp.reading == .onDrain else { return }
        if ports.rtcp.drain() > Self.mostReports { ports.rtcp.reading = .onArrival }
    }

    /// Nothing is said of a stream that never began.
    func sendGoodbye() {
        readReports()
        guard isStarted, stream.packetCount > 0 || hasHeard, negotiation.agreement?.rtcpWanted == true else { return }
        compose(at: loop.now, isLast: true)
    }

    private func compose(at now: Instant, isLast: Bool) {
        guard !isClosed, let latch, let agreement = negotiation.agreement, !agreement.remote.ip.isUnspecified else { return }
        var writer = RTCPWriter(services.packet)
        let block = reception?.statistics.makeReport(at: now)
        if stream.packetCount != packetsAtReport {
            writer.senderReport(
                ssrc: stream.ssrc,
                SenderInfo(
                    time: time(now), timestamp: stream.timestamp, packetCount: stream.packetCount, octetCount: stream.octetCount),
                about: block)
        } else {
            writer.receiverReport(ssrc: stream.ssrc, about: block)
        }
        packetsAtReport = stream.packetCount
        var name = "\(settings.product)-\(String(canonicalName, radix: 36))"
        name.withUTF8 { writer.sourceDescription(ssrc: stream.ssrc, canonicalName: UnsafeRawBufferPointer($0)) }
        if let block { writer.extendedReport(ssrc: stream.ssrc, metrics(about: block.ssrc)) }
        if isLast { writer.goodbye(ssrc: stream.ssrc) }
        var count = writer.count
        let destination = latch.rtcpDestination(signaled: agreement.remoteRTCP, mux: agreement.rtcpMux)
        guard destination.port != 0, !destination.ip.isUnspecified else { return }
        let socket = agreement.rtcpMux ? rtp : ports.rtcp
        if let cipher {
            guard let protected = cipher.sender.protectControl(services.packet, count: count) else { return }
            count = protected
        }
        let packet = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(services.packet)[..<count])
        if trace != nil { traceSent(packet, to: destination, by: socket) }
        if socket.sendNow(packet, to: destination) { services.counting.reportsSent += 1 }
    }

    /// RTCP of either port. No `source`: the socket is connected to it.
    func receivedReport(_ bytes: UnsafeRawBufferPointer, from source: SocketAddress?, at now: Instant) {
        guard !isClosed, let latch, let agreement = negotiation.agreement else { return }
        let source = source ?? latch.destination
        guard source.ip == latch.destination.ip || source.ip == agreement.remoteRTCP.ip else {
            services.counting.droppedForeign += 1
            return
        }
        guard let plain = unprotected(bytes, .rtcp) else { return }
        guard var reader = RTCPReader(plain) else {
            services.counting.droppedMalformed += 1
            return
        }
        services.counting.reportsReceived += 1
        while let packet = reader.next() {
            if let info = packet.senderInfo, let ssrc = packet.ssrc {
                reception?.statistics.receive(senderReport: info.time.middle, from: ssrc, at: now)
            }
            let hearing = farHearing()
            if let info = packet.senderInfo, let ssrc = packet.ssrc, hearing.unheardStart == nil {
                hearing.unheardStart = reception?.statistics.unheardStart(sent: info.packetCount, by: ssrc)
                if hearing.unheardStart != nil, trace == nil, !agreement.rtcpMux { ports.rtcp.reading = .onDrain }
            }
            if packet.ssrc != nil { hearing.reports += 1 }
            if let report = packet.report(about: stream.ssrc) {
                hearing.note(report, clockRate: codec.clockRate)
                if let trip = report.roundTrip(at: time(now)) { hearing.roundTrip = trip }
            }
            if let metrics = packet.voipMetrics(about: stream.ssrc) { hearing.note(metrics) }
        }
    }
}
