// The timers of transactions (RFC 3261 table 4, RFC 6026 section 8.1) and the values they are made of.

import Basics

/// T1, T2 and T4 of RFC 3261 section 17.1.1.1.
package struct TransactionTimers: Sendable {
    /// The estimate of a round trip; 500 ms.
    package var t1 = Duration.milliseconds(500) {
        didSet { t1Nanoseconds = t1.nanoseconds }
    }
    /// The same as a number: arithmetic on Duration is dear.
    private(set) var t1Nanoseconds: Int64 = 500_000_000
    /// The longest interval between repetitions of non-INVITE requests and INVITE responses; 4 s.
    package var t2 = Duration.seconds(4)
    /// How long a message may stay in the network; 5 s.
    package var t4 = Duration.seconds(5)
    /// After how long an INVITE without any response of ours gets 100 Trying; 200 ms (section 17.2.1).
    package var trying = Duration.milliseconds(200)

    package init() {}

    /// 64*T1: the end of waiting.
    package var timeout: Duration { t1 * 64 }

    /// How long a timer runs in a machine whose repetition interval has been doubled `doublings` times.
    package func duration(_ timer: TransactionTimer, doublings: UInt8) -> Duration {
        switch timer {
        case .a: t1 * (1 << min(Int(doublings), 6))
        case .e, .g: min(t1 * (1 << min(Int(doublings), 6)), t2)
        case .b, .f, .h, .j, .l, .m, .cancelled: timeout
        case .d: max(timeout, .seconds(32))
        case .i, .k: t4
        case .trying: trying
        }
    }
}

/// Timers by their letter in RFC 3261 and RFC 6026.
package enum TransactionTimer: UInt8, Sendable, CaseIterable {
    /// INVITE request repetition; INVITE client timeout; wait for response repetitions.
    case a, b, d
    /// Request repetition and timeout of other requests; wait for response repetitions.
    case e, f, k
    /// INVITE response repetition; wait for ACK; wait for ACK repetitions.
    case g, h, i
    /// Wait for repetitions of other requests.
    case j
    /// RFC 6026: wait for INVITE repetitions (server) and for further 2xx (client).
    case l, m
    /// 100 Trying is due.
    case trying
    /// 64*T1 after a CANCEL the INVITE is given up (section 9.1).
    case cancelled
}

/// What a machine wants done after an event; several at once.
package struct TransactionStep: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The event did not belong to the state: absorbed.
    package static let nothing: TransactionStep = []
    /// Give the message to the user of the transaction.
    package static let deliver = TransactionStep(rawValue: 1)
    /// Send the request, or the latest response, (again).
    package static let send = TransactionStep(rawValue: 2)
    /// Send the ACK for the final response.
    package static let sendACK = TransactionStep(rawValue: 4)
    /// Tell the user that no answer (or no ACK) came.
    package static let timedOut = TransactionStep(rawValue: 8)
    /// Tell the user that the message could not be sent.
    package static let transportFailed = TransactionStep(rawValue: 16)
    /// The transaction is over: forget it.
    package static let ended = TransactionStep(rawValue: 32)
    /// Send 100 Trying.
    package static let sendTrying = TransactionStep(rawValue: 64)

    /// Start a timer.
    package static func arm(_ timer: TransactionTimer) -> TransactionStep {
        TransactionStep(rawValue: 1 << (12 + UInt32(timer.rawValue)))
    }

    /// The timers to start, as bits by their raw values.
    var timers: UInt32 { rawValue >> 12 }
}
