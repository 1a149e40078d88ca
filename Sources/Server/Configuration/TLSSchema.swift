// `sip.tls`: certificates and rules of SIP over TLS. That the files are what they should be is seen when they are read (SecureSetup).

import CallEngine
import FlowEngine
import Reactor
import SIP

struct TLSSchema {
    let schema: ConfigurationSchema
    private var sink: DiagnosticSink { schema.sink }

    init(schema: ConfigurationSchema) {
        self.schema = schema
    }

    private enum ClientCertificates: String, CaseIterable {
        case off
        case required
    }

    func read(_ sip: FieldReader) -> TLSSettings {
        var result = TLSSettings()
        let words = ["certificate", "key", "ca", "verify", "client-certificates", "minimum"]
        guard let fields = sip.section("tls", known: words) else { return result }
        result.certificate = file("certificate", of: fields)
        result.key = file("key", of: fields)
        if let key = fields.field("key"), fields.field("certificate") == nil {
            sink.error(at: key.place, "`\(fields.full("key"))` without a `certificate`")
        }
        if let ca = fields.text("ca"), ca.text != "system", let path = file("ca", of: fields) { result.authorities = .file(path) }
        if fields.flag("verify") == false, let place = fields.field("verify")?.place {
            result.verifiesServers = false
            sink.warning(
                at: place, "servers are believed whatever certificate they show: passwords may go to strangers",
                mend: "name their authority in `\(fields.full("ca"))` instead")
        }
        result.requiresClientCertificate = fields.word("client-certificates", ClientCertificates.self) == .required
        if let minimum = fields.word("minimum", TLSSettings.Version.self) { result.minimum = minimum }
        return result
    }

    private func file(_ key: String, of fields: FieldReader) -> String? {
        guard let value = fields.text(key) else { return nil }
        let path = schema.path(value.text)
        if !schema.sources.fileExists(path) { sink.error(at: value.place, "`\(fields.full(key))`: there is no file \(path)") }
        return path
    }

    /// What listeners and lines need of it.
    func check(_ result: Configuration, _ top: FieldReader) {
        let listeners = result.sip.listen.filter { $0.transport == .tls }
        let needy = result.sip.listen.first { $0.transport.onTheWire.isSecure }
        if let needy, result.sip.tls.certificate == nil, let place = top.field("sip")?.place {
            sink.error(
                at: place, "\(needy.transport):\(needy.address) in `sip.listen` needs a certificate",
                mend: "write tls: { certificate: fullchain.pem, key: key.pem } below `sip`")
        }
        for line in result.lines where line.transport == .tls && listeners.isEmpty {
            guard let place = top.field("lines")?[line.name]?.place else { continue }
            sink.warning(
                at: place,
                "`lines.\(line.name)` uses TLS, and `sip.listen` has no tls: its calls can be ended only by the connection"
                    + " that this end has opened", mend: "add tls:0.0.0.0:5061 to `sip.listen`")
        }
    }
}
