// What the media sessions of one loop share: ports, clock, prompts; and the workers that all loops share.

import Audio
package import Basics
import RTP
package import Reactor
import SDP

/// The threads and the cache that the media of all loops share.
package final class MediaWorkers: Sendable {
    /// Reads and encodes prompts.
    package let prompts: WorkerPool
    /// One thread, which keeps the order: writes recordings.
    package let recorder: WorkerPool
    let cache: Locked<PromptCache>
    /// Gets prompts that are no files yet; nil: nobody does.
    let supply: (any PromptSupply)?

    private init(prompts: WorkerPool, recorder: WorkerPool, cacheBudget: Int, supply: (any PromptSupply)?) {
        self.prompts = prompts
        self.recorder = recorder
        self.supply = supply
        cache = Locked(PromptCache(budget: cacheBudget))
    }

    /// With threads of its own. `cacheBudget`: bytes of encoded prompts that are kept.
    package convenience init(cacheBudget: Int = 64 << 20, supply: (any PromptSupply)? = nil) throws(SystemError) {
        self.init(
            prompts: try WorkerPool(name: "prompts", threads: 2, limit: 4096),
            recorder: try WorkerPool(name: "recorder", threads: 1, limit: 4096), cacheBudget: cacheBudget, supply: supply)
    }

    /// Without threads: for virtual loops.
    package static func inline(cacheBudget: Int = 64 << 20, supply: (any PromptSupply)? = nil) -> MediaWorkers {
        MediaWorkers(
            prompts: .inline(name: "prompts"), recorder: .inline(name: "recorder"), cacheBudget: cacheBudget, supply: supply)
    }

    /// Bytes of encoded prompts that are kept, and how often one was found there, or not.
    package var promptCache: (bytes: Int, hits: Int, misses: Int) {
        cache.withLock { ($0.memory, $0.hits, $0.misses) }
    }

    /// Ends the threads after all sessions are closed. Once.
    package func stop() {
        prompts.stop()
        recorder.stop()
    }
}

/// Counts of a loop's media, for metrics.
package struct MediaCounters: Equatable, Sendable {
    /// Sessions that are open, and all that ever were.
    package internal(set) var sessions = 0
    package internal(set) var sessionsOpened: UInt64 = 0
    package internal(set) var packetsSent: UInt64 = 0
    package internal(set) var packetsReceived: UInt64 = 0
    /// Forwarded between bridged legs; each is in the two above as well.
    package internal(set) var packetsForwarded: UInt64 = 0
    /// Sent with what a bridged leg said in another codec; each is in `packetsSent` as well.
    package internal(set) var packetsTranscoded: UInt64 = 0
    /// Sent to tell a pause (comfort noise); each is in `packetsSent` as well.
    package internal(set) var noiseSent: UInt64 = 0
    /// Conferences and their members at this moment, those who were ever let in, and those who were not.
    package internal(set) var conferences = 0
    package internal(set) var conferenceMembers = 0
    package internal(set) var conferenceMembersTotal: UInt64 = 0
    package internal(set) var conferenceRefusals: UInt64 = 0
    /// Frames that were encoded for members: fewer than were sent, since those who hear the same share them.
    package internal(set) var conferenceEncodings: UInt64 = 0
    /// Frames that a member or its conference could not take, and blocks of 20 ms that a conference left out since its loop was late.
    package internal(set) var conferenceDrops: UInt64 = 0
    package internal(set) var conferenceSkips: UInt64 = 0
    package internal(set) var reportsSent: UInt64 = 0
    package internal(set) var reportsReceived: UInt64 = 0
    /// Dropped: no RTP and no RTCP, or broken.
    package internal(set) var droppedMalformed: UInt64 = 0
    /// Dropped: from an address that is not the far side's.
    package internal(set) var droppedForeign: UInt64 = 0
    /// Dropped: a payload number that was not negotiated.
    package internal(set) var droppedUnknownPayload: UInt64 = 0
    /// Dropped: came twice, or belongs to no stream that is known.
    package internal(set) var droppedDuplicate: UInt64 = 0
    /// Dropped: SRTP whose tag is wrong, or no SRTP where there should be.
    package internal(set) var droppedUnauthentic: UInt64 = 0
    /// Dropped: SRTP that came before.
    package internal(set) var droppedReplayed: UInt64 = 0
    /// Dropped: the system took no more.
    package internal(set) var droppedOnSending: UInt64 = 0
    /// Frames that did not get to the recorder.
    package internal(set) var recorderDrops: UInt64 = 0
    /// Keys that came a second time by another way.
    package internal(set) var digitsMerged: UInt64 = 0
    package internal(set) var timeouts: UInt64 = 0
    package internal(set) var clock = MediaClockCounters()
    package internal(set) var ports = RTPPortCounters()

    package init() {}
}

