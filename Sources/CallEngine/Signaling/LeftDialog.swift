import Basics
import Reactor
package import SIP

/// A dialog that this end has left while the other end may not know it: by BYE, until that transaction is over (RFC 5407 section 3.2: its BYE may
/// cross ours, and it repeats its 2xx while our ACK is missing), or by giving up an INVITE, which may be answered all the same. One
/// object that nobody hears of answers stands for many dialogs.
package final class LeftDialog: DialogUser {
    private unowned let endpoint: SIPEndpoint
    private let onAnswer: ((Message) -> Void)?
    /// Ends a dialog that no transaction ends.
    private var timer: LoopTimer?

    /// - Parameter onAnswer: gets each 2xx to our INVITE.
    init(endpoint: SIPEndpoint, onAnswer: ((Message) -> Void)?) {
        self.endpoint = endpoint
        self.onAnswer = onAnswer
    }

    func ends(by timer: LoopTimer) { self.timer = timer }
    func stop() { timer?.cancel() }

    /// 200 to BYE (RFC 3261 section 15.1.2), 481 to everything else.
    package func received(_ request: Message, _ transaction: TransactionID, from hop: Hop) {
        let status = request.method == .bye ? 200 : 481
        endpoint.respond(transaction, status: status, request.response(status, source: hop.address))
    }

    package func acknowledged(_ ack: Message) {}

    /// Each 2xx that comes gets its ACK (RFC 3261 section 13.2.2.4): some take no BYE before it.
    package func receivedStray(_ response: Message, from hop: Hop) {
        if 200..<300 ~= response.status { onAnswer?(response) }
    }

    package func cancelled(_ cancel: Message, _ transaction: TransactionID, from hop: Hop) {
        preconditionFailure("the INVITE was answered long ago")
    }
}
