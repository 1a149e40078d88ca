// Whether an audio file ends where it says it does: for one whose sender did not tell how long it is. Formats that do not say it (MP3, raw
// frames) are believed to be whole.

enum FileEnd {
    /// - Parameter frames: samples of each channel that could be read.
    static func isMissing(in octets: [UInt8], frames: Int) -> Bool {
        func has(_ text: String, at place: Int) -> Bool { octets.dropFirst(place).starts(with: text.utf8) }
        if has("RIFF", at: 0) { return isShort(octets, length: number(octets[4..<8].reversed()), after: 8) }
        if has("FORM", at: 0) { return isShort(octets, length: number(octets[4..<8]), after: 8) }
        if has(".snd", at: 0), octets.count >= 12 {
            return isShort(octets, length: number(octets[8..<12]), after: Int(number(octets[4..<8])))
        }
        if has("fLaC", at: 0), octets.count >= 26 {
            // STREAMINFO (RFC 9639 section 8.2): the lower 36 of these bits are the number of samples; 0: unknown.
            let total = Int(octets[21] & 0x0F) << 32 | Int(number(octets[22..<26]))
            return frames < total
        }
        if has("OggS", at: 0) { return !endsWithLastPage(octets) }
        return false
    }

    private static func number(_ octets: some Sequence<UInt8>) -> UInt32 { octets.reduce(0) { $0 << 8 | UInt32($1) } }

    /// Programs that write to a pipe put a length that cannot be: 0, or nearly the largest.
    private static func isShort(_ octets: [UInt8], length: UInt32, after start: Int) -> Bool {
        length < 0x7FFF_0000 && start + Int(length) > octets.count
    }

    /// RFC 3533 section 6: the pages follow each other to the one that ends the stream.
    private static func endsWithLastPage(_ octets: [UInt8]) -> Bool {
        var place = 0
        var isLast = false
        while place < octets.count {
            guard octets.count - place >= 27 else { return false }
            isLast = octets[place + 5] & 4 != 0
            let segments = place + 27
            let body = segments + Int(octets[place + 26])
            guard body <= octets.count else { return false }
            place = body + octets[segments..<body].reduce(0) { $0 + Int($1) }
            guard place <= octets.count else { return false }
        }
        return isLast
    }
}

extension PromptFile {
    /// Whether a file that can be played says that it should be longer. It is read whole. Blocks.
    package static func isCutShort(_ path: String, limits: PromptLimits = PromptLimits()) throws(PromptError) -> Bool {
        if G729File.isOne(path) { return false }
        let octets = try octets(of: path, limits: limits)
        guard octets.count >= 12 else { return false }
        return FileEnd.isMissing(in: octets, frames: try read(path, limits: limits).samples.count)
    }
}
