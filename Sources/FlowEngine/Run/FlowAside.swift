// Sections beside the flow: while `bridge` connects the call with another, a section may run on either leg (`whisper`, `keys`). What it
// plays is heard on that leg, what it collects is typed there; variables, events, tags and background recordings are the flow's own. A
// section that ends comes back to the bridge; `goto` and errors leave the bridge and go on in the flow; `hangup` hangs up the leg.

import CallEngine

extension FlowRun {
    /// The flow itself, whoever asks.
    var root: FlowRun { beside?.root ?? self }
}

/// The sections that run on the legs of one bridge.
final class FlowAsides {
    private let run: FlowRun
    /// What the flow goes on with instead of the bridge: a `goto`, or an error.
    private(set) var departure: (any Error)?

    init(_ run: FlowRun) { self.run = run }

    /// Runs a section on a leg, to its end or until the bridge cancels it.
    func run(_ name: String, on leg: any CallControl) async throws(CancellationError) -> BridgeVerdict {
        guard let section = run.frame.flow.section(name) else { return leave(FlowError("there is no section `\(name)`")) }
        return try await run(on: leg) { side in
            side.emit(.section(name))
            try await side.run(section.block)
            return .goOn
        }
    }

    /// Runs `body` as a part of the flow on a leg.
    func run(
        on leg: any CallControl, _ body: (FlowRun) async throws -> BridgeVerdict
    ) async throws(CancellationError) -> BridgeVerdict {
        let side = leg === run.call ? run : FlowRun(beside: run, on: leg)
        let (place, wasInBridge) = (side.place, side.isInBridge)
        side.isInBridge = true
        defer {
            (side.place, side.isInBridge) = (place, wasInBridge)
            if side !== run { side.stopBackground() }
        }
        do {
            return try await body(side)
        } catch is CancellationError {
            throw CancellationError()
        } catch FlowTransfer.end {
            return .rejected
        } catch {
            return leave(error)
        }
    }

    /// The first reason to leave counts.
    private func leave(_ error: any Error) -> BridgeVerdict {
        departure = departure ?? error
        return .leave
    }
}
