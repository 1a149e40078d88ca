// Messages out of a stream (RFC 3261 sections 7.5, 18.3, 20.14; RFC 5626 section 3.5.1): split and joined ones, CRLF keep-alives.
// A missing Content-Length is taken as 0. A conflicting, unreadable or too large one ends the connection; what was read of the
// message is given out once, so that it can be answered.

/// Cuts messages out of the octets of one connection.
package struct StreamFramer: Sendable {
    /// What the stream holds next.
    package enum Event: Sendable {
        /// One whole message.
        case message(Message)
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
    /// Heads that were parsed before their body was there: at most one for each message, in however many pieces it came.
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
            if let message = wholeMessage(bodyStart: bodyStart) { return taken(message) }
            let head = Array(pending[start..<bodyStart])
            guard head.count <= limits.headSize else { return fail(.tooLarge, head: head) }
            headsRead += 1
            switch bodyLength(head) {
            case .success(let length):
                guard head.count + length <= limits.messageSize else { return fail(.tooLarge, head: head) }
                expected = head.count + length
            case .failure(let error): return fail(error.fault, head: head)
            }
        }
        guard pending.count - start >= expected else { return nil }
        do throws(ParseError) {
            return taken(try Message(parsing: Array(pending[start..<start + expected]), limits: limits))
        } catch {
            return fail(error.fault, head: [])
        }
    }

    private mutating func taken(_ message: Message) -> Event {
        start += message.octets.count
        searched = start
        expected = 0
        return .message(message)
    }

    /// The usual case: all of a message is there, and its head says its length in a way that a glance finds. It is parsed once.
    /// Nil when that is not so, or not sure.
    private func wholeMessage(bodyStart: Int) -> Message? {
        guard let length = statedLength(before: bodyStart), bodyStart - start <= limits.headSize,
            bodyStart - start + length <= limits.messageSize, pending.count - bodyStart >= length,
            let message = try? Message(parsing: Array(pending[start..<bodyStart + length]), limits: limits),
            message.contentLength == length, message.bodyRange == OctetRange(bodyStart - start, bodyStart - start + length),
            message.defect?.fault != .contentLength
        else { return nil }
        return message
    }

    /// What the first line says that looks like Content-Length: a number below a million and nothing else.
    private func statedLength(before bodyStart: Int) -> Int? {
        pending.withUnsafeBufferPointer { (octets) -> Int? in
            guard let base = octets.baseAddress else { return nil }
            var at = start
            while true {
                at = Octet.first(Octet.lf, base, at, bodyStart) + 1
                guard at < bodyStart else { return nil }
                let first = base[at] | 0x20
                guard first == UInt8(ascii: "c") || first == UInt8(ascii: "l") else { continue }
                let colon = Octet.first(Octet.colon, base, at, bodyStart)
                guard HeaderKind.of(base, OctetRange(at, colon)) == .contentLength else { continue }
                var cursor = Cursor(base, OctetRange(colon + 1, bodyStart))
                cursor.skipBlanks()
                guard let length = cursor.number(upTo: 999_999), cursor.current == Octet.cr || cursor.current == Octet.lf else {
                    return nil
                }
                return Int(length)
            }
        }
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
        let from = max(searched, start)
        let end = pending.withUnsafeBufferPointer { (octets) -> Int? in
            guard let base = octets.baseAddress else { return nil }
            let count = octets.count
            var at = from
            while true {
                at = Octet.first(Octet.lf, base, at, count)
                if at + 1 < count, base[at + 1] == Octet.lf { return at + 2 }
                if at + 2 < count, base[at + 1] == Octet.cr, base[at + 2] == Octet.lf { return at + 3 }
                guard at < count else { return nil }
                at += 1
            }
        }
        searched = max(start, (end ?? pending.count) - 3)
        return end
    }

    private func bodyLength(_ head: [UInt8]) -> Result<Int, ParseError> {
        do throws(ParseError) {
            let message = try Message(parsing: head, limits: limits)
            if let defect = message.defect, defect.fault == .contentLength { return .failure(defect) }
            return .success(message.contentLength ?? 0)
        } catch {
            return .failure(error)
        }
    }
}
