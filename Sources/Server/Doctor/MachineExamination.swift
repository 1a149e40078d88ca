// The machine itself: descriptors, socket buffers, libraries, clock, disk.

import Basics
import CallEngine
import Foundation
import Glibc

enum MachineExamination {
    /// Descriptors a call takes at most: its media sockets for two legs, and a recording.
    private static let descriptorsPerCall = 5
    /// Loops, listeners, files that are always open.
    private static let descriptorsAlways = 100

    static func descriptors(for configuration: Configuration) -> [DoctorFinding] {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return [DoctorFinding(.warning, "descriptors", "the limit could not be read")]
        }
        let needed = configuration.limits.calls * descriptorsPerCall + descriptorsAlways
        // The server raises the soft limit to the hard one by itself.
        let available = Int(clamping: limit.rlim_max)
        if available >= needed {
            return [
                DoctorFinding(
                    .well, "descriptors", "\(available) may be open; \(configuration.limits.calls) calls need \(needed) at most")
            ]
        }
        let calls = max(0, (available - descriptorsAlways) / descriptorsPerCall)
        return [
            DoctorFinding(
                calls < 10 ? .problem : .warning, "descriptors",
                "\(available) may be open, enough for \(calls) calls; limits.calls is \(configuration.limits.calls)",
                mend: "LimitNOFILE=\(needed) in the systemd unit, `ulimit -Hn \(needed)` as root, or lower limits.calls")
        ]
    }

    static func receiveBuffer() -> [DoctorFinding] {
        guard let text = ConfigurationSources.process.readFile("/proc/sys/net/core/rmem_max"),
            let bytes = Int(text.filter(\.isNumber)), bytes < 1 << 20
        else { return [] }
        return [
            DoctorFinding(
                .warning, "buffers",
                "a socket's receive buffer is limited to \(bytes / 1024) KiB: bursts of SIP messages may be lost",
                mend: "sysctl -w net.core.rmem_max=4194304")
        ]
    }

    /// The libraries that this process runs with: those that the program was linked with are loaded, or it would not have started.
    static func libraries() -> [DoctorFinding] {
        guard let maps = ConfigurationSources.process.readFile("/proc/self/maps") else {
            return [DoctorFinding(.warning, "libraries", "the list of loaded libraries could not be read")]
        }
        let wanted = [
            "libsndfile", "libspeexdsp", "libspandsp", "libssl", "libcrypto", "libyaml", "libwebsockets", "libcurl", "libre2"
        ]
        var found: [String] = []
        for line in maps.split(separator: "\n") {
            guard let slash = line.lastIndex(of: "/") else { continue }
            let name = String(line[line.index(after: slash)...])
            if wanted.contains(where: { name.hasPrefix($0 + ".") || name.hasPrefix($0 + "-") }), !found.contains(name) {
                found.append(name)
            }
        }
        return [
            DoctorFinding(.well, "libraries", found.isEmpty ? "linked into the program" : found.sorted().joined(separator: ", "))
        ]
    }

    /// Whether the kernel wakes this process in time, and whether its date can be true.
    static func clock() -> [DoctorFinding] {
        var worst: Int64 = 0
        for _ in 0..<20 {
            let before = monotonic()
            var pause = timespec(tv_sec: 0, tv_nsec: 2_000_000)
            nanosleep(&pause, nil)
            worst = max(worst, monotonic() - before - 2_000_000)
        }
        let late = JSONText.milliseconds(.nanoseconds(worst)).text
        var result = [
            worst < 5_000_000
                ? DoctorFinding(.well, "clock", "timers are \(late) ms late at most")
                : DoctorFinding(
                    .warning, "clock", "a timer was \(late) ms late: audio would stutter",
                    mend: "leave this machine a core that is idle")
        ]
        if time(nil) < 1_735_689_600 {
            result.append(
                DoctorFinding(
                    .warning, "clock", "this machine's date lies before 2025: logs and certificates will be wrong",
                    mend: "set the clock (timedatectl)"))
        }
        return result
    }

    private static func monotonic() -> Int64 {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }

    static func traces(of configuration: Configuration) -> [DoctorFinding] {
        guard let folder = configuration.trace?.folder else { return [] }
        let isWritable = canWrite(to: nearest(folder))
        return [
            DoctorFinding(
                isWritable ? .well : .problem, "traces",
                isWritable ? "\(folder) can be written" : "this user may not write to \(folder)",
                mend: isWritable ? nil : "chown it, or choose another folder in trace.folder")
        ]
    }

    static func recordings(in folder: String) -> [DoctorFinding] {
        let existing = nearest(folder)
        guard canWrite(to: existing) else {
            return [
                DoctorFinding(
                    .problem, "recordings", "this user may not write to \(folder)",
                    mend: "chown it, or choose another folder in recordings")
            ]
        }
        var disk = statvfs()
        guard statvfs(existing, &disk) == 0 else { return [] }
        let free = UInt64(disk.f_bavail) * UInt64(disk.f_frsize)
        // 8000 samples of two bytes a second, mono.
        let hours = free / (16_000 * 3600)
        return [
            DoctorFinding(
                hours < 10 ? .warning : .well, "recordings", "\(folder) can be written; room for \(hours) hours",
                mend: hours < 10 ? "make room there" : nil)
        ]
    }

    /// A folder that does not exist yet is made when it is needed: what counts is the nearest one that does.
    private static func nearest(_ folder: String) -> String {
        var existing = folder.hasPrefix("/") ? folder : "./\(folder)"
        while !FileManager.default.fileExists(atPath: existing), let slash = existing.lastIndex(of: "/"),
            slash > existing.startIndex
        {
            existing = String(existing[..<slash])
        }
        return FileManager.default.fileExists(atPath: existing) ? existing : "/"
    }

    /// Tried and not asked: rights, read-only disks and folders of the kernel all count.
    private static func canWrite(to folder: String) -> Bool {
        var path = Array("\(folder)/.ringwright-XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        unlink(path)
        return true
    }
}
