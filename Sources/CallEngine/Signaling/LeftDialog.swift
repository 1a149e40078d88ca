import Basics
package import SIP

/// A dialog that this end has left by BYE, until that transaction is over (RFC 5407 section 3.2): the other end may have sent its BYE
/// before ours came, and repeats its 2xx while our ACK is missing. One object without an ACK stands for many.
package final class LeftDialog: DialogUser {
    private unowned let endpoint: SIPEndpoint
    private let repeatACK: ((Message) -> Void)?

    init(endpoint: SIPEndpoint, repeatACK: ((Message) -> Void)?) {
        self.endpoint = endpoint
        self.repeatACK = repeatACK
    }

    /// 200 to BYE (RFC 3261 section 15.1.2), 481 to everything else.
    package func received(_ request: Message, _ transaction: TransactionID, from hop: Hop) {
        let status = request.method == .bye ? 200 : 481
        endpoint.respond(transaction, status: status, request.response(status, source: hop.address))
    }

    package func acknowledged(_ ack: Message) {}

    /// Each 2xx that comes again gets its ACK again (section 13.2.2.4): some take no BYE before it.
    package func receivedStray(_ response: Message, from hop: Hop) {
        if 200..<300 ~= response.status { repeatACK?(response) }
    }

    package func cancelled(_ cancel: Message, _ transaction: TransactionID, from hop: Hop) {
        preconditionFailure("the INVITE was answered long ago")
    }
}
