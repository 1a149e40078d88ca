// The sums of what the loops counted about media, for metrics.

extension MediaCounters {
    package mutating func add(_ other: MediaCounters) {
        sessions += other.sessions
        sessionsOpened += other.sessionsOpened
        packetsSent += other.packetsSent
        packetsReceived += other.packetsReceived
        packetsForwarded += other.packetsForwarded
        packetsTranscoded += other.packetsTranscoded
        noiseSent += other.noiseSent
        conferences += other.conferences
        conferenceMembers += other.conferenceMembers
        conferenceMembersTotal += other.conferenceMembersTotal
        conferenceRefusals += other.conferenceRefusals
        conferenceEncodings += other.conferenceEncodings
        conferenceDrops += other.conferenceDrops
        conferenceSkips += other.conferenceSkips
        reportsSent += other.reportsSent
        reportsReceived += other.reportsReceived
        droppedMalformed += other.droppedMalformed
        droppedForeign += other.droppedForeign
        droppedUnknownPayload += other.droppedUnknownPayload
        droppedDuplicate += other.droppedDuplicate
        droppedUnauthentic += other.droppedUnauthentic
        droppedReplayed += other.droppedReplayed
        droppedOnSending += other.droppedOnSending
        recorderDrops += other.recorderDrops
        digitsMerged += other.digitsMerged
        timeouts += other.timeouts
        clock.add(other.clock)
        ports.add(other.ports)
    }
}

extension MediaClockCounters {
    mutating func add(_ other: MediaClockCounters) {
        ticks += other.ticks
        slices += other.slices
        lateSlices += other.lateSlices
        skippedTicks += other.skippedTicks
        worstLateness = max(worstLateness, other.worstLateness)
    }
}

extension RTPPortCounters {
    mutating func add(_ other: RTPPortCounters) {
        inUse += other.inUse
        opened += other.opened
        taken += other.taken
        refused += other.refused
        lackedDescriptors += other.lackedDescriptors
        restedLess += other.restedLess
        stray += other.stray
    }
}

extension Engine {
    /// What all loops counted about media. Not from a loop.
    package var mediaCounters: MediaCounters {
        collect { $0.services.counters }.reduce(into: MediaCounters()) { $0.add($1) }
    }
}
