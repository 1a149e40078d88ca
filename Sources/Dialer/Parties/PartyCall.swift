// One call of a test with its flow: both halves are such calls. It notes what the other half has to agree with.

import Basics
import CallEngine
import FlowEngine
import Reactor

/// Belongs to the call's loop.
final class PartyCall: FlowObserver {
    private let name: String
    private let call: Call
    private let flow: Flow
    private let environment: FlowEnvironment
    /// Where it is recorded; nil: it is not.
    private let path: String?
    private var keysSent: [(at: Instant, keys: String)] = []
    private var hasSentSecrets = false
    private var recording: Recording?
    private var recordedFrom: Instant?
    private var recordingFailure = ""

    init(_ name: String, _ call: Call, _ flow: Flow, _ environment: FlowEnvironment, recordingTo path: String?) {
        self.name = name
        self.call = call
        self.flow = flow
        self.environment = environment
        self.path = path
    }

    /// Runs the flow to the end of the call, `always:` included.
    func run() async -> PartyHalf {
        call.onStateChange = { [weak self] state in
            if state == .answered { self?.record() }
        }
        var environment = environment
        environment.observers.append(self)
        let outcome = await FlowRun(flow: flow, call: call, environment: environment).run()
        call.onStateChange = nil
        let end = outcome.end ?? CallEnd(by: .engine, cause: .error, detail: "the end was not told")
        var half = PartyHalf(
            name: name, info: call.info, end: end, outcome: outcome, digitsReceived: call.digits.history,
            callID: call.sipCallID ?? "")
        half.keysSent = keysSent
        half.hasSecretKeys = hasSentSecrets || call.digits.hasSecrets
        half.recordingFailure = recordingFailure
        if let recording {
            half.recordedFrom = recordedFrom
            half.recording = await closed(recording)
            if let result = half.recording, !result.complete { half.recordingFailure = result.detail }
        }
        return half
    }

    private func record() {
        // A flow that records has the call's recorder for itself.
        guard let path, recording == nil, !flow.uses("record") else { return }
        recordedFrom = call.loop.now
        do throws(CallControlError) {
            recording = try call.record(RecordingRequest(path: path, channels: .stereo))
        } catch {
            recordingFailure = error.words
        }
    }

    private func closed(_ recording: Recording) async -> RecordingResult? {
        let isClosed = Waiter<RecordingResult>()
        recording.onEnd = { isClosed.resume(returning: $0) }
        recording.stop()
        return try? await isClosed.wait()
    }

    func flow(_ run: FlowRun, did event: FlowEvent) {
        switch event {
        case .digitsSent("***"): hasSentSecrets = true
        case .digitsSent(let keys): keysSent.append((call.loop.now, String(keys.filter { Digit($0) != nil })))
        default: break
        }
    }
}
