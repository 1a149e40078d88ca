// G.711: both companding laws by tables (ITU-T G.711; bit-exact with the reference conversion of ITU-T G.191).
// One byte is one sample at 8 kHz. Nothing here knows packets or files.

/// A companding law of ITU-T G.711.
package enum G711Law: Sendable, CaseIterable {
    /// µ-law, RTP's PCMU.
    case mu
    /// A-law, RTP's PCMA.
    case a

    /// The byte of a zero sample.
    package var silence: UInt8 { self == .mu ? 0xFF : 0xD5 }

    /// Encodes `samples` into `bytes`, one byte a sample; `bytes` must be at least as long.
    /// - Returns: how many bytes were written: `samples.count`.
    @discardableResult
    package func encode(_ samples: UnsafeBufferPointer<Int16>, into bytes: UnsafeMutableBufferPointer<UInt8>) -> Int {
        precondition(bytes.count >= samples.count, "a G.711 byte for each sample")
        switch self {
        case .mu:
            Self.muCodes.withUnsafeBufferPointer { codes in
                for index in samples.indices { bytes[index] = codes[Int(UInt16(bitPattern: samples[index]) >> 2)] }
            }
        case .a:
            Self.aCodes.withUnsafeBufferPointer { codes in
                for index in samples.indices { bytes[index] = codes[Int(UInt16(bitPattern: samples[index]) >> 4)] }
            }
        }
        return samples.count
    }

    /// Decodes `bytes` into `samples`, one sample a byte; `samples` must be at least as long.
    /// - Returns: how many samples were written: `bytes.count`.
    @discardableResult
    package func decode(_ bytes: UnsafeBufferPointer<UInt8>, into samples: UnsafeMutableBufferPointer<Int16>) -> Int {
        precondition(samples.count >= bytes.count, "a sample for each G.711 byte")
        (self == .mu ? Self.muSamples : Self.aSamples).withUnsafeBufferPointer { table in
            for index in bytes.indices { samples[index] = table[Int(bytes[index])] }
        }
        return bytes.count
    }

    /// Changes bytes of this law into bytes of the other, in place.
    package func convertToOther(_ bytes: UnsafeMutableBufferPointer<UInt8>) {
        (self == .mu ? Self.muToA : Self.aToMu).withUnsafeBufferPointer { table in
            for index in bytes.indices { bytes[index] = table[Int(bytes[index])] }
        }
    }

    /// One sample as a code.
    package func encode(_ sample: Int16) -> UInt8 {
        self == .mu ? Self.muCodes[Int(UInt16(bitPattern: sample) >> 2)] : Self.aCodes[Int(UInt16(bitPattern: sample) >> 4)]
    }

    /// One code as a sample.
    package func decode(_ byte: UInt8) -> Int16 {
        self == .mu ? Self.muSamples[Int(byte)] : Self.aSamples[Int(byte)]
    }

    // MARK: Tables

    /// By the 14 upper bits of a sample, as an unsigned index.
    private static let muCodes: [UInt8] = (0..<16384).map { muCode(Int16(truncatingIfNeeded: $0 << 2) >> 2) }
    /// By the 12 upper bits of a sample, as an unsigned index.
    private static let aCodes: [UInt8] = (0..<4096).map { aCode(Int16(truncatingIfNeeded: $0 << 4) >> 4) }
    private static let muSamples: [Int16] = (0...255).map { muSample(UInt8($0)) }
    private static let aSamples: [Int16] = (0...255).map { aSample(UInt8($0)) }
    private static let muToA: [UInt8] = (0...255).map { G711Law.a.encode(muSample(UInt8($0))) }
    private static let aToMu: [UInt8] = (0...255).map { G711Law.mu.encode(aSample(UInt8($0))) }

    /// `value` is a 14-bit sample. The magnitude of a negative one is its ones' complement, as G.191 has it: so -1 and 0
    /// share a magnitude and differ in the sign bit.
    private static func muCode(_ value: Int16) -> UInt8 {
        let magnitude = min((value < 0 ? ~Int(value) : Int(value)) + 33, 0x1FFF)
        var segment = 0
        while magnitude >> (segment + 6) != 0 { segment += 1 }
        let step = (magnitude >> (segment + 1)) & 0x0F
        return ~UInt8((value < 0 ? 0x80 : 0) | segment << 4 | step)
    }

    private static func muSample(_ code: UInt8) -> Int16 {
        let bits = Int(~code)
        let magnitude = (((bits & 0x0F) << 1 + 33) << ((bits >> 4) & 7)) - 33
        return Int16(truncatingIfNeeded: (bits & 0x80 != 0 ? -magnitude : magnitude) << 2)
    }

    /// `value` is a 12-bit sample.
    private static func aCode(_ value: Int16) -> UInt8 {
        var magnitude = value < 0 ? ~Int(value) : Int(value)
        var segment = 0
        if magnitude > 15 {
            segment = 1
            while magnitude > 16 + 15 {
                magnitude >>= 1
                segment += 1
            }
            magnitude -= 16
        }
        return UInt8((value < 0 ? 0 : 0x80) | segment << 4 | magnitude) ^ 0x55
    }

    private static func aSample(_ code: UInt8) -> Int16 {
        let bits = Int(code ^ 0x55)
        let segment = (bits >> 4) & 7
        var magnitude = (bits & 0x0F) << 4 + 8
        if segment > 0 { magnitude = (magnitude + 0x100) << (segment - 1) }
        return Int16(truncatingIfNeeded: bits & 0x80 != 0 ? magnitude : -magnitude)
    }
}
