// Waiting for events with and without epoll_pwait2, which older kernels and filters of system calls do not have.

import CLinux
import Glibc
import Testing

@Suite struct EpollWaitTests {
    enum Way: CaseIterable {
        case whole, byPoll

        func callAsFunction(_ poller: Int32, _ events: UnsafeMutablePointer<epoll_event>, _ nanoseconds: Int64) -> Int32 {
            switch self {
            case .whole: rw_epoll_wait(poller, events, 4, nanoseconds)
            case .byPoll: rw_epoll_wait_by_poll(poller, events, 4, nanoseconds)
            }
        }
    }

    static var nanoseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    @Test(arguments: Way.allCases) func waitsForTheTimeAndForDescriptors(_ wait: Way) throws {
        let poller = epoll_create1(0)
        var ends: [Int32] = [0, 0]
        try #require(poller >= 0 && pipe(&ends) == 0)
        defer { for descriptor in ends + [poller] { close(descriptor) } }
        try #require(rw_epoll_change(poller, EPOLL_CTL_ADD, ends[0], EPOLLIN.rawValue, 77) == 0)
        let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: 4)
        defer { events.deallocate() }

        #expect(wait(poller, events, 0) == 0)
        let begin = Self.nanoseconds
        #expect(wait(poller, events, 1_300_000) == 0)
        #expect(Self.nanoseconds - begin >= 1_300_000)
        try #require(write(ends[1], "x", 1) == 1)
        for limit in [Int64(0), 1_000_000_000_000, -1] {
            #expect(wait(poller, events, limit) == 1)
            #expect(events[0].data.u64 == 77)
        }
    }
}
