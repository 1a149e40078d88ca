// Where a message goes or came from: transport, address and, for streams, which connection.

package import Basics

/// One end of a message's way over the network.
package struct Hop: Hashable, Sendable {
    package var transport: Transport
    package var address: SocketAddress
    /// The sender's number of a stream connection; 0 for datagrams and where any connection will do.
    package var connection: UInt32
    /// The sender's number of the host name that a certificate at this address has to be for; 0 where none was given.
    package var host: UInt32

    package init(transport: Transport, address: SocketAddress, connection: UInt32 = 0, host: UInt32 = 0) {
        self.transport = transport
        self.address = address
        self.connection = connection
        self.host = host
    }

    /// Whether what is sent to this hop may go by `way`: the same peer, and the same connection where this hop names one.
    func isReached(by way: Hop) -> Bool {
        transport == way.transport && address == way.address
            && (connection == way.connection || connection == 0 || way.connection == 0)
            && (host == way.host || host == 0 || way.host == 0)
    }
}

extension ViaParts {
    /// Where a response goes whose request came from `source` (RFC 3261 section 18.2.2, RFC 3581 section 4): over the connection
    /// of the request; for datagrams to the source's address, and to its port with `rport`, else to sent-by's.
    func responseHop(source: Hop) -> Hop {
        guard source.transport == .udp, !hasRport else { return source }
        var hop = source
        hop.address.port = port ?? 5060
        return hop
    }
}
