// What a certificate says about its owner (RFC 5280), and whether that is the SIP domain that was meant (RFC 5922 section 7). A SIP URI
// or DNS name of subjectAltName names a domain; the common name counts only without any of these. Beyond RFC 5922 a DNS name `*.example.com`
// stands for one label, as carriers' certificates need it.

import Basics
import COpenSSL
import Glibc

enum TLSCertificate {
    /// Seconds since 1970.
    static func expiry(of certificate: OpaquePointer) -> Double? {
        guard let end = X509_get0_notAfter(certificate) else { return nil }
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard ASN1_TIME_diff(&days, &seconds, nil, end) == 1 else { return nil }
        return Double(time(nil)) + Double(days) * 86400 + Double(seconds)
    }

    /// The domains and addresses that it stands for, in lower case.
    static func identities(of certificate: OpaquePointer) -> [String] {
        var found: [String] = []
        if let names = X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil) {
            let stack = OpaquePointer(names)
            for index in 0..<OPENSSL_sk_num(stack) {
                guard let entry = OPENSSL_sk_value(stack, index) else { continue }
                if let identity = identity(entry.assumingMemoryBound(to: GENERAL_NAME.self)) { found.append(identity) }
            }
            OPENSSL_sk_pop_free(stack) { GENERAL_NAME_free($0?.assumingMemoryBound(to: GENERAL_NAME.self)) }
        }
        if found.isEmpty, let name = commonName(of: certificate) { found.append(name) }
        return found
    }

    private static func identity(_ entry: UnsafePointer<GENERAL_NAME>) -> String? {
        var kind: Int32 = 0
        guard let value = GENERAL_NAME_get0_value(entry, &kind) else { return nil }
        let octets = octets(OpaquePointer(value))
        switch kind {
        case GEN_DNS: return text(octets)
        case GEN_URI:
            // A user in the URI makes it a person's certificate, not a domain's.
            guard let uri = text(octets), uri.hasPrefix("sip:"), !uri.contains("@") else { return nil }
            let host = uri.dropFirst(4).prefix { $0 != ";" && $0 != "?" }
            return host.isEmpty ? nil : withoutPort(String(host))
        case GEN_IPADD: return address(octets)?.description
        default: return nil
        }
    }

    private static func withoutPort(_ host: String) -> String {
        if host.hasPrefix("[") { return String(host.dropFirst().prefix { $0 != "]" }) }
        return String(host.prefix { $0 != ":" })
    }

    private static func octets(_ string: OpaquePointer) -> [UInt8] {
        let typed = UnsafePointer<ASN1_STRING>(string)
        guard let start = ASN1_STRING_get0_data(typed) else { return [] }
        return Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(typed))))
    }

    /// A name with a NUL or another control sign in it is none.
    private static func text(_ octets: [UInt8]) -> String? {
        guard !octets.isEmpty, octets.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        return String(decoding: octets, as: UTF8.self).lowercased()
    }

    private static func address(_ octets: [UInt8]) -> IPAddress? {
        func number(_ part: ArraySlice<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
        switch octets.count {
        case 4: return .v4(UInt32(number(octets[...])))
        case 16: return .v6(number(octets[..<8]), number(octets[8...]))
        default: return nil
        }
    }

    private static func commonName(of certificate: OpaquePointer) -> String? {
        guard let subject = X509_get_subject_name(certificate) else { return nil }
        let index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1)
        guard index >= 0, let entry = X509_NAME_get_entry(subject, index), let value = X509_NAME_ENTRY_get_data(entry) else {
            return nil
        }
        return text(octets(OpaquePointer(value)))
    }

    /// Whether one of the identities is `host`: a domain or an address.
    package static func isFor(_ host: String, _ identities: [String]) -> Bool {
        if let address = IPAddress(host) { return identities.contains { IPAddress($0) == address } }
        let host = folded(host)
        guard !host.isEmpty else { return false }
        return identities.contains { identity in
            let identity = folded(identity)
            guard identity.hasPrefix("*.") else { return identity == host }
            guard let dot = host.firstIndex(of: "."), dot > host.startIndex else { return false }
            // Not for a whole top-level domain.
            return host[dot...] == identity.dropFirst() && identity.dropFirst(2).contains(".")
        }
    }

    private static func folded(_ name: String) -> String {
        let lower = name.lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }
}
