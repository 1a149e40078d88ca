// Writes a session description as bytes (RFC 8866), in the order of the RFC, with CRLF.

import Basics

extension SessionDescription {
    /// The body.
    package var bytes: [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(512)
        append(to: &result)
        return result
    }

    /// Appends the body to `output`. t= is always `0 0`: a session without bounds (RFC 3264 section 5).
    package func append(to output: inout [UInt8]) {
        output.append("v=0\r\n")
        if let origin {
            output.append("o=")
            output.line(origin.text)
        }
        output.append("s=")
        // An empty s= is written as one blank (RFC 8866 section 5.3).
        output.line(sessionName.isEmpty ? " " : sessionName)
        if let connection {
            output.append("c=")
            output.line(connection.text)
        }
        for bandwidth in bandwidths {
            output.append("b=")
            output.line(bandwidth)
        }
        output.append("t=0 0\r\n")
        output.append(direction)
        for attribute in attributes { output.append(attribute) }
        for medium in media { medium.append(to: &output) }
    }
}

extension MediaDescription {
    fileprivate func append(to output: inout [UInt8]) {
        output.append("m=")
        output.append(text: kind)
        output.append(" ")
        output.append(number: Int(port))
        if portCount != 1 {
            output.append("/")
            output.append(number: Int(portCount))
        }
        output.append(" ")
        output.append(text: transport)
        for format in formats {
            output.append(" ")
            output.append(text: format)
        }
        output.append("\r\n")
        if let connection {
            output.append("c=")
            output.line(connection.text)
        }
        for bandwidth in bandwidths {
            output.append("b=")
            output.line(bandwidth)
        }
        for map in rtpMaps {
            output.append("a=rtpmap:")
            output.append(number: Int(map.payload))
            output.append(" ")
            output.append(text: map.name)
            output.append("/")
            output.append(number: Int(map.clockRate))
            if map.channels != 1 {
                output.append("/")
                output.append(number: Int(map.channels))
            }
            output.append("\r\n")
        }
        for parameters in formatParameters {
            output.append("a=fmtp:")
            output.append(text: parameters.format)
            output.append(" ")
            output.line(parameters.text)
        }
        if let packetTime { output.attribute("a=ptime:", packetTime) }
        if let maximumPacketTime { output.attribute("a=maxptime:", maximumPacketTime) }
        output.append(direction)
        if let rtcp {
            output.append("a=rtcp:")
            output.append(number: Int(rtcp.port))
            if let address = rtcp.address {
                output.append(address.isV6 ? " IN IP6 " : " IN IP4 ")
                output.append(text: address.description)
            }
            output.append("\r\n")
        }
        if rtcpMux { output.append("a=rtcp-mux\r\n") }
        for attribute in attributes { output.append(attribute) }
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    fileprivate mutating func append(text: String) { append(contentsOf: text.utf8) }

    fileprivate mutating func line(_ text: String) {
        append(contentsOf: text.utf8)
        append("\r\n")
    }

    fileprivate mutating func attribute(_ name: StaticString, _ value: Int) {
        append(name)
        append(number: value)
        append("\r\n")
    }

    fileprivate mutating func append(_ direction: MediaDirection?) {
        switch direction {
        case .sendrecv: append("a=sendrecv\r\n")
        case .sendonly: append("a=sendonly\r\n")
        case .recvonly: append("a=recvonly\r\n")
        case .inactive: append("a=inactive\r\n")
        case nil: break
        }
    }

    fileprivate mutating func append(_ attribute: Attribute) {
        append("a=")
        append(text: attribute.name)
        if let value = attribute.value {
            append(":")
            append(text: value)
        }
        append("\r\n")
    }

    /// Decimal; 0 or more.
    mutating func append(number: Int) {
        if number >= 10 { append(number: number / 10) }
        append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}
