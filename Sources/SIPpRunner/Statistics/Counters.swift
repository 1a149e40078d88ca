// What is counted: SIPp's statistics, by its names and definitions. Every counter has a cumulative value and one of the period since the
// last row of the file.

/// Why a call failed.
package enum FailureCause: Int, CaseIterable {
    case cannotSendMessage, maxUDPRetrans, tcpConnect, tcpClosed, unexpectedMessage, callRejected, cmdNotSent, regexpDoesntMatch
    case regexpShouldntMatch, regexpHdrNotFound, outboundCongestion, timeoutOnRecv, timeoutOnSend, testDoesntMatch
    case testShouldntMatch, strcmpDoesntMatch, strcmpShouldntMatch

    /// The column's name in the file.
    package var column: String {
        switch self {
        case .cannotSendMessage: "FailedCannotSendMessage"
        case .maxUDPRetrans: "FailedMaxUDPRetrans"
        case .tcpConnect: "FailedTcpConnect"
        case .tcpClosed: "FailedTcpClosed"
        case .unexpectedMessage: "FailedUnexpectedMessage"
        case .callRejected: "FailedCallRejected"
        case .cmdNotSent: "FailedCmdNotSent"
        case .regexpDoesntMatch: "FailedRegexpDoesntMatch"
        case .regexpShouldntMatch: "FailedRegexpShouldntMatch"
        case .regexpHdrNotFound: "FailedRegexpHdrNotFound"
        case .outboundCongestion: "FailedOutboundCongestion"
        case .timeoutOnRecv: "FailedTimeoutOnRecv"
        case .timeoutOnSend: "FailedTimeoutOnSend"
        case .testDoesntMatch: "FailedTestDoesntMatch"
        case .testShouldntMatch: "FailedTestShouldntMatch"
        case .strcmpDoesntMatch: "FailedStrcmpDoesntMatch"
        case .strcmpShouldntMatch: "FailedStrcmpShouldntMatch"
        }
    }
}

/// Counts of events in a run or a period.
package struct Counters {
    package var incoming = 0
    package var outgoing = 0
    package var successful = 0
    package var failed = 0
    package var causes = [Int](repeating: 0, count: FailureCause.allCases.count)
    package var outOfCall = 0
    package var deadCall = 0
    package var retransmissions = 0
    package var autoAnswered = 0
    package var warnings = 0
    package var fatalErrors = 0
    package var watchdogMajor = 0
    package var watchdogMinor = 0

    package init() {}
}

/// Mean and deviation of times in whole milliseconds.
package struct TimeSum {
    package private(set) var count = 0
    private var sum = 0.0
    private var squares = 0.0

    package init() {}

    package mutating func add(_ milliseconds: Int) {
        count += 1
        sum += Double(milliseconds)
        squares += Double(milliseconds) * Double(milliseconds)
    }

    /// Milliseconds; 0 without values.
    package var mean: Double { count == 0 ? 0 : sum / Double(count) }

    /// The sample's standard deviation; 0 below two values.
    package var deviation: Double {
        guard count > 1 else { return 0 }
        return max(0, (squares - sum * sum / Double(count)) / Double(count - 1)).squareRoot()
    }
}

/// How many values lie between borders.
package struct Repartition {
    package let borders: [Int]
    /// One more than there are borders: what is at or above the last one.
    package private(set) var counts: [Int]

    package init(_ borders: [Int]) {
        self.borders = borders
        counts = [Int](repeating: 0, count: borders.count + 1)
    }

    package mutating func add(_ value: Int) {
        for (index, border) in borders.enumerated() where value < border {
            counts[index] += 1
            return
        }
        counts[borders.count] += 1
    }

    package mutating func reset() { for index in counts.indices { counts[index] = 0 } }
}

/// What is counted for one step of a scenario.
package struct StepCounters {
    package var sent = 0
    package var received = 0
    package var sentAgain = 0
    package var receivedAgain = 0
    package var timeouts = 0
    package var unexpected = 0
    package var lost = 0
    /// Calls that are in a pause.
    package var sessions = 0
}
