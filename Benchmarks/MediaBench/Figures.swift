// How figures are taken and written.

import Basics
import CallEngine
import Glibc
import Reactor

/// Where the process and the loop's media are at one moment.
struct Moment {
    let at: Instant
    /// Seconds of user and system time.
    let cpu: Double
    let counters: MediaCounters

    init(_ services: MediaServices) {
        at = services.loop.now
        cpu = Process.cpu()
        counters = services.counters
    }
}

enum Process {
    /// Bytes of this process that are in memory.
    static func residentBytes() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, 128, file) != nil else { return 0 }
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return (Int(text.split(separator: " ")[1]) ?? 0) * 4096
    }

    /// Seconds of user and system time.
    static func cpu() -> Double {
        var usage = rusage()
        getrusage(Int32(0), &usage)  // RUSAGE_SELF
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
            / 1e6
    }
}

enum Figures {
    /// One object of JSON, numbers with two digits behind the point.
    static func line(_ figures: [(String, Double)]) -> String {
        let fields = figures.map { name, value in "\"\(name)\":\((value * 100).rounded() / 100)" }
        return "{" + fields.joined(separator: ",") + "}"
    }
}

extension [Double] {
    /// The value that `share` of all are not above; 0 of none.
    func quantile(_ share: Double) -> Double {
        guard !isEmpty else { return 0 }
        return sorted()[Swift.min(count - 1, Int(Double(count) * share))]
    }
}
