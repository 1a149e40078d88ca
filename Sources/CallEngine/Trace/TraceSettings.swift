/// Which calls are traced, where to, and how much of them.
package struct TraceSettings: Sendable {
    /// Each call gets a folder of its own in it.
    package var folder: String
    /// Whether a call is traced; asked on its loop when it begins.
    package var selects: @Sendable (TracedCall) -> Bool
    /// Of so many calls that are selected one is traced.
    package var sample: Int
    /// Calls at a time; further ones are not traced, and counted.
    package var calls: Int
    /// Folders that are kept; the oldest go.
    package var kept: Int
    /// Octets that the capture of a call may have. Media ends there; messages may take a mebibyte more.
    package var size: Int
    /// Whether RTP and RTCP are in it.
    package var hasMedia: Bool
    /// Keys can be read in it, secret ones excepted. Otherwise each reads as an event that does not exist.
    package var showsKeys: Bool

    package init(
        folder: String, sample: Int = 1, calls: Int = 100, kept: Int = 200, size: Int = 10 << 20, hasMedia: Bool = true,
        showsKeys: Bool = false, selects: @escaping @Sendable (TracedCall) -> Bool = { _ in true }
    ) {
        self.folder = folder
        self.sample = sample
        self.calls = calls
        self.kept = kept
        self.size = size
        self.hasMedia = hasMedia
        self.showsKeys = showsKeys
        self.selects = selects
    }
}

/// What a call is chosen by.
package struct TracedCall: Sendable {
    package var id: String
    package var direction: CallInfo.Direction
    /// The line that it came by or goes out through; empty without one.
    package var line: String
    /// User parts of who calls and of who is called.
    package var from: String
    package var to: String

    package init(id: String, direction: CallInfo.Direction, line: String, from: String, to: String) {
        self.id = id
        self.direction = direction
        self.line = line
        self.from = from
        self.to = to
    }
}

/// What became of a trace.
package enum TraceEvent: Equatable, Sendable {
    /// Everything of the call is in this folder.
    case written(call: String, folder: String)
    /// The files of the call cannot be written; in words.
    case failed(call: String, reason: String)
    /// The oldest folders cannot be removed, so that there are more than were asked for; in words.
    case noRoom(folder: String, reason: String)
}

/// What tracing did since the start.
package struct TraceCounters: Equatable, Sendable {
    /// Calls that are traced at this moment, and all that ever were.
    package internal(set) var active = 0
    package internal(set) var calls: UInt64 = 0
    /// Calls that were selected, but too many at a time.
    package internal(set) var refusedCalls: UInt64 = 0
    /// Messages and packets that are missing: the writer had too much to do.
    package internal(set) var dropped: UInt64 = 0
    /// Messages and packets left out because the call's capture is full.
    package internal(set) var omitted: UInt64 = 0
    /// Calls whose files could not be written.
    package internal(set) var failures: UInt64 = 0

    package init() {}
}
