// What becomes of registered lines, of phones that register here, and of traces, and texts that came, as lines of the log.

import CallEngine
import SIP

extension LogLine {
    init(_ event: LineEvent) {
        switch event {
        case .registered(let line, let address, let seconds):
            self.init(.info, "line registered", fields: [("line", line), ("at", "\(address)"), ("seconds", "\(seconds)")])
        case .failed(let line, let why, let wait):
            self.init(
                .warning, "line not registered",
                fields: [("line", line), ("why", why), ("retry-in", "\(wait.components.seconds)s")])
        case .expired(let line): self.init(.warning, "line expired: no call comes by it", fields: [("line", line)])
        case .ended(let line): self.init(.info, "line ended", fields: [("line", line)])
        case .available(let line, let address):
            self.init(.info, "trunk answers", fields: [("line", line), ("at", "\(address)")])
        case .unavailable(let line, let why): self.init(.warning, "trunk does not answer", fields: [("line", line), ("why", why)])
        }
    }

    init(_ message: TextMessage) {
        let fields = [
            ("from", message.from.uri), ("to", message.to.uri), ("call", message.call), ("line", message.line),
            ("user", message.user), ("text", message.text)
        ]
        self.init(.info, "text received", fields: fields.filter { !$0.1.isEmpty }.map { (name: $0.0, value: $0.1) })
    }

    init(_ event: TraceEvent) {
        switch event {
        case .noRoom(let folder, let reason):
            self.init(.warning, "the oldest traces stay", fields: [("folder", folder), ("why", reason)])
        case .written(let call, let folder): self.init(.info, "call traced", fields: [("call", call), ("folder", folder)])
        case .failed(let call, let reason): self.init(.warning, "call not traced", fields: [("call", call), ("why", reason)])
        }
    }

    /// nil: nothing that people would want to read.
    init?(_ event: RegistrarEvent) {
        func fields(_ user: String, _ contact: [UInt8]) -> [(name: String, value: String)] {
            [("user", user), ("contact", String(decoding: contact, as: UTF8.self))]
        }
        switch event {
        case .changed(.refreshed): return nil
        case .changed(.added(let user, let contact, let seconds)):
            self.init(.info, "phone registered", fields: fields(user, contact) + [("seconds", "\(seconds)")])
        case .changed(.removed(let user, let contact)): self.init(.info, "phone unregistered", fields: fields(user, contact))
        case .changed(.expired(let user, let contact)): self.init(.info, "registration expired", fields: fields(user, contact))
        case .changed(.flowEnded(let user, let contact)): self.init(.info, "phone disconnected", fields: fields(user, contact))
        case .loaded(let bindings, let unreadable):
            self.init(
                unreadable > 0 ? .warning : .info, "registrations read",
                fields: [("bindings", "\(bindings)"), ("unreadable", "\(unreadable)")])
        case .fileFailed(let why): self.init(.error, "registrations are not kept", fields: [("why", why)])
        }
    }
}
