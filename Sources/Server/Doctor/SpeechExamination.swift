// Whether `say` would be heard: a few words are spoken as a flow's would be.

import CallEngine
import Foundation
import Reactor

enum SpeechExamination {
    /// Whoever has named no command may do without one.
    static func findings(_ settings: SpeechSettings) -> [DoctorFinding] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let workers = WorkerPool.inline(name: "doctor")
        let files = FileCache(folder: folder, budget: 100 << 20)
        guard let maker = try? SpeechMaker(settings, files: files, workers: workers, judge: { PromptSupplier.problem($0) }) else {
            return [DoctorFinding(.problem, "speech", "no thread or descriptor is left for speech")]
        }
        defer { maker.stop() }
        let spoken = Outcome<Result<String, PromptUnavailable>>()
        let words = "One, two, three."
        maker.file(of: Utterance(text: words, language: "en", shown: words)) { spoken.set($0) }
        switch spoken.wait() {
        case .success: return [DoctorFinding(.well, "speech", "`\(settings.command[0])` speaks")]
        case .failure(let failure):
            let parts = failure.reason.split(separator: "; ", maxSplits: 1).map(String.init)
            return [
                DoctorFinding(
                    settings == SpeechSettings() ? .warning : .problem, "speech",
                    "`say` fails: \(parts[0].replacing("speech: ", with: ""))", mend: parts.count == 2 ? parts[1] : nil)
            ]
        }
    }
}
