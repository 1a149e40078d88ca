// What a campaign counts while it runs.

/// What a campaign counted in this run of the program.
package struct CampaignFigures: Equatable, Sendable {
    /// Calls that run, or whose beginning or end is being written.
    package var active = 0
    package var peak = 0
    package var began = 0
    /// Attempts that ended.
    package var passed = 0
    package var failed = 0
    package var error = 0
    package var ended: Int { passed + failed + error }
    /// Attempts after which the target is called again.
    package var again = 0
    /// Rows that are not called again, and those of them that did not pass.
    package var over: Int { ended - again }
    package var unsuccessful: Int { failed + error - again }
    /// The stop rule ended it.
    package var wasStopped = false
    /// Why nothing begins although there are rows: outside of the hours.
    package var isClosed = false
    /// The same: no worker has registered the lines that parties are called by.
    package var waitsForLines = false
    package init() {}

    /// Rows that are over, and those of them that did not pass, of all workers and all runs.
    /// - Parameter before: what was there before this run.
    package func over(_ before: CampaignStore.Counts) -> (rows: Int, failed: Int) {
        guard let whole else { return (before.over + over, before.failed + before.error + unsuccessful) }
        return (whole.ended - whole.again, whole.ended - whole.again - whole.passed)
    }

    /// What all workers together came to, a second ago at most; nil without others.
    package var whole: CampaignBeat?
}
