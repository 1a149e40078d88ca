// `bridge`: calls one or more targets and connects the caller with the one that answers.

import CallEngine

/// Connects the call with another.
package struct BridgeVerb: Verb {
    package static let name = "bridge"
    package static let needs = VerbNeed.call
    package static let takesCall = true
    package static let outcomes = BridgeResult.Outcome.allCases.map(\.rawValue)
    package static let example =
        "bridge: { to: sip:sales@pbx.example.com, timeout: 20s, on: { busy: hangup, no-answer: hangup } }"

    private let targets: [FlowText]
    private var order = BridgeRequest.Order.all
    private var timeout: FlowLength?
    private var callerID: FlowText?
    private var headers: [(name: String, value: FlowText)] = []
    private var ringback: Sound?
    private var silentRingback = false
    private var earlyMedia = true
    private var record: FlowText?
    private var recordChannels = RecordingRequest.Channels.stereo
    private var codecs: [String]?
    private var extras = BridgeExtras()

    package init?(_ step: StepReader) {
        if let plain = step.plain {
            targets = NodeRead.list(plain).compactMap { step.flow.text($0, "`bridge`") }
            if targets.isEmpty { return nil }
            return
        }
        guard step.argument != nil, let map = step.open() else {
            step.wrong("a target, a list of targets or a mapping")
            return nil
        }
        _ = map.required("to", mend: "to: sip:name@host")
        targets = step.texts("to") ?? []
        order = map.choice("order") ?? .all
        timeout = step.length("timeout")
        callerID = step.text("caller-id")
        headers = step.headers("headers")
        earlyMedia = map.bool("early-media") ?? true
        codecs = map.codecs("codecs")
        if let node = map.node("ringback") {
            if case .scalar(let scalar) = node.content, ["auto", "silence"].contains(scalar.text) {
                silentRingback = scalar.text == "silence"
            } else if case .mapping = node.content, node["tone"] != nil, let map = MappingReader(node, "`ringback`", step.sink) {
                ringback = map.node("tone").flatMap { ToneSpec.read($0, step.sink) }.map(Sound.tone)
                map.finish()
            } else {
                ringback = Sound.read(node, "`ringback`", step.flow)
            }
        }
        if let node = map.node("record") {
            if case .mapping = node.content, let map = MappingReader(node, "`record`", step.sink) {
                record = map.required("to").flatMap { step.flow.text($0, "`to`") }
                if map.string("channels") == "mono" || map.bool("mono") == true { recordChannels = .mono }
                _ = map.bool("stereo")
                map.finish()
            } else {
                record = step.flow.text(node, "`record`")
            }
        }
        if let record { RecordVerb.checkName(of: record, step.sink) }
        extras = BridgeExtras(step, map)
    }

    package var shape: StepShape {
        var shape = StepShape(takesTime: true)
        shape.exhaustive = Self.outcomes
        shape.aside = extras.sections
        return shape
    }

    /// A key may have put the caller on hold; whom he was to wait for is gone.
    private func release(_ run: FlowRun) async throws {
        guard run.call.isHeldByUs, !run.call.state.isEnded else { return }
        do {
            try await run.call.unhold()
        } catch let error as CallControlError {
            run.emit(.warning("bridge: the caller stays on hold: \(error)", at: run.currentPlace))
        }
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        var resolved: [String] = []
        var shown: [String: String] = [:]
        for target in targets {
            let values = try run.value(target)
            let texts = values.asList?.map(\.text) ?? [values.text]
            resolved += texts
            for text in texts { shown[text] = run.isSecret(target) ? try run.shown(target) : text }
        }
        for target in resolved {
            if let reason = run.environment.refusesBridge(target) { throw FlowError("bridge: \(shown[target] ?? ""): \(reason)") }
        }
        var request = BridgeRequest(targets: resolved, order: order)
        request.timeout = try run.length(timeout, default: request.timeout)
        request.callerID = try callerID.map { try run.headerValue($0) }
        request.headers = try headers.map { CallHeader(name: $0.name, value: try run.headerValue($0.value)) }
        request.earlyMedia = earlyMedia
        request.codecs = codecs
        request.mayTransfer = { [environment = run.environment] in environment.refusesBridge($0) == nil }
        if silentRingback { request.ringback = .silence }
        if let ringback { request.ringback = .source(try run.source(ringback)) }
        if let record {
            let path = try run.path(record, under: run.environment.recordingsFolder)
            let shown = try run.shown(record)
            let (place, channels) = (run.currentPlace, recordChannels)
            request.onConnected = { [unowned run] in
                do {
                    return try run.startRecording(
                        RecordingRequest(path: path, channels: channels), shown: shown, of: run.call
                    ).recording
                } catch {
                    run.emit(.warning("bridge: the call is not recorded: \(error)", at: place))
                    return nil
                }
            }
        }
        let asides = FlowAsides(run)
        try extras.add(to: &request, run, asides)
        run.emit(.bridging(resolved.map { shown[$0] ?? $0 }))
        let wasHeld = run.call.isHeldByUs
        let result = try await run.call.bridge(request)
        run.emit(.bridged(target: shown[result.target] ?? result.target, outcome: result.outcome.rawValue, status: result.status))
        // A target that is not shown may be in the reason.
        if !result.detail.isEmpty, shown[result.target] ?? result.target == result.target {
            run.emit(.warning("bridge: \(result.detail)", at: run.currentPlace))
        }
        if let departure = asides.departure { throw departure }
        if !wasHeld { try await release(run) }
        return StepResult(
            value: .object([
                "outcome": .string(result.outcome.rawValue), "target": .string(result.target),
                "status": .int(Int64(result.status)), "limited": .bool(result.isLimited),
                "connected": .duration(result.connected)
            ]), outcome: result.outcome.rawValue)
    }
}
