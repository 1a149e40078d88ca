// Which Info-Packages each end takes (RFC 6086): who names none by Recv-Info gets none. This end takes none itself: it says so to who asks,
// and refuses what comes all the same with 469. A call says nothing of packages by itself; who wants to send one asks first, by an
// UPDATE with Recv-Info, where the far side has said nothing and takes that.

import Basics
import Reactor
import SIP

extension Call {
    /// The row that says that no package is taken here.
    static let noPackages = Array("Recv-Info:\r\n".utf8)

    /// That row, for an answer to who has named the packages that he takes.
    static func packageRow(answering request: Message?) -> [UInt8] { request?.has(.recvInfo) == true ? noPackages : [] }

    /// What the far side takes, by the latest message that says it: lower case; nil: it never said anything.
    var farPackages: [String]? {
        if let known = texts?.packages { return known }
        guard let machine = session?.machine else { return nil }
        return machine.isCaller ? finalResponse?.infoPackages : machine.invite.infoPackages
    }

    /// A message that may change it: a re-INVITE, UPDATE or PRACK, a response to one of ours, a reliable response.
    func notePackages(_ message: Message?) {
        guard let packages = message?.infoPackages else { return }
        let kept = texts ?? TextsInCall()
        texts = kept
        kept.packages = packages
    }

    /// Asks the far side what it takes, once; returns when it has answered, or not in time.
    func askForPackages(within limit: Duration) async throws(CancellationError) {
        let kept = texts ?? TextsInCall()
        texts = kept
        guard !kept.hasAsked, let machine = session?.machine,
            (machine.isCaller ? finalResponse : machine.invite)?.lists(.allow, "update") == true
        else { return }
        kept.hasAsked = true
        let answer = Waiter<Void>()
        kept.asking = answer
        defer { kept.asking = nil }
        var isSent = false
        update { isSent = $0.send(.update, headers: Self.noPackages, into: &$1) }
        guard isSent else { return }
        let timer = loop.schedule(after: limit) { answer.resume(returning: ()) }
        defer { timer.cancel() }
        try await answer.wait()
    }

    /// Why a body of a package cannot be sent; nil: it can.
    func refusal(ofPackage name: String) -> String? {
        let packages = farPackages
        if packages?.contains(name.lowercased()) == true { return nil }
        guard let packages else { return "the far side takes no Info-Packages: it has sent no Recv-Info (RFC 6086)" }
        return
            "the far side takes no Info-Package \(name): its Recv-Info names \(packages.isEmpty ? "none" : packages.joined(separator: ", "))"
    }
}
