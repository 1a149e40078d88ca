// Where two streams of G.722 meet that were encoded apart. Step sizes and predictors of a G.722 decoder follow from all that it has heard. A prompt is
// encoded once for all calls; behind a loud end of another one its beginning would be heard up to 25 dB too loud, and it takes about
// 100 ms until the decoder's state is that of its own encoder. So the first 100 ms behind such a joint are encoded anew for the one call.
//
//   joint            decode the last 200 ms that were sent, and encode what came out: an encoder in the state of the far end's decoder
//   100 ms           each payload is decoded by itself and encoded by that encoder, as in a bridge that transcodes
//   behind           payloads go out as they are again
//
// Behind 100 ms of our silence nothing is needed by what begins: all encoders begin in the state that it leaves (G722StreamEncoder). What
// goes on in the middle, or is looped, was encoded in another state: its payloads before this one tell which. An encoder that waited, or went on
// for others, while something else was heard, is in the state of what it has encoded. A bridge's begins anew behind that.

/// What goes out as one stream of G.722. Belongs to one session.
package final class G722Seam {
    /// What a payload is of. Payloads of one kind follow each other, but for what `isJoint` says.
    package enum Source: Sendable {
        case silence, key, prompt, mix, conference, foreign

        /// Each payload follows the one before of the same source, whatever was heard between them, until another encoder `begins`.
        fileprivate var goesOn: Bool { self == .mix || self == .conference }
    }

    private var latest: Source?
    /// Of the encoder that goes on, and is heard or was heard last, the octets that it has made: `history` or more, or all.
    private var made: (source: Source, octets: [UInt8])?
    /// The last octets that were sent: `history` or more.
    private var sent: [UInt8] = []
    /// Octets of silence that were sent last.
    private var silent = 0
    /// Octets that are still to be encoded anew.
    private var left = 0
    private var coders: (decoder: G722StreamDecoder, encoder: G722StreamEncoder)?

    // In octets, of which a millisecond has eight.
    package static let history = 200 * 8
    private static let length = 100 * 8
    private static let settled = 100 * 8

    package init() {
        sent.reserveCapacity(2 * Self.history + Self.settled)
    }

    /// Each payload passes here before it is sent, and may be changed; its length stays.
    /// - Parameters:
    ///   - isJoint: it was not encoded as what follows the payload before, though it is of the same source.
    ///   - lead: the octets that were encoded before it, `history` at most; none: it begins. Asked for at joints only, and not for a mix
    ///     or a conference.
    package func pass(
        _ payload: UnsafeMutableRawBufferPointer, of source: Source, isJoint: Bool, lead: @autoclosure () -> [UInt8] = []
    ) {
        let isNew = isJoint || source != latest
        latest = source
        if source == .silence {
            end()
            silent += payload.count
        } else {
            if isNew { meet(source.goesOn ? past(of: source) : lead()) }
            if source.goesOn { keep(UnsafeRawBufferPointer(payload), of: source) }
            silent = 0
            if left > 0 { change(payload) }
        }
        note(UnsafeRawBufferPointer(payload))
    }

    /// Another encoder of the source begins.
    package func begins(_ source: Source) { made = (source, []) }

    private func keep(_ payload: UnsafeRawBufferPointer, of source: Source) {
        if made?.source != source { begins(source) }
        made?.octets.append(contentsOf: payload)
        if let count = made?.octets.count, count > 2 * Self.history { made?.octets.removeFirst(count - Self.history) }
    }

    private func past(of source: Source) -> [UInt8] {
        guard let made, made.source == source else { return [] }
        return made.octets.suffix(Self.history)
    }

    /// A payload was sent that another encoder made and none may change: what follows it is a joint.
    package func passed(_ payload: UnsafeRawBufferPointer) {
        latest = nil
        silent = 0
        end()
        note(payload)
    }

    private func note(_ payload: UnsafeRawBufferPointer) {
        sent.append(contentsOf: payload)
        if sent.count > 2 * Self.history { sent.removeFirst(sent.count - Self.history) }
    }

    private func meet(_ lead: [UInt8]) {
        let isSettled = silent >= Self.settled
        if isSettled, lead.isEmpty { return end() }
        let encoder = G722StreamEncoder(rate: 16000, isSettled: isSettled)
        if !isSettled {
            let farEnd = G722StreamDecoder(rate: 16000)
            sent.withUnsafeBytes { sent in
                Self.decode(UnsafeRawBufferPointer(rebasing: sent.suffix(Self.history)), farEnd) { samples, scratch in
                    _ = encoder.encode(samples, into: scratch)
                }
            }
        }
        let decoder = G722StreamDecoder(rate: 16000)
        if lead.count < Self.history { Self.settling.withUnsafeBytes { Self.decode($0, decoder) { _, _ in } } }
        lead.withUnsafeBytes { Self.decode($0, decoder) { _, _ in } }
        coders = (decoder, encoder)
        left = Self.length
    }

    /// What a stream that comes next was encoded behind.
    private static let settling: [UInt8] = {
        let encoder = G722StreamEncoder(rate: 16000, isSettled: false)
        let samples = G722Silence.samples(G722StreamEncoder.settlingOctets * 2)
        return [UInt8](unsafeUninitializedCapacity: G722StreamEncoder.settlingOctets) { bytes, count in
            count = samples.withUnsafeBufferPointer { encoder.encode($0, into: bytes) }
        }
    }()

    private func end() {
        left = 0
        coders = nil
    }

    private func change(_ payload: UnsafeMutableRawBufferPointer) {
        guard let (decoder, encoder) = coders else { return }
        Self.decode(UnsafeRawBufferPointer(payload), decoder) { samples, _ in
            _ = encoder.encode(samples, into: payload.bindMemory(to: UInt8.self))
        }
        left -= payload.count
        if left <= 0 { end() }
    }

    /// Gives the samples, and room for as many octets.
    private static func decode(
        _ payload: UnsafeRawBufferPointer, _ decoder: G722StreamDecoder,
        _ use: (UnsafeBufferPointer<Int16>, UnsafeMutableBufferPointer<UInt8>) -> Void
    ) {
        withUnsafeTemporaryAllocation(of: Int16.self, capacity: payload.count * 2) { samples in
            let count = decoder.decode(payload, into: samples)
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: payload.count) {
                use(UnsafeBufferPointer(rebasing: samples[..<count]), $0)
            }
        }
    }
}
