// The media of one call leg: RTP, RTCP, offer/answer, prompts, recording, keys. No SIP in it. One file holds one part:
//
//   MediaNegotiation  descriptions and what follows from them     MediaReceiving   from the socket to keys, recorder, listeners
//   MediaSending      the tick and what goes out in it            MediaReports     RTCP
//   MediaPlaying      prompts                                     MediaDigits      keys of both directions
//   MediaMixing       what plays under prompts
//   MediaListening    recorder, listeners, in-band keys           MediaBridging    forwarding between two legs
//   MediaEcho         what is heard goes back                     MediaCipher      SRTP
//   MediaConference   what is heard goes to a conference          MediaNoise       pauses as comfort noise
//   MediaKeyRelaying  keys between two legs

import Audio
package import Basics
import RTP
package import Reactor
import SDP

/// Whom a session tells what happens: a call.
package protocol MediaUser: AnyObject {
    /// Nothing came for `rtpTimeout` although media is expected; told again after each further one.
    func mediaTimedOut()
    /// The first packet of the far side was accepted. Once.
    func firstMediaArrived()
    /// A few seconds have passed since the last time: its report has new figures.
    func mediaMeasured()
}

/// The media of one leg. Belongs to its loop.
///
/// What each packet touches is `@exclusivity(unchecked)`: checking takes a tenth of a packet's time, and no mutation of these calls out.
package final class MediaSession {
    // MARK: What each tick touches, together

    let rtp: DatagramSocket
    let services: MediaServices
    package let loop: EventLoop
    @exclusivity(unchecked) package private(set) var isClosed = false
    /// The agreement lets us send, and tells where to.
    @exclusivity(unchecked) var maySend = false
    @exclusivity(unchecked) var expectsMedia = false
    @exclusivity(unchecked) var hasHeard = false
    /// The RTP socket is connected to the destination.
    @exclusivity(unchecked) var isConnected = false
    /// Keys as sound are listened for; the receiver is made with the first packet.
    @exclusivity(unchecked) var wantsInband = false
    @exclusivity(unchecked) var sendPayload: UInt8 = 0
    /// The number of the latest audio packet, to whose clock jitter is measured; `max` before the agreement's first one.
    @exclusivity(unchecked) var heardPayload = UInt8.max
    @exclusivity(unchecked) var unitsPerTick: UInt32 = 160
    /// -1: not on the clock.
    @exclusivity(unchecked) var clockDue = -1
    /// Slices of the clock between two ticks.
    @exclusivity(unchecked) var clockPeriod = 20 / MediaClock.sliceMilliseconds
    @exclusivity(unchecked) var player: PromptPlayer? {
        didSet { playerPlace = ObjectPlace(player) }
    }
    /// nil before the first packet.
    @exclusivity(unchecked) var reception: MediaReception? {
        didSet { receptionPlace = ObjectPlace(reception) }
    }
    /// nil: the stream is not encrypted.
    @exclusivity(unchecked) var cipher: MediaCipher?
    @exclusivity(unchecked) private(set) var playerPlace = ObjectPlace(nil)
    @exclusivity(unchecked) private(set) var receptionPlace = ObjectPlace(nil)
    @exclusivity(unchecked) var recorder: CallRecorder?
    /// nil but with G.722.
    @exclusivity(unchecked) var seam: G722Seam?
    /// nil costs nothing.
    @exclusivity(unchecked) var trace: CallTrace?
    @exclusivity(unchecked) var inband: DTMFReceiver?
    /// The far side has sent keys as events.
    var sendsEvents = false
    /// A key that sounds here is sent to the bridged leg's far side as an event.
    var relaysSound = false
    @exclusivity(unchecked) var listeners: [AudioListener] = []
    /// Made with the first packet that somebody listens to.
    @exclusivity(unchecked) var playout: Playout?
    @exclusivity(unchecked) var bridge: BridgeEnd?
    @exclusivity(unchecked) var conference: ConferenceMember?
    /// While something plays under what plays.
    @exclusivity(unchecked) var mixer: PlaybackMixer?
    /// nil: comfort noise was not agreed on.
    @exclusivity(unchecked) var comfortNoise: ComfortNoiseSender?
    /// What is heard goes back.
    @exclusivity(unchecked) var echo: EchoEnd?
    /// The source is fixed from then on; `never` when that has been seen to.
    @exclusivity(unchecked) var settlesAt = Instant.never
    /// When an open key ends by itself.
    @exclusivity(unchecked) var keyDeadline = Instant.never
    @exclusivity(unchecked) var nextReport = Instant.never
    /// When the latest packet of the far side arrived.
    @exclusivity(unchecked) package internal(set) var lastHeard = Instant.zero
    /// `settings.rtpTimeout`; `Int64.max` without one.
    let timeout: Int64
    /// What came to the ports before belongs to a former call.
    let opened: Instant
    @exclusivity(unchecked) var stream: RTPSender
    @exclusivity(unchecked) var receivable = PayloadSet()
    @exclusivity(unchecked) var eventPayloads = PayloadSet()
    @exclusivity(unchecked) var eventSender: TelephoneEventSender?
    /// Keys of the other leg of a bridge, while there are any.
    @exclusivity(unchecked) var relayed: RelayedKeys?
    /// Keys as sound, before everything else.
    @exclusivity(unchecked) var keySound: KeySound?

    // MARK: The agreement

    let settings: MediaSettings
    /// Its own until it is closed.
    let ports: RTPPortPair
    @exclusivity(unchecked) var negotiation: OfferAnswer
    /// nil before the first agreement.
    @exclusivity(unchecked) var latch: SourceLatch?
    @exclusivity(unchecked) var codec = Audio.AudioCodec.pcmu
    @exclusivity(unchecked) var silence: EncodedPrompt
    @exclusivity(unchecked) var silencePacket = 0
    /// Which audio but `codec` may come under which number; the rest of what was agreed on is in `receivable`.
    @exclusivity(unchecked) var audioPayloads: [(payload: UInt8, codec: Audio.AudioCodec)] = []
    var sendEventPayload: UInt8?
    @exclusivity(unchecked) var packetTime = 20
    /// The longest packet that the far side takes (a=maxptime), in units of the codec's clock.
    @exclusivity(unchecked) var mostUnits = Int.max
    /// Our description is with the far side: we send and expect media.
    @exclusivity(unchecked) var isStarted = false

    // MARK: What goes on

    /// Outlives the session, which `close` ends.
    package unowned var user: (any MediaUser)?
    package var digits: DigitInbox { settings.digits }
    var keyWaiter: Waiter<Bool>?
    var isSendingDigits = false
    /// The keys that are being sent are secret.
    var sendsSecretKeys = false
    /// Keys that may come as events: to an offer of several clocks the far side may send each codec's own.
    var eventFormats: [TelephoneEventFormat] = []
    var merger = DigitMerger()
    var inbandEnd: (digit: Digit, position: Int)?
    var clockSpread = 0

    // MARK: Reports

    var hasReported = false
    var packetsAtReport: UInt32 = 0
    /// What the far side tells about our stream; nil before its first report.
    var hearing: FarHearing?
    let canonicalName: UInt64

    /// Takes an RTP port pair at once; throws when there is none.
    package init(services: MediaServices, settings: MediaSettings) throws(MediaError) {
        guard services.bindTo.isV6 || !settings.localIP.isV6 else {
            throw .unsupported("media over IPv6 is not listened for", warnCode: 301)
        }
        guard let capabilities = services.capabilities(settings) else { throw .noCommonCodec }
        let ports = try services.pool.take()
        self.services = services
        self.settings = settings
        self.ports = ports
        rtp = ports.rtp
        timeout = settings.rtpTimeout > .zero ? settings.rtpTimeout.nanoseconds : .max
        loop = services.loop
        opened = services.loop.now
        let random = services.randomBits()
        stream = RTPSender(
            ssrc: UInt32(truncatingIfNeeded: random), sequence: UInt16(truncatingIfNeeded: random >> 32) >> 1,
            timestamp: UInt32(truncatingIfNeeded: services.randomBits()))
        canonicalName = services.randomBits()
        silence = services.silence(.pcmu, packetTime: 20)
        negotiation = OfferAnswer(
            capabilities: capabilities, local: SocketAddress(ip: settings.localIP, port: ports.rtp.localAddress.port),
            // Of ten digits, so that descriptions have one length, and below 2^31, which old parsers ask for.
            sessionID: 1_000_000_000 + services.randomBits() % 1_000_000_000, security: settings.security)
        services.counting.sessions += 1
        services.counting.sessionsOpened += 1
        ports.session = self
    }

    /// What arrives is followed from now on.
    func receive() -> MediaReception {
        if let reception { return reception }
        let reception = MediaReception(clockRate: UInt32(codec.clockRate))
        self.reception = reception
        return reception
    }

    deinit {
        precondition(isClosed, "a media session ends with close()")
    }

    /// Our description has gone to the far side (183 or 200): from now on we send, also silence, and expect media. Playing, sending keys
    /// and connecting do this by themselves, and so does an answer to our offer. Once or more: a 200 after a 183 lets the far side's
    /// address change once more.
    package func start() {
        guard isReady else { return }
        if isStarted { if let agreement = negotiation.agreement { reopenLatch(agreement) } } else { begin() }
    }

    /// Goes on the clock. Silence begins a packet time later, so that a call that is over before that has sent nothing at all.
    func begin() {
        guard !isStarted, isReady else { return }
        isStarted = true
        lastHeard = loop.now
        nextReport = loop.now + nextReportDelay()
        services.clock.add(self)
    }

    /// There is something to send or to hear: the first tick comes within a packet time.
    func beginNow() {
        begin()
        if isStarted { services.clock.hasten(self) }
    }

    /// Counts of the stream, also after the end.
    package var report: MediaReport {
        var report = MediaReport()
        report.sent = UInt64(stream.packetCount)
        if let statistics = reception?.statistics {
            report.received = statistics.receivedCount
            report.lost = Int64(statistics.lostCount)
            report.late = statistics.lateCount
            report.jitter = statistics.jitter
            report.maximumJitter = statistics.maximumJitter
        }
        report.roundTrip = roundTrip
        report.srtp = srtpSuite
        report.remote = hearing?.report
        report.oneWay = oneWay
        report.clippedStart = clippedStart
        return report
    }

    /// Ends it: RTCP BYE, the recording is closed, the ports go back. Once or more.
    package func close() {
        guard !isClosed else { return }
        disconnect()
        conference?.leave()
        sendGoodbye()
        services.clock.remove(self)
        ports.session = nil
        isClosed = true
        services.pool.giveBack(ports, wasHeard: hasHeard)
        services.counting.sessions -= 1
        services.counting.digitsMerged += merger.mergedCount
        user = nil
        stopPlaying(.stopped)
        stopUnder(.stopped)
        keySound = nil
        keyWaiter?.resume(returning: false)
        keyWaiter = nil
        closeRecorder()
        for listener in listeners { listener.listening.stopListening = nil }
        listeners = []
        wantsInband = false
        inband = nil
        playout = nil
        reception?.events = nil
    }
}

/// What a session knows of the far side's stream.
final class MediaReception {
    @exclusivity(unchecked) var statistics: ReceiveStatistics
    /// Made with the first event.
    @exclusivity(unchecked) var events: TelephoneEventReceiver?

    init(clockRate: UInt32) { statistics = ReceiveStatistics(clockRate: clockRate) }
}
