// A REFER outside of the call that it is about: Target-Dialog names the call (RFC 4538), and who knows its Call-ID and tags may ask what its far
// side may. How the transfer goes is told in a dialog of the REFER's own (RFC 3515 section 2.4).

import Basics
import Reactor
import SIP

/// The subscription that such a REFER makes. It ends with the last NOTIFY.
final class ReferralDialog: DialogUser {
    private unowned let shard: CallShard
    private let end: LocalEnd
    private let hop: Hop
    private var dialog: Dialog
    private var registration: TransactionKey?
    private let tag: [UInt8]

    /// Throws for a REFER without a usable Contact: 400.
    init(_ refer: Message, from hop: Hop, shard: CallShard) throws(ParseError) {
        self.shard = shard
        self.hop = hop
        tag = shard.endpoint.newToken()
        dialog = try Dialog(answering: refer, localTag: tag)
        end = shard.localEnd(
            answering: refer, from: hop, shard.endpoint.localAddress(to: hop), line: shard.line(of: refer, from: hop))
    }

    /// The answer to the REFER that makes the dialog.
    func accept(_ refer: Message, _ id: TransactionID, status: Int, rows: [UInt8]) {
        registration = shard.endpoint.add(self, callID: dialog.callID, tag: tag[...])
        var writer = MessageWriter(capacity: refer.octets.count + 256)
        writer.response(status, to: refer, tag: tag[...], source: hop.address, recordRoute: true)
        writer.header("Contact", octets: end.contact[...])
        writer.append(end.headers)
        writer.append(rows)
        writer.finish()
        shard.endpoint.respond(id, status: status, writer.octets)
    }

    /// Does nothing once the far side wants to hear no more.
    func notify(_ status: Int, isLast: Bool) {
        guard registration != nil else { return }
        let (rows, body) = Referral.notification(status, isLast: isLast)
        let request = dialog.request(
            .notify, end: end, branch: shard.endpoint.newBranch(), headers: rows, body: body,
            type: "message/sipfrag;version=2.0")
        shard.endpoint.send(request.octets, method: .notify, branch: request.branch, to: hop) { [weak self] event in
            // Who does not know the subscription, or is not there, is told no more (RFC 6665 section 4.2.2).
            if case .response(let response, _) = event, response.status < 300 { return }
            self?.leave()
        }
        if isLast { leave() }
    }

    /// Nothing more is told.
    func leave() {
        if let registration { shard.endpoint.removeDialog(registration) }
        registration = nil
    }

    /// SUBSCRIBE prolongs the subscription, or ends it; there is nothing else to ask here.
    func received(_ request: Message, _ transaction: TransactionID, from hop: Hop) {
        let status = request.method == .subscribe ? 200 : 481
        var writer = MessageWriter(capacity: request.octets.count + 64)
        writer.response(status, to: request, tag: tag[...], source: hop.address)
        let seconds = min(request.number(.expires) ?? 60, 60)
        if status == 200 { writer.header("Expires", seconds) }
        writer.finish()
        shard.endpoint.respond(transaction, status: status, writer.octets)
        if status == 200, seconds == 0 { leave() }
    }

    func acknowledged(_ ack: Message) {}
    func receivedStray(_ response: Message, from hop: Hop) {}

    func cancelled(_ cancel: Message, _ transaction: TransactionID, from hop: Hop) {
        shard.endpoint.respond(transaction, status: 200, cancel.response(200, tag: tag[...], source: hop.address))
    }
}

extension CallShard {
    /// A REFER outside of dialogs: about a call that its sender takes part in, else declined.
    func referred(_ request: Message, _ id: TransactionID, _ hop: Hop) {
        let reference: DialogReference
        let dialog: ReferralDialog
        do throws(ParseError) {
            guard let found = try DialogReference(targetOf: request) else { return refuse(request, id, hop, 603, []) }
            reference = found
            dialog = try ReferralDialog(request, from: hop, shard: self)
        } catch {
            return refuse(request, id, hop, 400, [])
        }
        guard let call = endpoint.user(callID: reference.callID[...], tag: reference.localTag[...]) as? Call,
            call.session?.machine.isBetween(reference) == true, !call.state.isEnded
        else { return refuse(request, id, hop, 481, []) }
        let (status, rows) = call.referred(request, by: dialog)
        if status == 202 {
            dialog.accept(request, id, status: status, rows: rows)
        } else {
            refuse(request, id, hop, status, rows)
        }
    }
}
