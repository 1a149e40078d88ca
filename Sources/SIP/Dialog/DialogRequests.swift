// Requests inside a dialog (RFC 3261 sections 12.2.1.1, 13.2.2.4): Route by loose or strict routing, CSeq, ACK for 2xx.

import Basics

extension Dialog {
    /// The first route's URI is loose, or there is no route.
    private var isLoose: Bool {
        guard let first = routes.first else { return true }
        return (try? NameAddress(first, OctetRange(0, first.count)).uri().isLooseRouter) ?? true
    }

    private func uri(of route: [UInt8]) -> [UInt8] {
        (try? NameAddress(route, OctetRange(0, route.count))).map { Array($0.uriOctets) } ?? route
    }

    /// The URI to which requests are sent: the first route, or the target.
    package var nextHop: [UInt8] { routes.first.map { uri(of: $0) } ?? remoteTarget }

    /// Starts a request with the next CSeq number. Those that may change where this end is reached have Contact (RFC 3261 section
    /// 12.2.1.1, RFC 3311 section 5.1, RFC 3515 section 2.2, RFC 6665 section 4.4.1) and say what it can do; a BYE, PRACK, INFO or
    /// MESSAGE changes nothing and says nothing. More headers and `finish` follow.
    package mutating func startRequest(_ method: Method, end: LocalEnd, branch: [UInt8], into writer: inout MessageWriter) {
        localCSeq += 1
        write(method, localCSeq, end, branch, &writer)
        switch method {
        case .invite, .update, .subscribe, .refer, .notify:
            writer.header("Contact", octets: end.contact)
            writer.append(end.headers)
        default: break
        }
    }

    /// The next request, whole.
    /// - Parameter headers: whole rows, each ended by CRLF.
    package mutating func request(
        _ method: Method, end: LocalEnd, branch: [UInt8], headers: [UInt8] = [], body: [UInt8] = [], type: String = ""
    ) -> OutgoingRequest {
        var writer = MessageWriter()
        startRequest(method, end: end, branch: branch, into: &writer)
        writer.append(headers)
        writer.finish(body: body, type: type)
        return OutgoingRequest(octets: writer.octets, method: method, branch: branch, nextHop: nextHop)
    }

    /// The ACK for a 2xx to our INVITE with the number `cSeq`: a request of its own with a new branch.
    /// - Parameter headers: whole rows; credentials of the INVITE are repeated here (section 22.1).
    package func acknowledgement(
        cSeq: UInt32, end: LocalEnd, branch: [UInt8], headers: [UInt8] = [], body: [UInt8] = [], type: String = ""
    ) -> OutgoingRequest {
        var writer = MessageWriter(capacity: 512)
        write(.ack, cSeq, end, branch, &writer)
        writer.append(headers)
        writer.finish(body: body, type: type)
        return OutgoingRequest(octets: writer.octets, method: .ack, branch: branch, nextHop: nextHop)
    }

    private func write(_ method: Method, _ cSeq: UInt32, _ end: LocalEnd, _ branch: [UInt8], _ writer: inout MessageWriter) {
        if isLoose {
            writer.startLine(method, remoteTarget, end, branch)
            for route in routes { writer.header("Route", octets: route) }
        } else {
            // A strict router takes the Request-URI as its own; the target goes last in Route.
            writer.startLine(method, uri(of: routes[0]), end, branch)
            for route in routes.dropFirst() { writer.header("Route", octets: route) }
            writer.append("Route: <")
            writer.append(remoteTarget)
            writer.append(">\r\n")
        }
        writer.append(rows)
        writer.cSeqValue(cSeq, method)
    }
}
