// A load run that several machines share: they wait for each other, begin together, and each tells all that all of them counted.

import Basics
import Dialer
import Reactor
import Store

extension LoadStage {
    /// - Parameter words: what all workers have in common.
    func run(
        _ plan: LoadPlan, _ words: String, among shared: LoadOptions.SharedRun
    ) async throws(CommandFailure) -> LoadReport {
        let database = try SharedSpace.open("load", shared.name, at: shared.database, migrations: LoadStore.migrations)
        defer { database.close() }
        let arrival = LoadStore.Arrival(
            name: shared.name, plan: words, workers: shared.workers, loops: calling.loops.count, seed: plan.seed,
            lease: shared.lease)
        let control = control
        let crew = control.runAndWait { LoopBound(LoadCrew(arrival, database: database, loop: control), on: control) }
        progress("waiting for \(shared.workers) workers of \(shared.name)")
        stops.handle { _ in crew.run { $0.stop() } }
        let joined = await withCheckedContinuation { continuation in
            crew.run { crew in
                crew.join { continuation.resume(returning: $0) }
            }
        }
        stops.handle(nil)
        var plan = plan
        let part = try Self.value(of: joined)
        plan.seed = part.seed
        let own = await run(plan, part: part) { progress in crew.run { $0.show(progress) } }
        progress("waiting for the other workers")
        stops.handle { _ in crew.run { $0.stop() } }
        defer { stops.handle(nil) }
        let merged = await withCheckedContinuation { continuation in
            crew.run { $0.finish(own) { continuation.resume(returning: $0) } }
        }
        return try Self.value(of: merged)
    }

    private static func value<Value>(of result: Result<Value, StoreError>) throws(CommandFailure) -> Value {
        do throws(StoreError) {
            return try result.get()
        } catch {
            throw CommandFailure(error.kind == .refused ? .wrong : .unable, "--workers: \(error)")
        }
    }
}
