// Session descriptions, offer/answer and what arrives on media ports.

import Basics
import RTP
import SDP

func attackDescription(_ bytes: [UInt8]) {
    guard let session = try? SessionDescription(parsing: bytes) else { return }
    for medium in session.media {
        use((session.address(of: medium), session.direction(of: medium), session.connection(of: medium)))
        use(
            (medium.kind, medium.port, medium.formats, medium.packetTime, medium.rtcp, medium.attributes, medium.formatParameters)
        )
        use((medium.bandwidth("RS"), medium.rtpMap(of: 96), medium.parameters(of: "96")))
        for line in medium.values(of: "crypto").compactMap({ CryptoAttribute($0) }) {
            precondition(
                line.key.revealed.count == line.suite.masterLength && line.identifier.count <= 128, "a key of its length")
        }
    }
    use((session.origin?.version, session.origin?.address))
    use((session.bandwidths, session.attributes, session.sessionName))
    precondition(session.media.count == session.mediaCount)
    guard let again = try? SessionDescription(parsing: session.bytes) else { preconditionFailure("what parses parses again") }
    precondition(again == session, "what parses parses to the same")
}

/// One octet of choices, then an offer, and behind a line of `--` a second offer or an answer.
func attackOfferAnswer(_ bytes: [UInt8]) {
    guard let choices = bytes.first else { return }
    let parts = bytes.dropFirst().split(separator: [45, 45, 10], maxSplits: 1, omittingEmptySubsequences: false)
    let descriptions = parts.compactMap { try? SessionDescription(parsing: $0) }
    guard let first = descriptions.first else { return }
    let capabilities = AudioCapabilities(
        codecs: choices & 1 == 0 ? [.pcma, .pcmu] : [.opus, .g722, .pcmu], preference: choices & 2 == 0 ? .theirs : .ours,
        telephoneEvents: choices & 4 == 0, packetTime: 20, offersRTCPMux: choices & 8 != 0)
    let security: MediaSecurity = choices & 128 == 0 ? .accepted : choices & 64 == 0 ? .offered : .required
    var session = OfferAnswer(
        capabilities: capabilities, local: SocketAddress(ip: .v4(0xC000_0201), port: 4000), sessionID: 7, security: security)
    if choices & 16 != 0 { session.localRTCPPort = 4444 }
    if choices & 32 != 0 {
        checkWritten(session.makeOffer())
        for answer in descriptions {
            guard (try? session.receive(answer: answer)) != nil else { continue }
            check(session)
        }
        if session.isOffering { session.offerFailed() }
    }
    for offer in [first] + descriptions.dropFirst() { answer(offer, &session) }
    session.wantedDirection = choices & 64 != 0 ? .sendonly : .sendrecv
    if !session.isOffering {
        let offer = session.makeOffer()
        checkWritten(offer)
        session.offerFailed()
    }
    answer(first, &session)
}

private func answer(_ offer: SessionDescription, _ session: inout OfferAnswer) {
    let refusal = session.refusal(of: offer)
    let before = session.agreement
    do {
        let octets = try session.answer(to: offer)
        precondition(refusal == nil, "what would be refused is refused")
        let answer = checkWritten(octets)
        precondition(answer.media.count == offer.media.count, "as many media as in the offer (RFC 3264 section 6)")
        for (ours, theirs) in zip(answer.media, offer.media) {
            precondition(ours.kind.lowercased() == theirs.kind.lowercased(), "in its order")
            precondition(theirs.port != 0 || ours.port == 0, "what was refused stays refused")
        }
        check(session)
    } catch {
        precondition(refusal == error && session.agreement == before, "a refused offer changes nothing")
    }
}

@discardableResult
private func checkWritten(_ octets: [UInt8]) -> SessionDescription {
    guard let description = try? SessionDescription(parsing: octets) else { preconditionFailure("what we write parses") }
    return description
}

private func check(_ session: OfferAnswer) {
    guard let agreement = session.agreement else { preconditionFailure("an exchange agrees") }
    precondition(agreement.sendPayload < 128 && 10...60 ~= agreement.packetTime, "numbers are in their ranges")
    if let secure = agreement.secure {
        precondition(
            secure.ownKey.revealed.count == secure.suite.masterLength && secure.ownKey != secure.remoteKey, "a key of ours")
    }
    precondition(!agreement.receiveFormats.isEmpty && agreement.receiveFormats[0].codec.name == agreement.codec.name)
    precondition(!(agreement.direction.sends && agreement.remote.ip.isUnspecified), "nothing is sent to nowhere")
    precondition(
        agreement.receiveEvents.allSatisfy { $0.payload < 128 && TelephoneEventFormat.clockRates.contains($0.clockRate) })
    precondition(agreement.receiveFormats.allSatisfy { $0.payload < 128 && $0.codec.clockRate > 0 })
}

