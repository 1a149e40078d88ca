// Who hears the far side: the recorder, listeners, and the detector of keys as sound.

import Audio
import Basics
import RTP
import Reactor

extension MediaSession {
    /// Starts a recording; one at a time. A file that cannot be made ends it with `complete` false and the reason.
    package func record(_ request: RecordingRequest) throws(CallControlError) -> Recording {
        guard isReady else { throw .noMedia(operation: "record") }
        guard codec.isCoded else { throw .invalid(operation: "record", why: codec.notDecoded) }
        guard recorder == nil else { throw .invalid(operation: "record", why: "this call is being recorded already") }
        beginNow()
        let recorder = CallRecorder(request, rate: codec.sampleRate, services: services)
        self.recorder = recorder
        // Not weak, as with playbacks: the session closes its recorder, and then nothing is called any more.
        let lostBefore = lostPackets
        recorder.recording.stopRecorder = { [unowned self, recorder] in
            if self.recorder === recorder { self.recorder = nil }
            // A packet that was missing at the beginning may have come late.
            recorder.close(lost: farPacketTime * max(0, lostPackets - lostBefore))
        }
        recorder.onFailure = { [unowned self, unowned recorder] in
            if self.recorder === recorder { self.recorder = nil }
        }
        recorder.open()
        return recorder.recording
    }

    private var lostPackets: Int { Int(clamping: reception?.statistics.lostCount ?? 0) }

    func closeRecorder() {
        // Clears `recorder`.
        recorder?.recording.stop()
    }

    /// Reports speech, silence, tones and recordings of the far side.
    package func listen(_ request: ListenRequest) -> Listening {
        let listening = Listening()
        guard !isClosed else { return listening }
        beginNow()
        let listener = AudioListener(request, listening: listening, services: services)
        listeners.append(listener)
        listening.stopListening = { [unowned self, unowned listener] in listeners.removeAll { $0 === listener } }
        return listening
    }

    /// Somebody wants the far side's audio as it sounds.
    var isListening: Bool {
        guard codec.isCoded else { return false }
        return wantsInband || !listeners.isEmpty || bridge?.isTranscoded == true || conference?.takesSound == true
    }

    /// An audio packet of the far side, for all who hear.
    func hear(_ packet: RTPPacket, at now: Instant) {
        guard packet.payload.count <= MediaServices.mostPayload else { return }
        let codec = codec(ofPayload: packet.payloadType)
        recorder?.addFar(packet, codec: codec, at: now)
        guard isListening else { return }
        if wantsInband, inband == nil { inband = DTMFReceiver() }
        let rate = playoutRate
        if playout?.rate != rate { playout = Playout(codec, rate: rate, scratch: services.samples) }
        playout?.put(packet, codec)
    }

    /// What is decoded suits the detectors, the codec of the other leg, or a conference.
    private var playoutRate: Int {
        if conference != nil { return ConferenceFormat.rate(of: codec) }
        guard let bridge, bridge.isTranscoded else { return MediaServices.listeningRate }
        return min(codec.sampleRate, bridge.other.codec.sampleRate)
    }

    /// A packet time of what is heard, for detectors and for the other leg.
    func listen(at now: Instant) {
        if !isListening { playout = nil }
        if let playout {
            playout.next(playout.rate * packetTime / 1000, codecs: { codec(ofPayload: $0) }) { samples, isMissing in
                if let bridge, bridge.isTranscoded { bridge.other.takeForeign(samples, rate: playout.rate) }
                if conference != nil { speakInConference(samples, rate: playout.rate) }
                if inband != nil || !listeners.isEmpty {
                    playout.withListeningRate(samples) { detect($0, isMissing: isMissing, at: now) }
                }
            }
        }
        // Silence is also what does not come.
        for listener in listeners { listener.passTime(until: now) }
    }

    private func detect(_ samples: UnsafeBufferPointer<Int16>, isMissing: Bool, at now: Instant) {
        // A key that sounds goes on over a short gap.
        if isMissing { inband?.processMissing(samples.count) } else { inband?.process(samples) { report($0) } }
        for listener in listeners { listener.hear(samples, at: now) }
    }
}

extension Audio.AudioCodec {
    /// Why nothing can be done with audio of a codec that is not coded here, but passing it on.
    var notDecoded: String { "the call speaks \(name), which is passed on and cannot be decoded" }
    /// Why nothing but files in that codec can be played.
    var notEncoded: String { "the call speaks \(name), into which nothing can be encoded" }
}
