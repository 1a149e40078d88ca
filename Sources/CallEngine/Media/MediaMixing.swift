// What plays under everything else that plays: music under prompts. Both come as linear samples and go out as one stream. Without
// something under it, a prompt goes out as it was encoded for all calls, and nothing of this exists.

import Audio
import Basics
import Reactor

/// The layers of what a session plays, while there are two. Belongs to the session's loop.
final class PlaybackMixer {
    let codec: Audio.AudioCodec
    /// In milliseconds.
    let packetTime: Int
    /// What both layers have to be encoded as.
    let linear: Audio.AudioCodec
    /// nil once it is over.
    var under: PromptPlayer?
    private let encoder: FrameEncoder
    private var sum: [Int32]
    private var hasSound = false

    init(_ codec: Audio.AudioCodec, packetTime: Int) {
        self.codec = codec
        self.packetTime = packetTime
        linear = Self.linear(for: codec, packetTime: packetTime)
        encoder = FrameEncoder(codec, rate: linear.sampleRate, isLive: true)
        sum = [Int32](repeating: 0, count: linear.samples(inMilliseconds: packetTime))
    }

    /// At 16 kHz where more than a telephone's band goes out.
    private static func linear(for codec: Audio.AudioCodec, packetTime: Int) -> Audio.AudioCodec {
        let wide = Audio.AudioCodec.l16(rate: 16000)
        return codec.sampleRate > 8000 && wide.packetTime(atMost: packetTime) == packetTime ? wide : .l16(rate: 8000)
    }

    /// Adds a frame of a layer: 16-bit samples in network order.
    func add(_ payload: UnsafeRawBufferPointer) {
        hasSound = true
        for index in 0..<min(sum.count, payload.count / 2) {
            sum[index] += Int32(Int16(bitPattern: UInt16(payload[index * 2]) << 8 | UInt16(payload[index * 2 + 1])))
        }
    }

    /// Encodes what was added to the front of `output`; nil when nothing was. 0 octets are a pause.
    func next(to output: UnsafeMutableRawBufferPointer) -> Int? {
        guard hasSound else { return nil }
        hasSound = false
        let octets = withUnsafeTemporaryAllocation(of: Int16.self, capacity: sum.count) { samples in
            for index in sum.indices {
                samples[index] = Int16(clamping: sum[index])
                sum[index] = 0
            }
            return encoder.encode(UnsafeBufferPointer(samples), into: output.bindMemory(to: UInt8.self))
        }
        return codec.isPause(octets: octets) ? 0 : octets
    }
}

extension MediaSession {
    /// Starts playing under what plays, in place of what played there.
    func playUnder(_ request: PlaybackRequest, _ playback: Playback) {
        stopUnder(.stopped)
        guard bridge == nil, conference == nil, echo == nil else {
            playback.finish(.failed("nothing can be played under a connected call"))
            return
        }
        guard codec.isCoded else { return playback.finish(.failed(codec.notDecoded)) }
        beginNow()
        if mixer == nil { seam?.begins(.mix) }
        let mixer = mixer ?? PlaybackMixer(codec, packetTime: packetTime)
        self.mixer = mixer
        // What plays already goes on as the upper layer.
        player?.change(codec: mixer.linear, packetTime: packetTime, from: services.prompts)
        let under = PromptPlayer(request, playback: playback, codec: mixer.linear, packetTime: packetTime)
        mixer.under = under
        playback.stopAudio = { [unowned self, unowned under] in
            under.cancel()
            if self.mixer?.under === under { self.mixer?.under = nil }
        }
        under.onFailure = { [unowned self, unowned under] reason in endUnder(under, .failed(reason)) }
        under.load(from: services.prompts)
    }

    func stopUnder(_ end: PlaybackEnd) {
        if let under = mixer?.under { endUnder(under, end) }
    }

    private func endUnder(_ under: PromptPlayer, _ end: PlaybackEnd) {
        guard mixer?.under === under else { return }
        mixer?.under = nil
        under.cancel()
        under.playback.finish(end)
    }

    /// The codec or packet time has changed.
    func changeMixer() {
        guard let old = mixer else { return }
        let new = PlaybackMixer(codec, packetTime: packetTime)
        seam?.begins(.mix)
        new.under = old.under
        mixer = new
        new.under?.change(codec: new.linear, packetTime: packetTime, from: services.prompts)
        player?.change(codec: new.linear, packetTime: packetTime, from: services.prompts)
    }

    /// The frame of this tick, of both layers, in `services.payload`; nil: neither has one.
    func nextMixed(_ mixer: PlaybackMixer) -> Int? {
        // In this order: the end of the upper one may start the next.
        let under = mixer.under
        let isUnderOver = take(under, mixer)
        let upper = player
        let isUpperOver = take(upper, mixer)
        let octets = mixer.next(to: services.payload)
        if isUnderOver, let under { endUnder(under, .finished) }
        if isUpperOver, let upper { end(upper, .finished) }
        if !isClosed, mixer.under == nil, player == nil, self.mixer === mixer { self.mixer = nil }
        return octets
    }

    /// Adds a player's frame; whether there will be no other.
    private func take(_ player: PromptPlayer?, _ mixer: PlaybackMixer) -> Bool {
        guard let player else { return false }
        switch player.next(to: services.payload) {
        case .payload(let octets): mixer.add(UnsafeRawBufferPointer(rebasing: services.payload[..<octets]))
        case .silence: mixer.add(UnsafeRawBufferPointer(start: nil, count: 0))
        case .notYet: return false
        case .over: return true
        }
        return player.isOver
    }
}
