// What this machine did to the run. A generator that is late, starved or out of ports measures itself and not its target: such a run is
// named, with what was short.

package import Basics
import Glibc
package import Reactor

/// What was measured about this side, and which of its own limits falsify the run.
package struct GeneratorHealth: Equatable, Codable, Sendable {
    /// An own limit, in the words of the results.
    package enum Limit: String, Sendable, CaseIterable {
        /// Calls began, or packets went out, too late.
        case lateTimers = "late-timers"
        /// The loops had no processor, or needed all of one.
        case cpu
        /// No RTP port was free.
        case ports
        /// The process has no more file descriptors.
        case descriptors
        /// Messages were lost on this side: a full queue between loops, a full socket.
        case queues
        /// `--concurrency` held calls back.
        case concurrency
        /// `limits` of the configuration refused calls.
        case admission
        /// Messages or packets that the system did not take.
        case sending
        /// This machine named an address of its own under which no audio finds it.
        case address
        /// Another worker of the run died in the middle of it.
        case lostWorker = "lost-worker"

        /// What to do about it.
        package var mend: String {
            switch self {
            case .lateTimers: "lower the rate, or leave this machine to ringwright alone"
            case .cpu: "lower the rate, give this machine more processors, or end what else runs"
            case .ports: "widen rtp.ports, or hold calls for a shorter time"
            case .descriptors: "raise the limit (ulimit -n): a call takes two descriptors"
            case .queues: "raise net.core.rmem_max, or lower the rate"
            case .concurrency: "raise --concurrency; for a fixed number of callers use --users"
            case .admission: "raise limits.calls (--max-calls) and limits.calls-per-second of this side"
            case .address: "set sip.external to the address under which the target sees this machine, or listen on that one"
            case .lostWorker: "see why that worker ended; its calls after its last sign are in no figure"
            case .sending: "look for a firewall, a full interface or a wrong route on this machine"
            }
        }
    }

    /// Seconds of processor time, user and system.
    package var cpu = 0.0
    /// How late calls began; microseconds.
    package var lateness = Histogram()
    package var lateStarts: UInt64 = 0
    package var heldBack: UInt64 = 0
    /// Calls that came in and that `limits` refused.
    package var turnedAway: UInt64 = 0
    /// Seconds that were looked at, those in which a loop worked nearly without pause, and those in which it waited for a processor.
    package var seconds = 0
    package var busySeconds = 0
    package var starvedSeconds = 0
    package var portRefusals: UInt64 = 0
    package var lackedDescriptors: UInt64 = 0
    /// Messages that a queue between loops, or a socket, had no room for.
    package var dropped: UInt64 = 0
    package var sendFailures: UInt64 = 0
    /// Slices of the media clock, and those that began late.
    package var slices: UInt64 = 0
    package var lateSlices: UInt64 = 0
    package var skippedTicks: UInt64 = 0
    /// Calls without audio in which the target saw another address than the one that it was told.
    package var misaddressed = 0
    /// Workers on other machines that died.
    package var lostWorkers = 0
    /// Resident memory at the end, bytes.
    package var residentBytes: UInt64 = 0

    package init() {}

    package var limitsHit: [Limit] {
        var limits: [Limit] = []
        let isLate = lateness.quantile(0.99) > Pacer.tolerance.nanoseconds / 1000
        let isMediaLate = slices > 100 && lateSlices * 100 > slices
        if (isLate && heldBack == 0) || isMediaLate || skippedTicks > 0 { limits.append(.lateTimers) }
        if seconds > 0, (busySeconds + starvedSeconds) * 5 >= seconds { limits.append(.cpu) }
        if portRefusals > lackedDescriptors { limits.append(.ports) }
        if lackedDescriptors > 0 { limits.append(.descriptors) }
        if dropped > 0 { limits.append(.queues) }
        if heldBack > 0 { limits.append(.concurrency) }
        if turnedAway > 0 { limits.append(.admission) }
        if sendFailures > 0 { limits.append(.sending) }
        if misaddressed > 0 { limits.append(.address) }
        if lostWorkers > 0 { limits.append(.lostWorker) }
        return limits
    }

    /// Adds what was measured on another machine, or by another process of this one.
    mutating func merge(_ other: GeneratorHealth) {
        cpu += other.cpu
        lateness.merge(other.lateness)
        lateStarts += other.lateStarts
        heldBack += other.heldBack
        turnedAway += other.turnedAway
        // A machine that was short spoils the run, however many were not.
        if other.busyShare > busyShare {
            (seconds, busySeconds, starvedSeconds) = (other.seconds, other.busySeconds, other.starvedSeconds)
        }
        portRefusals += other.portRefusals
        lackedDescriptors += other.lackedDescriptors
        dropped += other.dropped
        sendFailures += other.sendFailures
        slices += other.slices
        lateSlices += other.lateSlices
        skippedTicks += other.skippedTicks
        misaddressed += other.misaddressed
        lostWorkers += other.lostWorkers
        residentBytes += other.residentBytes
    }

    private var busyShare: Double { seconds == 0 ? 0 : Double(busySeconds + starvedSeconds) / Double(seconds) }
}

