// The sockets of a run: one for all calls, or one for each.

package import Basics
import Reactor

/// Why a run cannot begin or go on, with the status it ends with.
package struct RunFailure: Error {
    package var status: Int32
    package var message: String

    static func bind(_ message: String) -> RunFailure { RunFailure(status: ExitCode.cannotBind, message: message) }
    static func fatal(_ message: String) -> RunFailure { RunFailure(status: ExitCode.fatal, message: message) }
}

/// SIPp's exit codes.
package enum ExitCode {
    package static let passed: Int32 = 0
    package static let failed: Int32 = 1
    /// Ended by a scenario's `stop_now`, or by -timeout before any call was over.
    package static let stopped: Int32 = 97
    package static let other: Int32 = 99
    package static let mediaCheckFailed: Int32 = 253
    package static let cannotBind: Int32 = 254
    package static let fatal: Int32 = 255
}

/// What a kind of channel tells the run.
protocol ChannelUser: AnyObject {
    func received(_ octets: UnsafeRawBufferPointer, from source: SocketAddress, on link: AnyObject?, at instant: Instant)
    func lost(_ link: AnyObject, _ reason: String)
    func warn(_ text: String)
    func fatal(_ text: String)
}

/// Addresses of a run.
package struct RunAddresses {
    package var local: SocketAddress
    /// Where calls go; nil for a run that is only called.
    package var remote: SocketAddress?
    package var remoteHost = ""
    /// Where everything goes instead (-rsa).
    package var sending: SocketAddress?
    package var media: IPAddress
    /// Takes messages on `local` alone, not on all addresses of the host.
    package var bindsLocal = false

    package init(local: SocketAddress, remote: SocketAddress?, media: IPAddress) {
        self.local = local
        self.remote = remote
        self.media = media
    }

    var bound: IPAddress { bindsLocal ? local.ip : local.ip.isV6 ? .any6 : .any4 }
}

class Channels {
    let loop: EventLoop
    unowned let user: any ChannelUser
    let addresses: RunAddresses
    let options: Options
    /// Sockets that are open for calls.
    var openCount: Int { 0 }

    init(loop: EventLoop, user: any ChannelUser, addresses: RunAddresses, options: Options) {
        self.loop = loop
        self.user = user
        self.addresses = addresses
        self.options = options
    }

    /// The port that messages name as this end's.
    var localPort: Int { fatalError("a kind of channel has its port") }
    func open() throws(RunFailure) { fatalError("a kind of channel opens") }
    func send(_ octets: UnsafeRawBufferPointer, of call: ScenarioCall) -> SendOutcome { fatalError("a kind of channel sends") }
    /// A call that this end begins: `source` is its address for -t ui.
    func prepare(_ call: ScenarioCall, source: IPAddress?) -> Bool { true }
    func release(_ call: ScenarioCall) {}
    func localPort(of call: ScenarioCall) -> Int { localPort }
    /// Another destination for a call.
    func setDestination(_ address: SocketAddress, of call: ScenarioCall) -> Bool {
        call.destination = address
        return true
    }
    func closeConnection(of call: ScenarioCall) {}
    /// Ends all; `then` is called when the last messages are out.
    func close(then: @escaping () -> Void) { then() }

    /// Where a message of a call goes.
    func destination(of call: ScenarioCall) -> SocketAddress? {
        addresses.sending ?? call.destination ?? call.source ?? addresses.remote
    }
}
