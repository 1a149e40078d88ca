// One transfer of the HTTP client: its libcurl handle, what comes in, and what its result means.
import Basics
import CCurl

/// `@unchecked Sendable`: made by the caller, handed to the fetch thread in a queue, and touched there only.
final class CurlTransfer: @unchecked Sendable {
    let id: UInt64
    let call: HTTPCall
    let then: @Sendable (Result<HTTPReply, HTTPFailure>) -> Void
    /// Microseconds of the monotonic clock.
    let deadline: Int64
    private(set) var easy: UnsafeMutableRawPointer?
    private var fields: UnsafeMutablePointer<curl_slist>?
    private var headers = HTTPFields()
    private var headerBytes = 0
    private var body: [UInt8] = []
    private var isTooLarge = false
    private var findsNoRoom = false

    private static let maximumHeaderBytes = 256 << 10

    init(id: UInt64, call: HTTPCall, then: @escaping @Sendable (Result<HTTPReply, HTTPFailure>) -> Void) {
        self.id = id
        self.call = call
        self.then = then
        deadline = monotonicMicroseconds() + call.timeout.nanoseconds / 1000
    }

    /// Makes the handle; `release` must follow.
    func begin() -> Result<UnsafeMutableRawPointer, HTTPFailure> {
        func bad(_ words: String) -> Result<UnsafeMutableRawPointer, HTTPFailure> {
            .failure(HTTPFailure(.badRequest, call.url, words))
        }
        let scheme = call.url.prefix(8).lowercased()
        guard scheme.hasPrefix("http://") || scheme.hasPrefix("https://") else { return bad("only http and https are fetched") }
        guard !call.method.isEmpty, call.method.utf8.allSatisfy({ Self.isTokenByte($0) }) else { return bad("bad method") }
        let left = (deadline - monotonicMicroseconds()) / 1000
        guard left > 0 else { return .failure(HTTPFailure(.timeout, call.url, "no time")) }
        guard let easy = curl_easy_init() else { return .failure(HTTPFailure(.broken, call.url, "out of memory")) }
        self.easy = easy
        guard setTarget(easy) else { return bad("the URL can't be read") }
        guard setFields(easy) else { return bad("a header field can't be sent") }
        setBody(easy)
        setTrust(easy)
        rw_curl_set_long(easy, CURLOPT_TIMEOUT_MS, Int(left))
        rw_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(call.connectTimeout.nanoseconds / 1_000_000)))
        rw_curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        rw_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, call.redirects > 0 ? 1 : 0)
        rw_curl_set_long(easy, CURLOPT_MAXREDIRS, call.redirects)
        rw_curl_set_size(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(max(1, call.maximumBytes)))
        setReceivers(easy)
        return .success(easy)
    }

    func release() {
        if let easy { curl_easy_cleanup(easy) }
        curl_slist_free_all(fields)
        easy = nil
        fields = nil
    }

    private func setTarget(_ easy: UnsafeMutableRawPointer) -> Bool {
        let schemes = Int(CURLPROTO_HTTP | CURLPROTO_HTTPS)
        rw_curl_set_long(easy, CURLOPT_PROTOCOLS, schemes)
        rw_curl_set_long(easy, CURLOPT_REDIR_PROTOCOLS, schemes)
        // A machine's proxy settings and .netrc are not a flow's business.
        rw_curl_set_string(easy, CURLOPT_PROXY, "")
        return rw_curl_set_string(easy, CURLOPT_URL, call.url) == CURLE_OK
    }

    private func setFields(_ easy: UnsafeMutableRawPointer) -> Bool {
        // No waiting for "100 Continue": it costs a second with servers that don't know it.
        var lines = call.headers["expect"] == nil ? ["Expect:"] : []
        for field in call.headers.all {
            guard !field.name.isEmpty, field.name.utf8.allSatisfy({ Self.isTokenByte($0) }),
                HTTPResponse.wireSafe(field.value) == field.value
            else { return false }
            // libcurl's way of saying "with an empty value".
            lines.append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        if call.headers["user-agent"] == nil { lines.append("User-Agent: Ringwright") }
        if call.body != nil, call.headers["content-type"] == nil { lines.append("Content-Type: application/octet-stream") }
        for line in lines {
            guard let longer = curl_slist_append(fields, line) else { return false }
            fields = longer
        }
        rw_curl_set_list(easy, CURLOPT_HTTPHEADER, fields)
        return true
    }

    private func setBody(_ easy: UnsafeMutableRawPointer) {
        // A POST has a body, be it empty; libcurl turns it into GET where a redirect asks for that.
        if let body = call.body ?? (call.method == "POST" ? [] : nil) {
            rw_curl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
            body.withUnsafeBufferPointer { bytes in
                bytes.withMemoryRebound(to: CChar.self) { text in
                    // libcurl makes a copy.
                    if let start = text.baseAddress, !body.isEmpty {
                        _ = rw_curl_set_string(easy, CURLOPT_COPYPOSTFIELDS, start)
                    } else {
                        _ = rw_curl_set_string(easy, CURLOPT_COPYPOSTFIELDS, "")
                    }
                }
            }
        } else if call.method == "HEAD" {
            rw_curl_set_long(easy, CURLOPT_NOBODY, 1)
        }
        let isPlain = call.body == nil && (call.method == "GET" || call.method == "HEAD") || call.method == "POST"
        if !isPlain {
            rw_curl_set_string(easy, CURLOPT_CUSTOMREQUEST, call.method)
        }
    }

    private func setTrust(_ easy: UnsafeMutableRawPointer) {
        switch call.trust {
        case .system: break
        case .file(let path):
            rw_curl_set_string(easy, CURLOPT_CAINFO, path)
            rw_curl_set_string(easy, CURLOPT_CAPATH, nil)
        case .insecure:
            rw_curl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 0)
            rw_curl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 0)
        }
    }

    private func setReceivers(_ easy: UnsafeMutableRawPointer) {
        // The client keeps the transfer as long as the handle lives.
        let me = Unmanaged.passUnretained(self).toOpaque()
        rw_curl_set_data_function(easy, CURLOPT_WRITEFUNCTION) { data, size, count, context in
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(context!).takeUnretainedValue()
            return transfer.receive(UnsafeRawBufferPointer(start: data, count: size * count)) ? size * count : 0
        }
        rw_curl_set_pointer(easy, CURLOPT_WRITEDATA, me)
        rw_curl_set_data_function(easy, CURLOPT_HEADERFUNCTION) { data, size, count, context in
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(context!).takeUnretainedValue()
            return transfer.receiveHeader(UnsafeRawBufferPointer(start: data, count: size * count)) ? size * count : 0
        }
        rw_curl_set_pointer(easy, CURLOPT_HEADERDATA, me)
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= call.maximumBytes else {
            isTooLarge = true
            return false
        }
        guard call.share?.take(bytes.count) ?? true else {
            findsNoRoom = true
            return false
        }
        body.append(contentsOf: bytes)
        return true
    }

    private func receiveHeader(_ bytes: UnsafeRawBufferPointer) -> Bool {
        headerBytes += bytes.count
        guard headerBytes <= Self.maximumHeaderBytes else {
            isTooLarge = true
            return false
        }
        let line = String(decoding: bytes, as: UTF8.self)
        // A new response begins: after a redirect, or after 100.
        if line.hasPrefix("HTTP/") {
            headers = HTTPFields()
            return true
        }
        guard let colon = line.firstIndex(of: ":") else { return true }
        var value = line[line.index(after: colon)...].drop(while: \.isWhitespace)
        while value.last?.isWhitespace == true { value.removeLast() }
        headers.all.append(HTTPField(line[..<colon].lowercased(), String(value)))
        return true
    }

    /// What the end of the transfer means.
    func result(_ code: CURLcode) -> Result<HTTPReply, HTTPFailure> {
        guard let easy else { return .failure(HTTPFailure(.broken, call.url, "no transfer")) }
        func time(_ info: CURLINFO) -> Duration {
            var value: curl_off_t = 0
            rw_curl_get_time(easy, info, &value)
            return .microseconds(value)
        }
        if code == CURLE_OK {
            var status = 0
            rw_curl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
            let timing = HTTPTiming(
                resolved: time(CURLINFO_NAMELOOKUP_TIME_T), connected: time(CURLINFO_CONNECT_TIME_T),
                secured: time(CURLINFO_APPCONNECT_TIME_T), firstByte: time(CURLINFO_STARTTRANSFER_TIME_T),
                total: time(CURLINFO_TOTAL_TIME_T))
            return .success(
                HTTPReply(
                    status: status, headers: headers, body: body, isEndTold: isEndTold(easy), redirect: redirect(easy),
                    timing: timing))
        }
        let reason = isTooLarge ? .tooLarge : findsNoRoom ? .overloaded : Self.reason(code)
        let words =
            switch reason {
            case .tooLarge: "the response is too large"
            case .overloaded: "too much is being fetched at once"
            default: String(cString: curl_easy_strerror(code))
            }
        return .failure(HTTPFailure(reason, call.url, words))
    }

    private func isEndTold(_ easy: UnsafeMutableRawPointer) -> Bool {
        var version = 0
        rw_curl_get_long(easy, CURLINFO_HTTP_VERSION, &version)
        // HTTP/2 and later have an end of their own.
        return version >= CURL_HTTP_VERSION_2_0 || headers["content-length"] != nil
            || headers["transfer-encoding"]?.lowercased().contains("chunked") == true
    }

    private func redirect(_ easy: UnsafeMutableRawPointer) -> String? {
        var text: UnsafePointer<CChar>?
        rw_curl_get_text(easy, CURLINFO_REDIRECT_URL, &text)
        return text.map { String(cString: $0) }
    }

    private static func reason(_ code: CURLcode) -> HTTPFailure.Reason {
        switch code {
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT: .badRequest
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .dns
        case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: .connect
        case CURLE_OPERATION_TIMEDOUT: .timeout
        case CURLE_FILESIZE_EXCEEDED: .tooLarge
        case CURLE_TOO_MANY_REDIRECTS: .tooManyRedirects
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            .tls
        default: .broken
        }
    }

    /// RFC 9110, section 5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
