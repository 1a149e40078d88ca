// What must not be told of a message: what proves a password (digest responses), passwords in URIs, keys of encrypted media (RFC 4568,
// RFC 3830, ICE), and keys that a person pressed. Each octet of it becomes `*` (of encrypted media `x`), so that no length
// changes and the message stays what a dissector reads.

private enum Octet {
    static let cr = UInt8(ascii: "\r")
    static let lf = UInt8(ascii: "\n")
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")
    static let colon = UInt8(ascii: ":")
    static let quote = UInt8(ascii: "\"")
    static let equals = UInt8(ascii: "=")
}

package enum MessageMask {
    /// Masks a message in place.
    /// - Parameter hidesDigits: keys in INFO bodies as well.
    package static func apply(to octets: inout [UInt8], hidesDigits: Bool) {
        octets.withUnsafeMutableBufferPointer { buffer in
            var lines = Lines(hidesDigits: hidesDigits)
            var start = 0
            while start < buffer.count {
                let end = buffer[start...].firstIndex { $0 == Octet.cr || $0 == Octet.lf } ?? buffer.count
                lines.mask(UnsafeMutableBufferPointer(rebasing: buffer[start..<end]))
                start = end + 1
            }
        }
    }
}

/// The lines of a message, one after the other. Bodies of messages may hold messages, so that both kinds of line are looked for everywhere.
private struct Lines {
    let hidesDigits: Bool
    private var secret = Secret.none
    private var body = Body.other

    init(hidesDigits: Bool) { self.hidesDigits = hidesDigits }

    /// What a header's value holds, also on the lines that it is folded to.
    private enum Secret {
        case none
        /// Some parameters of it.
        case parameters
    }

    private enum Body {
        case other
        /// `Signal=5`
        case relay
        /// `5`
        case key
    }

    private static let proofs = ["response", "cnonce", "rspauth"].map { Array($0.utf8) }
    private static let schemes = ["sip:", "sips:"].map { Array($0.utf8) }

    mutating func mask(_ line: UnsafeMutableBufferPointer<UInt8>) {
        guard let first = line.first else { return }
        let isFolded = first == Octet.space || first == Octet.tab
        if !isFolded { secret = .none }
        // A line of keys holds no URI; two rules on one line would not leave what is masked as it is.
        if maskDescription(line) { return }
        maskUserInfo(line)
        if isFolded {
            if secret == .parameters { maskParameters(line[...]) }
        } else if let colon = line.firstIndex(of: Octet.colon) {
            maskField(Name(line[..<colon]), line, after: colon)
        }
        if hidesDigits { maskDigits(line) }
    }

    private mutating func maskField(_ name: Name, _ line: UnsafeMutableBufferPointer<UInt8>, after colon: Int) {
        if name.is("authorization") || name.is("proxy-authorization") {
            let value = line[(colon + 1)...]
            let scheme = value.firstIndex { $0 != Octet.space && $0 != Octet.tab } ?? value.endIndex
            let end = value[scheme...].firstIndex { $0 == Octet.space || $0 == Octet.tab } ?? value.endIndex
            guard Name(value[scheme..<end]).is("digest") else { return hide(line, min(end + 1, line.count)..<line.count) }
            secret = .parameters
            maskParameters(value[end...])
        } else if name.is("authentication-info") || name.is("proxy-authentication-info") {
            secret = .parameters
            maskParameters(line[(colon + 1)...])
        } else if name.is("content-type") || name.is("c") {
            let value = Name(line[(colon + 1)...].drop { $0 == Octet.space })
            body = value.begins("application/dtmf-relay") ? .relay : value.begins("application/dtmf") ? .key : .other
        }
    }

    /// `response="…"`, `cnonce=…`
    private func maskParameters(_ slice: Slice<UnsafeMutableBufferPointer<UInt8>>) {
        let buffer = slice.base
        var index = slice.startIndex
        while index < slice.endIndex {
            let start = buffer[index..<slice.endIndex].firstIndex { Self.isToken($0) } ?? slice.endIndex
            var end = buffer[start..<slice.endIndex].firstIndex { !Self.isToken($0) } ?? slice.endIndex
            let name = Name(buffer[start..<end])
            end = buffer[end..<slice.endIndex].firstIndex { $0 != Octet.space && $0 != Octet.tab } ?? slice.endIndex
            guard end < slice.endIndex, buffer[end] == Octet.equals else {
                index = max(end, start + 1)
                continue
            }
            var value = buffer[(end + 1)..<slice.endIndex].firstIndex { $0 != Octet.space && $0 != Octet.tab } ?? slice.endIndex
            let stop: Int
            if value < slice.endIndex, buffer[value] == Octet.quote {
                value += 1
                stop = buffer[value..<slice.endIndex].firstIndex(of: Octet.quote) ?? slice.endIndex
            } else {
                stop =
                    buffer[value..<slice.endIndex].firstIndex { $0 == UInt8(ascii: ",") || $0 == Octet.space } ?? slice.endIndex
            }
            if Self.proofs.contains(where: { name.is($0) }) { hide(buffer, value..<stop) }
            index = min(stop + 1, slice.endIndex)
        }
    }

