// The facts of a call as flows, logs and results read them. They are put together when somebody asks, so that a call that nobody
// looks at pays nothing for them.

import Basics
import SIP

extension Call: CallControl {
    package var info: CallInfo {
        let invite = session?.machine.invite
        var info = CallInfo(
            id: id, direction: direction, from: invite.flatMap { Self.party(try? $0.from()) } ?? CallParty(uri: ""),
            to: party(invite), started: started)
        if let replaced { (info.from, info.to) = replaced.parties(of: info, isCaller: direction == .inbound) }
        let source = direction == .inbound || replaced != nil ? invite : finalResponse
        info.headers = source.map { Self.headers($0) } ?? []
        info.line = line?.name ?? ""
        info.user = user
        if direction == .inbound || replaced != nil, let invite {
            info.identity = assertedIdentity(in: invite)
            info.privacy = invite.header(.privacy) ?? ""
            info.diversions = Self.diversions(in: invite)
        } else if let finalResponse {
            info.diversions = Self.diversions(in: finalResponse)
        }
        info.texts = texts?.received.all ?? []
        info.startedAt = startedAt
        info.answered = answeredAt
        info.ended = endedAt
        info.codec = media?.codecName ?? finalCodec
        info.sipStatus = finalStatus
        info.sipReason = finalReason
        info.timings = times
        info.media = mediaReport
        return info
    }

    /// The counts of RTP alone, without the cost of `info`.
    package var mediaReport: MediaReport { finalReport ?? media?.report ?? MediaReport() }

    /// Whom the call is for: the Request-URI of a call that came in (To may name somebody else), where it is a temporary GRUU with the user whom
    /// that stands for; the target of one that goes out.
    private func party(_ invite: Message?) -> CallParty {
        guard let uri = invite.flatMap({ try? $0.requestURI() }) else { return CallParty(uri: target?.uri.description ?? "") }
        let display = (try? invite?.to())?.displayName ?? ""
        return CallParty(uri: uri.description, user: device?.user ?? uri.numberOrUser, host: uri.host, display: display)
    }

    static func party(_ address: NameAddress?) -> CallParty? {
        guard let address, let uri = try? address.uri() else { return nil }
        return CallParty(uri: uri.description, user: uri.numberOrUser, host: uri.host, display: address.displayName)
    }

    private static func headers(_ message: Message) -> [CallHeader] {
        message.rows.map { row in
            // A compact name is told by its long one.
            let name = row.kind == .other ? String(decoding: message[row.name], as: UTF8.self) : "\(row.kind.name)"
            return CallHeader(name: name, value: message.unfolded(row.value))
        }
    }
}
