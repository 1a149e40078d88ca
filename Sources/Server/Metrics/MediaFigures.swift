// The part of /metrics about media: packets, what was dropped and why, ports, and whether the clock of the packets keeps time.

import CallEngine

extension MetricsText {
    /// Adds what the media of all loops counted since the start, calls that still run included.
    mutating func add(_ media: MediaCounters) {
        add("ringwright_rtp_sessions", .gauge, "Media sessions at this moment: one a leg.", Double(media.sessions))
        add("ringwright_rtp_sessions_total", .counter, "Media sessions that began.", Double(media.sessionsOpened))
        add(
            "ringwright_rtp_packets_total", .counter, "RTP packets; those of bridges (forwarded, transcoded) are among the sent.",
            [
                ([("direction", "sent")], Double(media.packetsSent)),
                ([("direction", "received")], Double(media.packetsReceived)),
                ([("direction", "forwarded")], Double(media.packetsForwarded)),
                ([("direction", "transcoded")], Double(media.packetsTranscoded))
            ])
        add("ringwright_rtp_comfort_noise_total", .counter, "Packets sent that tell a pause.", Double(media.noiseSent))
        add(
            "ringwright_rtp_dropped_total", .counter, "Packets that were not taken or not sent, by the reason.",
            [
                ([("reason", "malformed")], Double(media.droppedMalformed)),
                ([("reason", "foreign-source")], Double(media.droppedForeign)),
                ([("reason", "unknown-payload")], Double(media.droppedUnknownPayload)),
                ([("reason", "duplicate")], Double(media.droppedDuplicate)),
                ([("reason", "unauthentic")], Double(media.droppedUnauthentic)),
                ([("reason", "replayed")], Double(media.droppedReplayed)),
                ([("reason", "former-call")], Double(media.ports.stray)),
                ([("reason", "not-sent")], Double(media.droppedOnSending))
            ])
        add(
            "ringwright_rtcp_packets_total", .counter, "RTCP packets.",
            [([("direction", "sent")], Double(media.reportsSent)), ([("direction", "received")], Double(media.reportsReceived))])
        add("ringwright_rtp_timeouts_total", .counter, "Times that nothing was heard for rtp.timeout.", Double(media.timeouts))
        add(
            "ringwright_rtp_port_pairs", .gauge, "Pairs of ports: used by calls at this moment, and opened so far.",
            [([("state", "in-use")], Double(media.ports.inUse)), ([("state", "open")], Double(media.ports.opened))])
        add("ringwright_rtp_port_refusals_total", .counter, "Sessions that got no ports.", Double(media.ports.refused))
        add(
            "ringwright_rtp_port_short_rests_total", .counter, "Ports used again before their rest was over, for want of others.",
            Double(media.ports.restedLess))
        add(
            "ringwright_media_slices_total", .counter, "Slices of the media clock that held sessions.", Double(media.clock.slices)
        )
        add("ringwright_media_late_slices_total", .counter, "Slices that began late.", Double(media.clock.lateSlices))
        add(
            "ringwright_media_skipped_ticks_total", .counter, "Packet times that were left out because the loop was too late.",
            Double(media.clock.skippedTicks))
        add(
            "ringwright_media_worst_lateness_seconds", .gauge, "The latest that a slice began since the start.",
            Double(media.clock.worstLateness) / 1e9)
        add("ringwright_conferences", .gauge, "Conferences at this moment.", Double(media.conferences))
        add("ringwright_conference_members", .gauge, "Calls in conferences at this moment.", Double(media.conferenceMembers))
        add(
            "ringwright_conference_joins_total", .counter, "Calls that came to a conference, by what became of that.",
            [
                ([("outcome", "joined")], Double(media.conferenceMembersTotal)),
                ([("outcome", "full")], Double(media.conferenceRefusals))
            ])
        add(
            "ringwright_conference_encoded_frames_total", .counter,
            "Frames encoded for members; those who hear the same share them.", Double(media.conferenceEncodings))
        add(
            "ringwright_conference_dropped_frames_total", .counter, "Frames that a conference or its member could not take.",
            Double(media.conferenceDrops))
        add(
            "ringwright_conference_skipped_blocks_total", .counter,
            "Blocks of 20 ms that conferences left out because their loop was late.", Double(media.conferenceSkips))
        add(
            "ringwright_recorder_dropped_frames_total", .counter, "Frames that the recorder's thread could not take.",
            Double(media.recorderDrops))
    }
}
