/// What a shard counted since the start.
package struct CallCounters: Equatable, Sendable {
    package var incoming: UInt64 = 0
    package var outgoing: UInt64 = 0
    package var answered: UInt64 = 0
    /// Ended calls by cause.
    package var ended: [CallEnd.Cause: UInt64] = [:]
    /// Incoming calls refused by the limits, or for want of ports.
    package var refused: [Admission.Refusal: UInt64] = [:]
    /// Incoming calls refused because no media could be agreed on.
    package var unacceptable: UInt64 = 0

    package init() {}

    package mutating func add(_ other: CallCounters) {
        incoming += other.incoming
        outgoing += other.outgoing
        answered += other.answered
        unacceptable += other.unacceptable
        ended.merge(other.ended, uniquingKeysWith: +)
        refused.merge(other.refused, uniquingKeysWith: +)
    }
}
