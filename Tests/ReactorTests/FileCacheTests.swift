// The cache of files: what is kept, what goes when there is too much, and what the disk does to it.

import CLinux
import Foundation
import Reactor
import TestKit
import Testing

@Suite struct FileCacheTests {
    /// Makes a file look as if it had been used so many seconds ago.
    private func age(_ path: String, by seconds: Double) throws {
        let then = Date(timeIntervalSinceNow: -seconds)
        var times = [
            timeval(tv_sec: Int(then.timeIntervalSince1970), tv_usec: 0),
            timeval(tv_sec: Int(then.timeIntervalSince1970), tv_usec: 0)
        ]
        try #require(utimes(path, &times) == 0)
    }

    @Test func filesAreKeptUnderNamesThatTellNothing() throws {
        let folder = try TemporaryFolder()
        let cache = FileCache(folder: folder.path("a/cache"), budget: 1000)
        let path = cache.path(of: "https://example.com/a.wav?token=secret", ending: ".wav")
        #expect(
            path.hasSuffix(".wav") && !path.contains("secret")
                && path == cache.path(of: "https://example.com/a.wav?token=secret", ending: ".wav"))
        #expect(!cache.use(path))
        #expect(try cache.keep([1, 2, 3], at: path) == nil)
        #expect(cache.use(path))
        #expect(try AtomicFile.read(path) == [1, 2, 3])
        #expect(cache.octets == 3)
        // One that is refused leaves the old one as it was.
        let refusal = try cache.keep([4], at: path) { draft in
            #expect(draft.hasSuffix(".wav") && draft != path)
            return "no audio"
        }
        #expect(refusal == "no audio")
        #expect(try AtomicFile.read(path) == [1, 2, 3])
        #expect(try Folder.names(in: cache.folder).count == 1)
        cache.remove(path)
        #expect(!cache.use(path))
    }

    @Test func usingAFileDoesNotChangeIt() throws {
        let folder = try TemporaryFolder()
        let cache = FileCache(folder: folder.path("cache"), budget: 1000)
        let path = cache.path(of: "x")
        _ = try cache.keep([1], at: path)
        try age(path, by: 500)
        var before = stat()
        var after = stat()
        stat(path, &before)
        #expect(cache.use(path))
        stat(path, &after)
        #expect(before.st_mtim.tv_sec == after.st_mtim.tv_sec && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec)
        #expect(after.st_atim.tv_sec - before.st_atim.tv_sec >= 499)
    }

    @Test func theLongestUnusedGoesAndWhatIsInUseStays() throws {
        let folder = try TemporaryFolder()
        let cache = FileCache(folder: folder.path("cache"), budget: 1000)
        let paths = (0..<10).map { cache.path(of: "\($0)") }
        for (index, path) in paths.enumerated() {
            _ = try cache.keep([UInt8](repeating: 0, count: 100), at: path)
            try age(path, by: Double(1000 - index * 10))
        }
        // The oldest is used again.
        #expect(cache.use(paths[0]))
        let last = cache.path(of: "last")
        _ = try cache.keep([UInt8](repeating: 0, count: 100), at: last)
        #expect(cache.octets == 900)
        #expect(cache.use(paths[0]) && !cache.use(paths[1]) && !cache.use(paths[2]) && cache.use(paths[3]) && cache.use(last))
        // All in use: more than the budget, for a while.
        for path in paths { _ = cache.use(path) }
        _ = try cache.keep([UInt8](repeating: 0, count: 500), at: cache.path(of: "large"))
        #expect(cache.octets == 1400)
    }

    @Test func anotherProcessKnowsWhatLiesThere() throws {
        let folder = try TemporaryFolder()
        let first = FileCache(folder: folder.path("cache"), budget: 1000)
        _ = try first.keep([UInt8](repeating: 0, count: 950), at: first.path(of: "a"))
        try age(first.path(of: "a"), by: 100)
        let second = FileCache(folder: folder.path("cache"), budget: 1000)
        #expect(second.use(second.path(of: "a")))
        try age(first.path(of: "a"), by: 100)
        _ = try second.keep([UInt8](repeating: 0, count: 100), at: second.path(of: "b"))
        #expect(!first.use(first.path(of: "a")) && first.use(first.path(of: "b")))
    }

    @Test func aFolderThatCannotBeWrittenIsNamed() throws {
        let folder = try TemporaryFolder()
        try folder.write("a file", to: "file")
        let cache = FileCache(folder: folder.path("file/cache"), budget: 1000)
        let error = #expect(throws: SystemError.self) { _ = try cache.keep([1], at: cache.path(of: "a")) }
        #expect(error?.description.contains("file/cache") == true)
    }
}
