// What a reload of the configuration changes: named by the words of the file, never by their values, which may be secret.

import CallEngine
import FlowEngine

package struct ConfigurationChange: Equatable, Sendable {
    /// What calls that begin from now on get.
    package private(set) var applied: [String] = []
    /// What is taken only at a start: sockets, and lines, which the engine holds.
    package private(set) var atRestart: [String] = []

    package init(from old: Configuration, to new: Configuration) {
        func note(_ word: String, _ isSame: Bool, restart: Bool = false) {
            if isSame { return }
            if restart { atRestart.append(word) } else { applied.append(word) }
        }
        note("sip.listen", old.sip.listen == new.sip.listen, restart: true)
        note("sip.external", old.sip.external == new.sip.external, restart: true)
        note("sip.session-timer", old.sip.sessionTimer == new.sip.sessionTimer, restart: true)
        note("sip.connections", old.sip.streams.limit == new.sip.streams.limit, restart: true)
        note("sip.idle", old.sip.streams.idle == new.sip.streams.idle, restart: true)
        note("sip.redirects", old.sip.redirects == new.sip.redirects, restart: true)
        note("sip.segmentation", old.sip.segmentation == new.sip.segmentation, restart: true)
        note("sip.tls", old.sip.tls == new.sip.tls)
        note("rtp.ports", old.rtp.ports == new.rtp.ports, restart: true)
        note("rtp.timeout", old.rtp.timeout == new.rtp.timeout, restart: true)
        note("rtp.srtp", old.rtp.security == new.rtp.security, restart: true)
        note("rtp.comfort-noise", old.rtp.comfortNoise == new.rtp.comfortNoise, restart: true)
        note("limits", old.limits == new.limits)
        note("lines", old.lines == new.lines, restart: true)
        note("registrar", old.registrar == new.registrar, restart: true)
        note("routes", old.routes.elementsEqual(new.routes) { $0.doesTheSame(as: $1) })
        note("allow", old.allow == new.allow)
        note("env", old.environment == new.environment && old.environmentNames == new.environmentNames)
        note("recordings", old.recordings == new.recordings)
        note("prompts", old.prompts == new.prompts, restart: true)
        note("prompts.credentials", old.promptCredentials == new.promptCredentials)
        note("speech", old.speech == new.speech, restart: true)
        note("cache", old.cache == new.cache, restart: true)
        note("control.listen", old.control.listen == new.control.listen, restart: true)
        note("log", old.log == new.log)
        note("trace", old.trace == new.trace)
    }
}

extension Configuration {
    /// This configuration with everything that only a restart changes as it is in `running`.
    func keepingWhatNeedsARestart(of running: Configuration) -> Configuration {
        var result = self
        result.sip = running.sip
        result.sip.tls = sip.tls
        result.rtp = running.rtp
        result.lines = running.lines
        result.registrar = running.registrar
        result.control = running.control
        result.prompts = running.prompts
        result.cache = running.cache
        result.speech = running.speech
        return result
    }
}

extension Route {
    /// Whether calls notice no difference; the place in the file does not count.
    fileprivate func doesTheSame(as other: Route) -> Bool {
        to == other.to && line == other.line && target == other.target && vars == other.vars
    }
}

extension Route.Number: Equatable {
    package static func == (left: Route.Number, right: Route.Number) -> Bool {
        switch (left, right) {
        case (.exactly(let left), .exactly(let right)): left == right
        case (.pattern(let left), .pattern(let right)): left.text == right.text
        default: false
        }
    }
}
