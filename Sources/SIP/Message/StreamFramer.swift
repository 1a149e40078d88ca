// Messages out of a stream (RFC 3261 sections 7.5, 18.3, 20.14; RFC 5626 section 3.5.1): split and joined ones, CRLF keep-alives.
// A missing Content-Length is taken as 0. A conflicting, unreadable or too large one ends the connection; what was read of the
// message is given out once, so that it can be answered.

/// Cuts messages out of the octets of one connection.
package struct StreamFramer: Sendable {
    /// What the stream holds next.
    package enum Event: Sendable {
        /// The octets of one whole message.
        case message([UInt8])
        /// CRLF CRLF while no message was open: answer with CRLF (RFC 5626).
        case ping
        /// CRLF by itself.
        case pong
        /// The stream can't be followed any further: close it. The head that was at fault, when there is one, for an answer.
        case broken(ParseError, head: [UInt8])
    }

    private let limits: MessageLimits
    private var pending: [UInt8] = []
    private var start = 0
    /// How far the search for the end of the head has come.
    private var searched = 0
    /// How long the message is whose head is there and whose body is not; 0: no head was read.
    private var expected = 0
    /// Heads that were parsed: one for each message, in however many pieces it came.
    package private(set) var headsRead = 0
    private var isBroken = false

    package init(limits: MessageLimits = .standard) {
        self.limits = limits
    }

    /// Octets that wait for more.
    package var bufferedCount: Int { pending.count - start }

    /// Takes what was read; then call `next()` until it gives nil.
    package mutating func append(_ octets: some Collection<UInt8>) {
        guard !isBroken else { return }
        if start > 0, start == pending.count || start > 65_536 {
            pending.removeFirst(start)
            searched -= start
            start = 0
        }
        pending.append(contentsOf: octets)
    }

    /// The next event; nil when more octets are needed.
    package mutating func next() -> Event? {
        guard !isBroken else { return nil }
        if let event = keepAlive() { return event }
        guard start < pending.count else { return nil }
        if expected == 0 {
            guard let bodyStart = headEnd() else {
                return pending.count - start > limits.headSize ? fail(.tooLarge, head: []) : nil
            }
            let head = Array(pending[start..<bodyStart])
            guard head.count <= limits.headSize else { return fail(.tooLarge, head: head) }
            headsRead += 1
            switch StreamFramer.bodyLength(head) {
            case .success(let length):
                guard head.count + length <= limits.messageSize else { return fail(.tooLarge, head: head) }
                expected = head.count + length
            case .failure(let error): return fail(error.fault, head: head)
            }
        }
        guard pending.count - start >= expected else { return nil }
        let message = Array(pending[start..<start + expected])
        start += expected
        searched = start
        expected = 0
        return .message(message)
    }

    private mutating func fail(_ fault: ParseError.Fault, head: [UInt8]) -> Event {
        isBroken = true
        pending = []
        start = 0
        return .broken(ParseError(fault, at: head.count), head: head)
    }

    /// Line ends and blanks between messages. What is skipped does not depend on how the stream was cut.
    private mutating func keepAlive() -> Event? {
        while start < pending.count {
            switch pending[start] {
            case Octet.space, Octet.tab, Octet.lf: start += 1
            case Octet.cr:
                guard start + 1 < pending.count else { return nil }
                if pending[start + 1] == Octet.lf { return lineEnd() }
                start += 1
            default:
                searched = max(searched, start)
                return nil
            }
        }
        searched = max(searched, start)
        return nil
    }

    /// CRLF is next: alone, or twice.
    private mutating func lineEnd() -> Event? {
        if start + 3 < pending.count, pending[start + 2] == Octet.cr, pending[start + 3] == Octet.lf {
            start += 4
            searched = start
            return .ping
        }
        // A CR behind the CRLF may become a ping.
        if start + 2 < pending.count, pending[start + 2] == Octet.cr, start + 3 == pending.count { return nil }
        start += 2
        searched = start
        return .pong
    }

    /// One past the empty line: LF CRLF or LF LF.
    private mutating func headEnd() -> Int? {
        var at = max(searched, start)
        defer { searched = max(start, min(at, pending.count - 3)) }
        while at < pending.count {
            if pending[at] == Octet.lf {
                if at + 1 < pending.count, pending[at + 1] == Octet.lf { return at + 2 }
                if at + 2 < pending.count, pending[at + 1] == Octet.cr, pending[at + 2] == Octet.lf { return at + 3 }
            }
            at += 1
        }
        return nil
    }

    private static func bodyLength(_ head: [UInt8]) -> Result<Int, ParseError> {
        do throws(ParseError) {
            let message = try Message(parsing: head)
            if let defect = message.defect, defect.fault == .contentLength { return .failure(defect) }
            return .success(message.contentLength ?? 0)
        } catch {
            return .failure(error)
        }
    }
}
