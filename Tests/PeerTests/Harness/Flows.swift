// What the flows of these tests do with a call, as Swift functions over the call's control surface.

import Basics
import CallEngine
import Foundation
import Reactor

enum Files {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static func prompt(_ name: String) -> String { root.appendingPathComponent("prompts/\(name).wav").path }
    static func scenario(_ name: String) -> String {
        root.appendingPathComponent("Tests/PeerTests/Scenarios/\(name).xml").path
    }
}

extension Call {
    /// Plays a prompt of the project to its end.
    func say(_ prompt: String) async throws {
        let end = try await play(PlaybackRequest([.file(path: Files.prompt(prompt))])).finished()
        if case .failed(let reason) = end { throw FlowFailure(reason: reason) }
    }

    /// Starts a recording of the far side.
    func startRecording(_ path: String, _ channels: RecordingRequest.Channels = .caller, notes: Notes) throws {
        notes.keep(try record(RecordingRequest(path: path, channels: channels)))
    }

    /// Reads keys until there are `count` or nothing came for `patience`; `onFirst` runs in the turn of the first one.
    func keys(_ count: Int, patience: Duration = .seconds(5), onFirst: (() -> Void)? = nil) async throws -> String {
        let mailbox = Mailbox<DigitEvent>(loop: loop)
        var first = onFirst
        func take(_ event: DigitEvent) {
            first?()
            first = nil
            mailbox.send(event)
        }
        for event in digits.read({ take($0) }) { take(event) }
        defer { digits.stopReading() }
        var keys = ""
        while keys.count < count, let event = try await mailbox.next(until: loop.now + patience) {
            if event.phase == .began { keys.append(event.digit.character) }
        }
        return keys
    }

    /// Reads `count` keys one after the other, and notes each down as it comes, so that a test may press the next.
    func keysOneByOne(_ count: Int, notes: Notes) async throws {
        for _ in 0..<count { notes.add("key \(try await keys(1))") }
    }

    /// Of a call that was placed: waits for the answer, says who is there, and hears the far side until a while after.
    func greet(
        recording path: String, notes: Notes, before: Duration = .milliseconds(300), after: Duration = .milliseconds(800)
    ) async throws {
        notes.add("\(try await wait(for: .answered, timeout: .seconds(8)))")
        try startRecording(path, notes: notes)
        try await stay(before)
        try await say("welcome")
        try await stay(after)
    }

    /// Waits until the far side hangs up (the flow is cancelled then), at most so long.
    func stay(_ limit: Duration) async throws { try await loop.sleep(for: limit) }
}

struct FlowFailure: Error, CustomStringConvertible {
    var reason: String
    var description: String { reason }
}

extension Playback {
    func finished() async throws -> PlaybackEnd {
        let end = Waiter<PlaybackEnd>()
        onEnd = { end.resume(returning: $0) }
        return try await end.wait()
    }
}
