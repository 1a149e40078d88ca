// The part of /metrics about traces of calls.

import CallEngine

extension MetricsText {
    mutating func add(_ trace: TraceCounters) {
        add("ringwright_trace_calls", .gauge, "Calls that are traced at this moment.", Double(trace.active))
        add("ringwright_trace_calls_total", .counter, "Calls that were traced.", Double(trace.calls))
        add(
            "ringwright_trace_missing_total", .counter, "What traces lack, by the reason.",
            [
                ([("reason", "calls")], Double(trace.refusedCalls)), ([("reason", "queue")], Double(trace.dropped)),
                ([("reason", "size")], Double(trace.omitted)), ([("reason", "file")], Double(trace.failures))
            ])
    }
}
