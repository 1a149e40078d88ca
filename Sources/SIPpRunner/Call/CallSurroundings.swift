// What a call needs of the run around it. The call itself is pure: messages and instants go in, and what it wants done goes out here.

package import Basics
package import Dialer
package import SIP

/// What became of a message that was to go out.
package enum SendOutcome {
    case sent
    /// The socket takes no more for now.
    case congested
    /// It cannot go out at all.
    case failed
}

/// What the behaviours of `-default_behaviors` are.
package struct DefaultBehaviors: OptionSet {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// An aborted call ends with BYE or CANCEL, and an unexpected BYE or CANCEL gets its 200.
    package static let bye = DefaultBehaviors(rawValue: 1)
    /// An unexpected message aborts its call.
    package static let abortUnexpected = DefaultBehaviors(rawValue: 2)
    package static let pingReply = DefaultBehaviors(rawValue: 4)
    package static let all: DefaultBehaviors = [.bye, .abortUnexpected, .pingReply]
}

/// What the calls of a run have in common.
package struct CallSettings {
    package var callerID = ""
    package var behaviors = DefaultBehaviors.all
    package var autoAnswers = false
    package var baseCSeq = 0
    /// Milliseconds of a `pause` without a length.
    package var pause = 0.0
    package var receiveTimeout: Double?
    package var sendTimeout: Double?
    package var retransmits = true
    package var maxInvite = 5
    package var maxNonInvite = 9
    package var maxRetransmissions = Int.max
    /// Milliseconds.
    package var t2 = 4000.0
    package var loss = 0.0
    package var ignoresMessagesInPauses = false
    package var detectsLoosely = false
    package var user = "service"
    package var authUser = ""
    package var authPassword = "password"
    package var authURI = ""
    package var isUDP = true
    package var processID = 0
    package var rfc3339 = false
    package var rttLog = false

    package init() {}
}

/// The run, as a call sees it.
package protocol CallSurroundings: AnyObject {
    var now: Instant { get }
    /// Milliseconds since the run began.
    var clockTick: Int { get }
    /// Seconds since 1970.
    var wallClock: Double { get }
    var settings: CallSettings { get }
    /// Where messages are put together.
    var buffer: OctetBuffer { get }
    var globals: VariableStore { get }
    var users: Int { get }
    func chance() -> Double
    func draw(_ distribution: HoldTime) -> Double

    func send(_ octets: UnsafeRawBufferPointer, of call: ScenarioCall) -> SendOutcome
    func sendCommand(_ octets: [UInt8], to destination: String?, of call: ScenarioCall) -> Bool
    /// The call's `wake` has changed.
    func schedule(_ call: ScenarioCall)
    /// The call is over; it gets nothing more.
    func ended(_ call: ScenarioCall)

    func constant(_ name: Template.Constant) -> String
    func localPort(of call: ScenarioCall) -> Int
    func mediaPort(of call: ScenarioCall, isAutomatic: Bool) -> Int
    func streamPort(of call: ScenarioCall, isVideo: Bool) -> Int
    func field(_ number: Int, file: String, line: String, of call: ScenarioCall) -> [UInt8]
    func contents(of file: String) -> [UInt8]
    func file(_ name: String) -> InjectionFile?
    func defaultMessage(_ message: DefaultMessage) -> Template

    /// A message of the far end, which may tell where it takes media.
    func described(_ message: Message, call: ScenarioCall)
    func log(_ text: [UInt8])
    func warn(_ text: String)
    func responded(_ timer: Int, after time: Duration, of call: ScenarioCall)
    /// Ends the run with a fatal error.
    func fatal(_ text: String)
    func stop(gracefully: Bool)
    func execute(_ command: String)
    func play(_ media: Action.Media, text: String, of call: ScenarioCall)
    func echo(_ isOn: Bool)
    func setDestination(host: String, port: String, transport: String, of call: ScenarioCall) -> Bool
    func closeConnection(of call: ScenarioCall)
}

/// Values of variables that outlive a call.
package final class VariableStore {
    package var values: [VariableValue]

    package init(_ table: VariableTable) {
        values = [VariableValue](repeating: .unset, count: table.names.count)
    }
}
