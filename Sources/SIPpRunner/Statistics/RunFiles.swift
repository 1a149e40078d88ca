// The files of a run, by SIPp's names and in its forms.

import Basics
import Reactor
import SIP

final class RunFiles {
    private let options: Options
    private let scenario: Scenario
    private let prefix: String
    private let workers: WorkerPool
    private var traces: [Options.Trace: RunFile] = [:]
    private var statistics: RunFile?
    private var statisticsForm: StatisticsForm
    /// Response times that wait to be written.
    private var times: [String] = []
    private let tracesMessages: Bool

    init(options: Options, scenario: Scenario, processID: Int, workers: WorkerPool) {
        self.options = options
        self.scenario = scenario
        self.workers = workers
        let name = scenario.file.split(separator: "/").last.map(String.init) ?? scenario.file
        prefix = "\(name.hasSuffix(".xml") ? String(name.dropLast(4)) : name)_\(processID)_"
        statisticsForm = StatisticsForm(scenario, delimiter: options.statisticsDelimiter, rfc3339: options.calls.rfc3339)
        tracesMessages = options.traces.contains(.messages) || options.traces.contains(.shortMessages)
    }

    func open() throws(RunFailure) {
        if options.tracesStatistics {
            let file = try RunFile(options.statisticsFile ?? "\(prefix).csv", appends: false, workers: workers)
            file.write(statisticsForm.head + "\n")
            statistics = file
        }
        for trace in Options.Trace.allCases where options.traces.contains(trace) {
            let path = options.traceFiles[trace] ?? prefix + trace.ending
            traces[trace] = try RunFile(path, appends: options.appendsTo.contains(trace), workers: workers)
        }
        traces[.rtt]?.write("Date_ms;response_time_ms;rtd_no\n")
        traces[.counts]?.write(statisticsForm.countsHead + "\n")
    }

    func write(_ trace: Options.Trace, _ text: String) { traces[trace]?.write(text) }

    func flush() {
        statistics?.flush()
        for file in traces.values { file.flush() }
    }

    // MARK: Messages

    func traceReceived(_ message: Message, transport: Options.Transport, at time: Double) {
        guard tracesMessages else { return }
        message.octets.withUnsafeBytes { octets in
            traceMessage(octets, "\(transport.name) message received [\(octets.count)] bytes :", at: time)
        }
        traceShort(message, "R", at: time)
    }

    func traceSent(_ octets: UnsafeRawBufferPointer, transport: Options.Transport, at time: Double) {
        guard tracesMessages else { return }
        traceMessage(octets, "\(transport.name) message sent (\(octets.count) bytes):", at: time)
        if traces[.shortMessages] != nil, let message = try? Message(parsing: Array(octets)) {
            traceShort(message, "S", at: time)
        }
    }

    private func traceMessage(_ octets: UnsafeRawBufferPointer, _ words: String, at time: Double) {
        guard let file = traces[.messages] else { return }
        file.write("----------------------------------------------- \(DateText.plain(time))\n\(words)\n\n")
        file.write(octets)
        file.write("\n")
    }

    private func traceShort(_ message: Message, _ direction: String, at time: Double) {
        guard let file = traces[.shortMessages] else { return }
        let first = String(decoding: message.octets.prefix { $0 != 13 && $0 != 10 }, as: UTF8.self)
        file.write(
            "\(DateText.stamp(time, rfc3339: options.calls.rfc3339))\t\(direction)\t\(String(decoding: message.callID, as: UTF8.self))\tCSeq:\(message.header(.cSeq) ?? "")\t\(first)\n"
        )
    }

    // MARK: Figures

    func responded(_ name: String, after time: Duration, at elapsed: Duration) {
        guard traces[.rtt] != nil else { return }
        times.append("\(Decimal6.short(elapsed.milliseconds));\(Int(time.milliseconds));\(name)\n")
        if times.count >= options.rttFrequency { flushTimes() }
    }

    private func flushTimes() {
        for line in times { traces[.rtt]?.write(line) }
        times.removeAll(keepingCapacity: true)
    }

    func writeStatistics(_ run: ScenarioRun) {
        let now = run.loop.now
        let clock = run.loop.wallClock
        let elapsed = now - run.statistics.start
        statistics?.write(statisticsForm.row(run, now: now, clock: clock) + "\n")
        traces[.counts]?.write(statisticsForm.countsRow(run.statistics, elapsed: elapsed, clock: clock) + "\n")
        if traces[.errorCodes] != nil, !run.statistics.unexpectedCodes.isEmpty {
            let codes = run.statistics.unexpectedCodes.map(String.init).joined(separator: ",")
            write(
                .errorCodes,
                "\(DateText.stamp(clock, rfc3339: options.calls.rfc3339));\(DateText.long(milliseconds: elapsed.milliseconds));\(codes);\n"
            )
            run.statistics.unexpectedCodes = []
        }
    }

    /// Writes what waits, and the summary.
    func finish(_ run: ScenarioRun) {
        flushTimes()
        write(.screens, RunSummary(run).text)
        statistics?.finish()
        for file in traces.values { file.finish() }
    }
}