/// One octet that chooses a suite, then packets, each led by its length in one octet: through a receiver that knows their key as little as they
/// do, and through a pair that does.
func attackProtected(_ bytes: [UInt8]) {
    guard let choice = bytes.first else { return }
    let suite = SRTPSuite.allCases[Int(choice) % SRTPSuite.allCases.count]
    let master = [UInt8](repeating: choice, count: suite.masterLength)
    let receiver = SRTPReceiver(suite, master: master, identifier: choice & 64 == 0 ? [] : [1, 2])
    var (sender, knowing) = (SRTPSender(suite, master: master), SRTPReceiver(suite, master: master))
    var last: (sequence: UInt16, ssrc: UInt32)?
    var at = 1
    while at < bytes.count {
        let end = min(bytes.count, at + 1 + Int(bytes[at]))
        let packet = Array(bytes[(at + 1)..<end])
        at = end
        var output = [UInt8](repeating: 0, count: packet.count)
        packet.withUnsafeBytes { input in
            output.withUnsafeMutableBytes { output in
                guard !input.isEmpty else { return }
                precondition((try? receiver.unprotect(input, to: output)) == nil, "nobody guesses a tag")
                precondition((try? receiver.unprotectControl(input, to: output)) == nil, "nobody guesses a tag")
            }
        }
        var buffer = packet + [UInt8](repeating: 0, count: SRTPSuite.mostTrailer)
        let header = packet.withUnsafeBytes { RTPPacket($0).map { (sequence: $0.sequence, ssrc: $0.ssrc) } }
        // One stream in order, as a sender has it.
        if let header, last.map({ $0.ssrc == header.ssrc && header.sequence &- $0.sequence &- 1 < 0x4000 }) ?? true {
            last = header
            // A quarter of the packets come under new keys.
            if header.sequence & 3 == 3 {
                let next = [UInt8](repeating: choice &+ UInt8(truncatingIfNeeded: at), count: suite.masterLength)
                sender = SRTPSender(suite, master: next, after: sender)
                knowing = SRTPReceiver(suite, master: next, after: knowing)
            }
            guard let count = buffer.withUnsafeMutableBytes({ sender.protect($0, count: packet.count) }) else {
                preconditionFailure("what is RTP is protected")
            }
            var output = [UInt8](repeating: 0, count: count)
            let length = output.withUnsafeMutableBytes { output in
                buffer.withUnsafeBytes { try? knowing.unprotect(UnsafeRawBufferPointer(rebasing: $0[..<count]), to: output) }
            }
            precondition(length == packet.count && Array(output[..<packet.count]) == packet, "what is protected comes back")
        }
    }
}

/// Packets, each led by its length in one octet, all through one receiver.
func attackPacket(_ bytes: UnsafeRawBufferPointer) {
    var statistics = ReceiveStatistics(clockRate: 8000)
    var events = TelephoneEventReceiver(clockRate: 8000)
    var latch = SourceLatch(
        signaled: SocketAddress(ip: .loopback4, port: 4000), payloads: [0, 8, 101], at: .zero)
    var now = Instant.zero
    var open = 0
    var at = 0
    while at < bytes.count {
        let count = Int(bytes[at])
        let end = min(bytes.count, at + 1 + count)
        let packet = UnsafeRawBufferPointer(rebasing: bytes[at + 1..<end])
        at = end
        now = now + .milliseconds(Int64(count))
        if let event = events.expire(at: now) { follow(event, &open) }
        let kind = PacketKind(packet)
        readReports(packet, &statistics, at: now)
        guard let rtp = RTPPacket(packet) else { continue }
        precondition(kind == .rtp || kind == .rtcp, "an RTP packet is told by its first octets")
        precondition(rtp.payload.count <= packet.count - 12)
        for index in 0..<rtp.contributorCount { use(rtp.contributor(index)) }
        use(rtp.payload.reduce(0) { $0 &+ Int($1) })
        use(rtp.headerExtension?.bytes.reduce(0) { $0 &+ Int($1) })
        let source = SocketAddress(ip: .loopback4, port: 4000 + UInt16(rtp.payloadType & 3))
        _ = latch.receive(from: source, ssrc: rtp.ssrc, sequence: rtp.sequence, payloadType: rtp.payloadType, at: now)
        _ = statistics.receive(
            ssrc: rtp.ssrc, sequence: rtp.sequence, timestamp: rtp.timestamp, at: now, measuresJitter: rtp.payloadType != 101)
        for event in events.receive(rtp.payload, sequence: rtp.sequence, timestamp: rtp.timestamp, at: now) {
            follow(event, &open)
        }
        precondition(events.deadline == nil || open == 1, "a deadline is one of an open press")
    }
    if let event = events.reset() { follow(event, &open) }
    precondition(open == 0, "every press ends")
    precondition(statistics.lostCount <= statistics.expectedCount)
    use((statistics.jitter, statistics.maximumJitter, statistics.makeReport(at: now)))
    use(Quality.score(lost: statistics.lostCount, expected: statistics.expectedCount))
}

private func follow(_ event: TelephoneEvent, _ open: inout Int) {
    precondition(event.code <= 16, "only events that are keys")
    open += event.phase == .began ? 1 : -1
    // One that was overtaken is told whole while a later one is open.
    precondition(0...2 ~= open, "a press begins, then ends")
}

private func readReports(_ bytes: UnsafeRawBufferPointer, _ statistics: inout ReceiveStatistics, at now: Instant) {
    guard var reader = RTCPReader(bytes) else { return }
    var count = 0
    while let packet = reader.next() {
        count += 1
        if let info = packet.senderInfo, let ssrc = packet.ssrc {
            statistics.receive(senderReport: info.time.middle, from: ssrc, at: now)
        }
        if packet.ssrc != nil {
            for index in 0..<packet.count {
                let report = packet.report(index)
                use(report.roundTrip(at: NTPTime(unixNanoseconds: now.nanoseconds)))
                precondition(packet.report(about: report.ssrc) != nil, "a report is found by its source")
            }
        }
        use(packet.voipMetrics(about: 1))
        use(packet.saysGoodbye(to: 1))
        use(packet.canonicalName(of: 1)?.count)
        use(statistics.makeReport(at: now))
    }
    precondition(count > 0 && count <= bytes.count / 4, "a chain has an end")
}