/// Looks at the loops once a second. Used on one thread.
package struct GeneratorWatch {
    private var busy: [Int64]
    private var waited: [String: Int64]
    private var last: Instant?
    private let cpuBefore: Double
    private let droppedBefore: UInt64
    package private(set) var health = GeneratorHealth()

    package init(_ loops: [EpollLoop]) {
        busy = loops.map(Self.busy)
        waited = Self.waits(loops)
        cpuBefore = Self.cpuSeconds
        droppedBefore = Self.socketDrops
    }

    /// Nanoseconds of work of a loop so far.
    private static func busy(_ loop: EpollLoop) -> Int64 { loop.runAndWait { loop.metrics.busy } }

    /// A second, more or less, has passed.
    /// - Parameter counts: whether something was to be done in it.
    package mutating func look(_ loops: [EpollLoop], at now: Instant, counts: Bool = true) {
        let busyNow = loops.map(Self.busy)
        let waitedNow = Self.waits(loops)
        defer { (busy, waited, last) = (busyNow, waitedNow, now) }
        health.cpu = Self.cpuSeconds - cpuBefore
        guard counts, let last, now > last else { return }
        let passed = Double((now - last).nanoseconds)
        health.seconds += 1
        // A loop's turns count the time in which its thread had no processor, too: that is told first.
        let wait = waitedNow.map { Double($0.value - (waited[$0.key] ?? $0.value)) / passed }.max() ?? 0
        let work = zip(busyNow, busy).map { Double($0 - $1) / passed }.max() ?? 0
        if wait > 0.25 { health.starvedSeconds += 1 } else if work > 0.95 { health.busySeconds += 1 }
    }

    /// What is known at this moment.
    package mutating func finish() -> GeneratorHealth {
        health.cpu = Self.cpuSeconds - cpuBefore
        let dropped = Self.socketDrops
        health.dropped = dropped > droppedBefore ? dropped - droppedBefore : 0
        health.residentBytes = Self.residentBytes
        return health
    }

    /// Nanoseconds that the threads of the loops were ready and had no processor (proc(5), schedstat), by the name of the thread.
    private static func waits(_ loops: [EpollLoop]) -> [String: Int64] {
        let names = Set(loops.map { String($0.name.prefix(15)) })
        var result: [String: Int64] = [:]
        for task in ProcessFiles.folder("/proc/self/task") {
            guard let name = ProcessFiles.text("/proc/self/task/\(task)/comm")?.split(separator: "\n").first,
                names.contains(String(name)),
                let fields = ProcessFiles.text("/proc/self/task/\(task)/schedstat")?.split(separator: " "), fields.count >= 2
            else { continue }
            result[String(task)] = Int64(fields[1]) ?? 0
        }
        return result
    }

    private static var cpuSeconds: Double {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    private static var residentBytes: UInt64 {
        guard let fields = ProcessFiles.text("/proc/self/statm")?.split(separator: " "), fields.count > 1 else { return 0 }
        return (UInt64(fields[1]) ?? 0) * UInt64(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Datagrams that this process's sockets had no room for (the last column of /proc/net/udp and udp6).
    private static var socketDrops: UInt64 {
        var drops: [(inode: String, count: UInt64)] = []
        for file in ["/proc/self/net/udp", "/proc/self/net/udp6"] {
            for line in ProcessFiles.text(file)?.utf8.split(separator: UInt8(ascii: "\n")).dropFirst() ?? [] {
                let fields = line.split(separator: UInt8(ascii: " "))
                guard fields.count >= 13, let count = UInt64(Substring(fields[fields.count - 1])), count > 0 else { continue }
                drops.append((String(Substring(fields[9])), count))
            }
        }
        guard !drops.isEmpty else { return 0 }
        let own = ProcessFiles.socketInodes
        return drops.reduce(0) { own.contains($1.inode) ? $0 + $1.count : $0 }
    }
}
