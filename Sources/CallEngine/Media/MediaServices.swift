// What the media sessions of one loop share: ports, clock, prompts; and the workers that all loops share.

import Audio
package import Basics
package import Reactor

/// The threads and the cache that the media of all loops share.
package final class MediaWorkers: Sendable {
    /// Reads and encodes prompts.
    package let prompts: WorkerPool
    /// One thread, which keeps the order: writes recordings.
    package let recorder: WorkerPool
    let cache: Locked<PromptCache>

    private init(prompts: WorkerPool, recorder: WorkerPool, cacheBudget: Int) {
        self.prompts = prompts
        self.recorder = recorder
        cache = Locked(PromptCache(budget: cacheBudget))
    }

    /// With threads of its own. `cacheBudget`: bytes of encoded prompts that are kept.
    package convenience init(cacheBudget: Int = 64 << 20) throws(SystemError) {
        self.init(
            prompts: try WorkerPool(name: "prompts", threads: 2, limit: 4096),
            recorder: try WorkerPool(name: "recorder", threads: 1, limit: 4096), cacheBudget: cacheBudget)
    }

    /// Without threads: for virtual loops.
    package static func inline(cacheBudget: Int = 64 << 20) -> MediaWorkers {
        MediaWorkers(prompts: .inline(name: "prompts"), recorder: .inline(name: "recorder"), cacheBudget: cacheBudget)
    }

    /// Ends the threads after all sessions are closed. Once.
    package func stop() {
        prompts.stop()
        recorder.stop()
    }
}

/// Made once for each loop; belongs to it.
package final class MediaServices {
    package let loop: EventLoop
    package let workers: MediaWorkers
    let bindTo: IPAddress
    let ports: ClosedRange<UInt16>

    /// - Parameters:
    ///   - ports: this loop's share of the RTP range; even ports take RTP, the odd ones above RTCP.
    ///   - bindTo: `any4` or `any6`, or one address of this host.
    package init(loop: EventLoop, ports: ClosedRange<UInt16>, bindTo: IPAddress, workers: MediaWorkers) {
        self.loop = loop
        self.ports = ports
        self.bindTo = bindTo
        self.workers = workers
    }

    /// Releases the sockets. All sessions are closed before.
    package func close() {}
}
