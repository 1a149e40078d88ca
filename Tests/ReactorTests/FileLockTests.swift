import Foundation
import Reactor
import Testing

@Suite struct FileLockTests {
    @Test func oneHasItAtATime() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString).lock").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let first = try #require(try FileLock.take(path))
        #expect(try FileLock.take(path) == nil)
        first.release()
        first.release()
        let second = try #require(try FileLock.take(path))
        #expect(try FileLock.take(path) == nil)
        second.release()
    }

    @Test func aFolderThatIsNotThere() {
        #expect(throws: SystemError.self) { try FileLock.take("/nowhere/at/all.lock") }
    }
}
