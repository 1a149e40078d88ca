// Gets the prompts that are no files yet, for all calls of a process: by URL, and as speech.

import Audio
import Basics
package import CallEngine
package import Reactor
package import Web

package final class PromptSupplier: PromptSupply {
    private let web: HTTPFileCache
    private let speech: SpeechMaker
    private let files: FileCache
    /// For the disk, and for looking at what came.
    private let workers: WorkerPool

    /// - Parameters:
    ///   - client: stopped before this is.
    ///   - rules: the configuration of this moment, asked for each URL: what may be fetched, and with which credentials.
    ///   - onTrouble: hears of what went wrong and was borne. On any thread.
    package init(
        _ configuration: Configuration, client: HTTPClient, rules: @escaping @Sendable () -> Configuration,
        onTrouble: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(SystemError) {
        workers = try WorkerPool(name: "fetched", threads: 2, limit: 1024)
        files = FileCache(folder: configuration.cache.folder, budget: configuration.cache.size)
        web = HTTPFileCache(
            client: client, files: files, workers: workers, limits: configuration.prompts,
            refuses: { url in
                rules().allow.permitsRequest(to: url) ? nil : "the configuration does not allow requests to it (allow.request)"
            }, authorization: { rules().promptCredentials.authorization(for: $0) }, judge: Self.problem(_:mayBeCut:),
            onStale: onTrouble)
        speech = try SpeechMaker(configuration.speech, files: files, workers: workers, judge: { Self.problem($0) })
    }

    /// For a command, whose rules stay as they are.
    package static func forCommand(
        _ configuration: Configuration, client: HTTPClient, onTrouble: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(CommandFailure) -> PromptSupplier {
        do throws(SystemError) {
            return try PromptSupplier(configuration, client: client, rules: { configuration }, onTrouble: onTrouble)
        } catch {
            throw CommandFailure(.unable, "\(error)", mend: "ringwright doctor looks for the cause")
        }
    }

    package func file(of origin: PromptOrigin, then: @escaping @Sendable (Result<String, PromptUnavailable>) -> Void) {
        switch origin {
        case .web(let url, let shown):
            web.file(at: url, shown: shown) { result in then(result.mapError { PromptUnavailable($0.text) }) }
        case .speech(let utterance): speech.file(of: utterance, then: then)
        }
    }

    package var figures: PromptFigures { PromptFigures(web: web.counters, speech: speech.counters, octets: files.octets) }

    /// Ends the threads, after the client and all calls.
    package func stop() {
        speech.stop()
        workers.stop()
    }

    /// Why a file cannot be played; it is read whole, as for playing.
    /// - Parameter mayBeCut: its end may be missing.
    static func problem(_ path: String, mayBeCut: Bool = false) -> String? {
        do throws(PromptError) {
            _ = try PromptFile.length(of: path)
            guard mayBeCut, try PromptFile.isCutShort(path) else { return nil }
            return "was cut short on the way"
        } catch {
            return error.reason
        }
    }
}

/// What became of prompts that had to be got.
package struct PromptFigures: Equatable, Sendable {
    package var web = HTTPFileCounters()
    package var speech = SpeechCounters()
    /// In the cache's folder, as far as this process knows.
    package var octets = 0

    package init(web: HTTPFileCounters = HTTPFileCounters(), speech: SpeechCounters = SpeechCounters(), octets: Int = 0) {
        self.web = web
        self.speech = speech
        self.octets = octets
    }
}

extension MetricsText {
    mutating func add(_ prompts: PromptFigures) {
        add(
            "ringwright_prompt_fetches_total", .counter, "Prompts by URL, by what was used.",
            [
                ([("result", "kept")], Double(prompts.web.kept)), ([("result", "fetched")], Double(prompts.web.fetched)),
                ([("result", "confirmed")], Double(prompts.web.confirmed)), ([("result", "stale")], Double(prompts.web.stale)),
                ([("result", "failed")], Double(prompts.web.failed))
            ])
        add(
            "ringwright_prompt_speech_total", .counter, "Texts that were to be spoken, by what came of them.",
            [
                ([("result", "kept")], Double(prompts.speech.kept)), ([("result", "made")], Double(prompts.speech.made)),
                ([("result", "failed")], Double(prompts.speech.failed))
            ])
        add("ringwright_prompt_cache_bytes", .gauge, "What the folder of the cache holds.", Double(prompts.octets))
    }
}
