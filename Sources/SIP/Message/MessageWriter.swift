// Writing of messages: octets are appended to one array, without Strings in between where it is hot.
// Values from flows and configuration go through `header(_:_ text:)`, which lets no line end through (header injection).

package import Basics

/// Appends a message piece by piece: start line, header rows, body.
package struct MessageWriter: Sendable {
    /// What has been written.
    package private(set) var octets: [UInt8]

    /// A writer with room for `capacity` octets.
    package init(capacity: Int = 768) {
        octets = []
        octets.reserveCapacity(capacity)
    }

    /// Appends text of the program as it is.
    @inline(__always)
    package mutating func append(_ text: StaticString) {
        octets.append(addingCapacity: text.utf8CodeUnitCount) { output in output.append(text) }
    }

    /// Appends octets as they are: parts of a message that was indexed, so that no stray line end can be in them.
    @inline(__always)
    package mutating func append(_ slice: ArraySlice<UInt8>) {
        octets.append(addingCapacity: slice.count) { output in output.append(slice) }
    }

    /// Appends octets as they are.
    @inline(__always)
    package mutating func append(_ array: [UInt8]) {
        octets.append(addingCapacity: array.count) { output in output.append(array) }
    }

    /// Appends what `write` writes, of at most `capacity` octets: many pieces at the price of one.
    @inline(__always)
    mutating func append(capacity: Int, _ write: (inout OutputSpan<UInt8>) -> Void) {
        octets.append(addingCapacity: capacity, initializingWith: write)
    }

    /// Appends text; line ends and NUL become blanks.
    package mutating func append(safe text: String) {
        let start = octets.count
        octets.append(contentsOf: text.utf8)
        for place in start..<octets.count where octets[place] <= Octet.cr {
            if octets[place] == Octet.cr || octets[place] == Octet.lf || octets[place] == 0 { octets[place] = Octet.space }
        }
    }

    /// Appends a decimal number, 0 or larger.
    package mutating func append(_ number: Int) {
        octets.append(addingCapacity: 20) { output in output.append(decimal: UInt(number)) }
    }

    /// Appends an address, an IPv6 one in brackets.
    package mutating func append(_ ip: IPAddress) {
        guard case .v4(let value) = ip else {
            octets.append(Octet.openBracket)
            octets.append(contentsOf: ip.description.utf8)
            octets.append(Octet.closeBracket)
            return
        }
        octets.append(addingCapacity: 15) { output in
            for shift: UInt32 in [24, 16, 8, 0] {
                output.append(decimal: UInt(value >> shift & 255))
                if shift > 0 { output.append(46) }
            }
        }
    }

    /// Appends an address with its port.
    package mutating func append(_ address: SocketAddress) {
        append(address.ip)
        octets.append(Octet.colon)
        append(Int(address.port))
    }

    /// Appends CRLF.
    @inline(__always)
    package mutating func endLine() {
        append("\r\n")
    }

    /// Appends `name: value` of the program.
    package mutating func header(_ name: StaticString, _ value: StaticString) {
        append(name)
        append(": ")
        append(value)
        endLine()
    }

    /// Appends a header with a value from outside the program; line ends become blanks.
    package mutating func header(_ name: StaticString, text: String) {
        append(name)
        append(": ")
        append(safe: text)
        endLine()
    }

    /// Appends a header whose name comes from outside too: a name that is no token is left out and false given back.
    @discardableResult
    package mutating func header(named name: String, text: String) -> Bool {
        guard !name.isEmpty, name.utf8.allSatisfy(Octet.isToken) else { return false }
        octets.append(contentsOf: name.utf8)
        append(": ")
        append(safe: text)
        endLine()
        return true
    }

    /// Appends a header with octets of an indexed message.
    package mutating func header(_ name: StaticString, octets slice: ArraySlice<UInt8>) {
        slice.withUnsafeBufferPointer { header(name, $0) }
    }

    /// Appends a header with a range of an indexed message.
    mutating func header(_ name: StaticString, _ range: OctetRange, of message: Message) {
        message.octets.withUnsafeBufferPointer { header(name, UnsafeBufferPointer(rebasing: $0[range.indices])) }
    }

    /// Appends a range of an indexed message.
    mutating func append(_ range: OctetRange, of message: Message) {
        message.octets.withUnsafeBufferPointer { source in
            octets.append(addingCapacity: range.count) { $0.append(UnsafeBufferPointer(rebasing: source[range.indices])) }
        }
    }

    /// Appends a header with octets as they are.
    package mutating func header(_ name: StaticString, octets array: [UInt8]) {
        array.withUnsafeBufferPointer { header(name, $0) }
    }

    private mutating func header(_ name: StaticString, _ value: UnsafeBufferPointer<UInt8>) {
        octets.append(addingCapacity: name.utf8CodeUnitCount + value.count + 4) { output in
            output.append(name)
            output.append(": ")
            output.append(value)
            output.append("\r\n")
        }
    }

    /// Appends a header with a number.
    package mutating func header(_ name: StaticString, _ number: Int) {
        octets.append(addingCapacity: name.utf8CodeUnitCount + 24) { output in
            output.append(name)
            output.append(": ")
            output.append(decimal: UInt(number))
            output.append("\r\n")
        }
    }

    /// Ends the message without a body.
    package mutating func finish() { append("Content-Length: 0\r\n\r\n") }

    /// Ends the message with a body.
    package mutating func finish(body: [UInt8], type: String) {
        guard !body.isEmpty else { return finish() }
        header("Content-Type", text: type)
        header("Content-Length", body.count)
        endLine()
        append(body)
    }

    /// `SIP/2.0 200 OK`
    package mutating func statusLine(_ status: Int, reason: String? = nil) {
        octets.append(addingCapacity: 64) { output in
            output.append("SIP/2.0 ")
            output.append(decimal: UInt(status))
            output.append(Octet.space)
            if reason == nil { output.append(statusPhrase(status)) }
        }
        if let reason { append(safe: reason) }
        endLine()
    }
}

extension OutputSpan<UInt8> {
    @inline(__always) mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always) mutating func append(_ slice: ArraySlice<UInt8>) {
        slice.withUnsafeBufferPointer { append($0) }
    }

    @inline(__always) mutating func append(_ array: [UInt8]) {
        array.withUnsafeBufferPointer { append($0) }
    }

    @inline(__always) fileprivate mutating func append(_ octets: UnsafeBufferPointer<UInt8>) {
        precondition(octets.count <= freeCapacity)
        withUnsafeMutableBufferPointer { buffer, count in
            guard let source = octets.baseAddress, let target = buffer.baseAddress else { return }
            (target + count).initialize(from: source, count: octets.count)
            count += octets.count
        }
    }

    mutating func append(decimal number: UInt) {
        if number >= 10 { append(decimal: number / 10) }
        append(UInt8(48 + number % 10))
    }
}
