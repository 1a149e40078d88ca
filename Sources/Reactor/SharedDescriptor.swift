import CLinux
import Synchronization

/// A descriptor that several threads use while one of them may close it: it is closed by whoever leaves last, so that no call ever
/// meets a number that the system has given to somebody else.
final class SharedDescriptor: Sendable {
    private let number: Int32
    /// Twice the calls under way, plus one when closed.
    private let state = Atomic<Int>(0)

    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        if state.load(ordering: .acquiring) & 1 == 0 { SystemCall.close(number) }
    }

    /// Runs `body` with the descriptor; nil when it is closed.
    @inline(__always)
    func use<Result>(_ body: (Int32) -> Result) -> Result? {
        let before = state.wrappingAdd(2, ordering: .acquiring).oldValue
        defer { leave() }
        return before & 1 == 0 ? body(number) : nil
    }

    /// Once. Calls under way end first.
    func close() {
        let before = state.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue
        precondition(before & 1 == 0, "a descriptor is closed once")
        if before == 0 { lastLeft() }
    }

    private func leave() {
        // The one that takes the count to zero after the close is the last.
        let after = state.wrappingSubtract(2, ordering: .acquiringAndReleasing).newValue
        if after == 1 { lastLeft() }
    }

    private func lastLeft() {
        // A late caller that finds it closed also passes here: only the first may close the number.
        if closedNumber.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged {
            SystemCall.close(number)
        }
    }

    private let closedNumber = Atomic<Bool>(false)
}
