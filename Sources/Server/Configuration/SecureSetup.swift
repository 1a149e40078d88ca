// Reads the files that `sip.tls` names. Blocks: for the start, and for a worker.

import CallEngine
import Foundation
package import Reactor

extension Configuration {
    /// Certificates and rules for new connections.
    package func secureSetup() throws(CommandFailure) -> TLSContext {
        do throws(TLSSetupError) {
            return try TLSContext(sip.tls)
        } catch {
            throw CommandFailure(.wrong, "sip.tls: \(error)", mend: "ringwright doctor looks at the certificate")
        }
    }
}

/// How long a certificate is good for.
package enum CertificateAge: Equatable, Sendable {
    case expired
    /// Whole days that are left, under two weeks.
    case short(days: Int)
    case good(days: Int)

    /// nil without a certificate.
    package init?(_ context: TLSContext, at now: Double = Date().timeIntervalSince1970) {
        guard let expiry = context.expiry else { return nil }
        let days = Int((expiry - now) / 86_400)
        self = expiry <= now ? .expired : days < 14 ? .short(days: days) : .good(days: days)
    }

    /// What to tell; nil when all is well.
    package func warning(about path: String) -> String? {
        switch self {
        case .expired: "the certificate in \(path) has expired: peers will refuse it"
        case .short(let days): "the certificate in \(path) expires in \(days) \(days == 1 ? "day" : "days")"
        case .good: nil
        }
    }
}

extension TLSContext {
    /// What to tell about this end's certificate; nil when all is well.
    var certificateWarning: String? {
        CertificateAge(self).flatMap { $0.warning(about: settings.certificate ?? "") }
    }
}
