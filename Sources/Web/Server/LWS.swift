// The few places where libwebsockets' C shapes meet Swift: its log, protocol tables, header fields.
import CWebSockets
import Glibc
import Reactor

/// The log of libwebsockets. It is silent until a handler is set; never does it write to standard error.
package enum WebLibraryLog {
    private static let handler = Locked<(@Sendable (String) -> Void)?>(nil)

    /// Sets who gets the library's errors and warnings, one line each, from any thread; nil for nobody.
    package static func set(_ handler: (@Sendable (String) -> Void)?) {
        self.handler.withLock { $0 = handler }
        apply()
    }

    static func apply() {
        let wanted = handler.withLock { $0 != nil }
        lws_set_log_level(wanted ? LLL_ERR | LLL_WARN : 0) { _, line in
            guard let line, let handler = WebLibraryLog.handler.withLock({ $0 }) else { return }
            var text = String(cString: line)
            while text.last?.isNewline == true { text.removeLast() }
            handler(text)
        }
    }
}

extension StaticString {
    /// For what libwebsockets points at as long as there is the vhost. Of literals of ASCII that have two octets at least.
    var kept: UnsafePointer<CChar> { UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self) }
}

/// A table of `lws_protocols` that outlives its vhost.
final class ProtocolTable {
    let pointer: UnsafeMutablePointer<lws_protocols>
    private let names: [UnsafeMutablePointer<CChar>]

    /// The first name stands for plain HTTP and for WebSockets without subprotocol.
    init(_ names: [String]) {
        self.names = names.map { strdup($0) }
        pointer = .allocate(capacity: names.count + 1)
        for (index, name) in self.names.enumerated() {
            (pointer + index).initialize(
                to: lws_protocols(
                    name: name, callback: webCallback, per_session_data_size: 0, rx_buffer_size: 16384, id: UInt32(index),
                    user: nil, tx_packet_size: 0))
        }
        (pointer + names.count).initialize(
            to: lws_protocols(
                name: nil, callback: nil, per_session_data_size: 0, rx_buffer_size: 0, id: 0, user: nil, tx_packet_size: 0))
    }

    deinit {
        pointer.deallocate()
        names.forEach { free($0) }
    }
}

/// Reads what libwebsockets keeps of a request's head. Valid in the callbacks that belong to the head only.
struct RequestHead {
    let wsi: OpaquePointer

    func value(_ token: lws_token_indexes) -> String? {
        let length = Int(lws_hdr_total_length(wsi, token))
        guard length > 0 else { return nil }
        return Self.text(capacity: length + 1) { lws_hdr_copy(wsi, $0, $1, token) }
    }

    func custom(_ name: String) -> String? {
        let key = name.lowercased() + ":"
        let length = lws_hdr_custom_length(wsi, key, Int32(key.utf8.count))
        guard length >= 0 else { return nil }
        return Self.text(capacity: Int(length) + 1) { lws_hdr_custom_copy(wsi, $0, $1, key, Int32(key.utf8.count)) }
    }

    var method: HTTPMethod? {
        let uris: [(lws_token_indexes, HTTPMethod)] = [
            (WSI_TOKEN_GET_URI, .get), (WSI_TOKEN_POST_URI, .post), (WSI_TOKEN_HEAD_URI, .head), (WSI_TOKEN_PUT_URI, .put),
            (WSI_TOKEN_PATCH_URI, .patch), (WSI_TOKEN_DELETE_URI, .delete), (WSI_TOKEN_OPTIONS_URI, .options)
        ]
        return uris.first { lws_hdr_total_length(wsi, $0.0) > 0 }?.1
    }

    var path: String {
        let uris = [
            WSI_TOKEN_GET_URI, WSI_TOKEN_POST_URI, WSI_TOKEN_HEAD_URI, WSI_TOKEN_PUT_URI, WSI_TOKEN_PATCH_URI,
            WSI_TOKEN_DELETE_URI, WSI_TOKEN_OPTIONS_URI
        ]
        return uris.lazy.compactMap(value).first ?? ""
    }

    var query: [HTTPField] {
        var parts: [HTTPField] = []
        while parts.count < 256 {
            let length = lws_hdr_fragment_length(wsi, WSI_TOKEN_HTTP_URI_ARGS, Int32(parts.count))
            guard length > 0 else { break }
            let index = Int32(parts.count)
            let part =
                Self.text(capacity: Int(length) + 1) {
                    lws_hdr_copy_fragment(wsi, $0, $1, WSI_TOKEN_HTTP_URI_ARGS, index)
                } ?? ""
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            parts.append(HTTPField(String(sides[0]), sides.count > 1 ? String(sides[1]) : ""))
        }
        return parts
    }

    func fields(extra: [String]) -> HTTPFields {
        var all: [HTTPField] = []
        for index in WSI_TOKEN_HOST.rawValue..<_WSI_TOKEN_CLIENT_SENT_PROTOCOLS.rawValue {
            let token = lws_token_indexes(index)
            // What the table names with a final colon is a field; the others are parts of the first line.
            guard let name = lws_token_to_string(token) else { continue }
            let text = String(cString: UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))
            guard text.hasSuffix(":"), !text.hasPrefix(":"), let value = value(token) else { continue }
            all.append(HTTPField(String(text.dropLast()), value))
        }
        for name in extra {
            if let value = custom(name) { all.append(HTTPField(name.lowercased(), value)) }
        }
        return HTTPFields(all)
    }

    var peer: String {
        Self.text(capacity: 64) { buffer, size in
            lws_get_peer_simple(wsi, buffer, Int(size)) == nil ? -1 : 0
        } ?? ""
    }

    private static func text(
        capacity: Int, _ fill: (UnsafeMutablePointer<CChar>, Int32) -> Int32
    ) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { buffer in
            buffer.initialize(repeating: 0)
            guard fill(buffer.baseAddress!, Int32(capacity)) >= 0 else { return nil }
            return String(cString: buffer.baseAddress!)
        }
    }
}
