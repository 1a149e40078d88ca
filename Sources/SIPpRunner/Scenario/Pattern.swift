// POSIX extended regular expressions (IEEE 1003.1 section 9.4), by the C library: the dialect of SIPp's `ereg`.

import Glibc

/// A compiled regular expression. It belongs to one thread.
package final class Pattern {
    /// Why it cannot be compiled, in the library's words.
    package struct Problem: Error {
        package let reason: String
    }

    private var compiled = regex_t()
    package let source: String
    /// The whole and at most nine groups are told.
    package static let groupLimit = 10

    package init(_ source: String) throws(Problem) {
        self.source = source
        let flags = REG_EXTENDED
        let status = regcomp(&compiled, source, flags)
        guard status == 0 else {
            var text = [CChar](repeating: 0, count: 200)
            regerror(status, &compiled, &text, text.count)
            regfree(&compiled)
            throw Problem(reason: String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
        }
    }

    deinit { regfree(&compiled) }

    /// Where it is found first: the whole match, then its groups; a group that took no part is nil. Empty when it is not found.
    package func match(_ octets: ArraySlice<UInt8>) -> [Range<Int>?] {
        var places = [regmatch_t](repeating: regmatch_t(), count: Self.groupLimit)
        // The library reads to the first octet of zero.
        var text = Array(octets)
        text.append(0)
        let status = text.withUnsafeBytes {
            regexec(&compiled, $0.bindMemory(to: CChar.self).baseAddress!, places.count, &places, 0)
        }
        guard status == 0 else { return [] }
        return places.map { $0.rm_so < 0 ? nil : Int($0.rm_so) + octets.startIndex..<Int($0.rm_eo) + octets.startIndex }
    }

    package func isFound(in octets: ArraySlice<UInt8>) -> Bool { !match(octets).isEmpty }
}