/// Made once for each loop; belongs to it.
package final class MediaServices {
    package let loop: EventLoop
    package let workers: MediaWorkers
    let clock: MediaClock
    let pool: RTPPortPool
    let prompts: PromptLibrary
    let bindTo: IPAddress
    /// Which address of this end a peer of an offer should know; nil when there is no way to it.
    package var localIP: (_ peer: IPAddress) -> IPAddress?
    @exclusivity(unchecked) var counting = MediaCounters()
    /// The packet that is being built, and a frame that is being decoded: one at a time.
    let packet = UnsafeMutableRawBufferPointer.allocate(
        byteCount: RTPHeader.size + mostPayload + SRTPSuite.mostTrailer, alignment: 16)
    /// The part of `packet` behind the header.
    let payload: UnsafeMutableRawBufferPointer
    /// The packet that was decrypted last; a datagram has room.
    let opened = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
    let samples = UnsafeMutableBufferPointer<Int16>.allocate(capacity: mostSamples)
    @exclusivity(unchecked) private var random: SeededRandom
    /// What the last session could do: most have the same settings.
    @exclusivity(unchecked) private var known: (codecs: [String], capabilities: AudioCapabilities)?
    private var silences: [SilenceKind: EncodedPrompt] = [:]

    private struct SilenceKind: Hashable {
        var codec: Audio.AudioCodec
        var packetTime: Int
    }
    /// Payloads beyond that are not decoded or forwarded.
    static let mostPayload = 4096
    /// Of what detectors take, in Hz: keys, tones and speech are told by what the telephone always carried.
    static let listeningRate = 8000
    /// What is decoded of one packet: 120 ms at 48 kHz, as much as a packet of Opus can hold.
    static let mostSamples = 5760

    /// - Parameters:
    ///   - ports: this loop's share of the RTP range; even ports take RTP, the odd ones above RTCP.
    ///   - bindTo: `any4` or `any6`, or one address of this host.
    ///   - seed: for SSRCs and the like, in tests; nil takes the system's randomness.
    package init(
        loop: EventLoop, ports: ClosedRange<UInt16>, bindTo: IPAddress, workers: MediaWorkers, seed: UInt64? = nil
    ) {
        self.loop = loop
        self.bindTo = bindTo
        localIP = { [unowned loop] in loop.localAddress(toReach: $0) }
        self.workers = workers
        payload = UnsafeMutableRawBufferPointer(rebasing: packet[RTPHeader.size..<RTPHeader.size + Self.mostPayload])
        clock = MediaClock(loop: loop)
        pool = RTPPortPool(loop: loop, ip: bindTo, range: ports)
        prompts = PromptLibrary(loop: loop, workers: workers)
        random = SeededRandom(seed: seed ?? UInt64.random(in: .min ... .max))
    }

    deinit {
        packet.deallocate()
        opened.deallocate()
        samples.deallocate()
    }

    /// What happened so far.
    package var counters: MediaCounters {
        var all = counting
        all.clock = clock.counters
        all.ports = pool.counters
        return all
    }

    /// What a session with these settings can do; nil when none of its codecs is built.
    func capabilities(_ settings: MediaSettings) -> AudioCapabilities? {
        if let known = known?.capabilities, self.known?.codecs == settings.codecs,
            known.telephoneEvents == settings.telephoneEvents, known.comfortNoise == settings.comfortNoise,
            known.packetTime == settings.packetTime
        {
            return known
        }
        let codecs = settings.encodings
        guard !codecs.isEmpty else { return nil }
        let capabilities = AudioCapabilities(
            codecs: codecs, telephoneEvents: settings.telephoneEvents, comfortNoise: settings.comfortNoise,
            packetTime: settings.packetTime)
        known = (settings.codecs, capabilities)
        return capabilities
    }

    /// What a session sends while nothing plays. Codecs come in few variants, so all of them are kept.
    func silence(_ codec: Audio.AudioCodec, packetTime: Int) -> EncodedPrompt {
        let kind = SilenceKind(codec: codec, packetTime: packetTime)
        if let known = silences[kind] { return known }
        if silences.count >= 64 { silences = [:] }
        let made = EncodedPrompt.silence(codec, packetTime: packetTime)
        silences[kind] = made
        return made
    }

    func randomBits() -> UInt64 { random.next() }

    /// Releases the sockets. All sessions are closed before.
    package func close() {
        precondition(counting.sessions == 0 && clock.sessionCount == 0, "a media session was not closed")
        pool.close()
        prompts.forget()
    }
}