    private static func isToken(_ octet: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(octet | 0x20) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet)
            || octet == UInt8(ascii: "-")
    }

    /// `sip:anna:password@host`
    private func maskUserInfo(_ line: UnsafeMutableBufferPointer<UInt8>) {
        for index in line.indices where line[index] == Octet.colon {
            guard Self.schemes.contains(where: { Name(line[..<(index + 1)]).ends($0) }) else { continue }
            var colon: Int?
            for place in (index + 1)..<line.count {
                let octet = line[place]
                if octet == UInt8(ascii: "@") {
                    if let colon { hide(line, (colon + 1)..<place) }
                    break
                }
                if octet == Octet.space || octet == UInt8(ascii: "<") || octet == UInt8(ascii: ">") || octet == Octet.quote {
                    break
                }
                if octet == Octet.colon, colon == nil { colon = place }
            }
        }
    }

    /// Lines of SDP: `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:…|2^20`, `a=key-mgmt:mikey …`, `a=ice-pwd:…`, `k=clear:…`. False for others.
    private func maskDescription(_ line: UnsafeMutableBufferPointer<UInt8>) -> Bool {
        guard line.count > 2, line[1] == Octet.equals else { return false }
        let all = Name(line[...])
        if all.begins("a=crypto:") {
            let inline = Array("inline:".utf8)
            var index = 0
            while index + inline.count <= line.count {
                guard Name(line[index..<(index + inline.count)]).is(inline) else {
                    index += 1
                    continue
                }
                let start = index + inline.count
                let stop =
                    line[start...].firstIndex { [UInt8(ascii: "|"), UInt8(ascii: ";"), Octet.space].contains($0) } ?? line.count
                // Base64 all the same: a dissector that finds none gives the message up.
                for place in start..<stop where line[place] != Octet.equals { line[place] = UInt8(ascii: "x") }
                index = stop
            }
        } else if all.begins("a=ice-pwd:") {
            hide(line, 10..<line.count)
        } else if all.begins("a=key-mgmt:") {
            hide(line, (line.firstIndex(of: Octet.space).map { $0 + 1 } ?? 11)..<line.count)
        } else if all.begins("k=") {
            hide(line, (line.firstIndex(of: Octet.colon).map { $0 + 1 } ?? 2)..<line.count)
        } else {
            return false
        }
        return true
    }

    private mutating func maskDigits(_ line: UnsafeMutableBufferPointer<UInt8>) {
        switch body {
        case .other: break
        case .relay:
            guard Name(line[...]).begins("signal"), let sign = line.firstIndex(of: Octet.equals) else { return }
            for index in (sign + 1)..<line.count where line[index] != Octet.space { line[index] = UInt8(ascii: "?") }
        case .key:
            // Header rows have a colon.
            guard !line.contains(Octet.colon), line.count <= 8 else { return }
            for index in line.indices where line[index] != Octet.space { line[index] = UInt8(ascii: "?") }
        }
    }

    private func hide(_ buffer: UnsafeMutableBufferPointer<UInt8>, _ range: Range<Int>) {
        for index in range { buffer[index] = UInt8(ascii: "*") }
    }
}

/// A word that is compared without case.
private struct Name {
    private let octets: Slice<UnsafeMutableBufferPointer<UInt8>>

    init(_ octets: Slice<UnsafeMutableBufferPointer<UInt8>>) {
        // Blanks before a colon are allowed (RFC 3261 section 7.3.1).
        var octets = octets
        while let last = octets.last, last == Octet.space || last == Octet.tab { octets = octets.dropLast() }
        self.octets = octets
    }

    func `is`(_ word: [UInt8]) -> Bool {
        octets.count == word.count && zip(octets, word).allSatisfy { lower($0) == $1 }
    }

    func `is`(_ word: String) -> Bool { self.is(Array(word.utf8)) }
    func begins(_ word: String) -> Bool {
        zip(octets, word.utf8).allSatisfy { lower($0) == $1 } && octets.count >= word.utf8.count
    }
    func ends(_ word: [UInt8]) -> Bool {
        octets.count >= word.count && zip(octets.suffix(word.count), word).allSatisfy { lower($0) == $1 }
    }

    private func lower(_ octet: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(octet) ? octet | 0x20 : octet
    }
}
