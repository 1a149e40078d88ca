// Whether the certificate of `sip.tls` and its key can be used, and for how long.

import CallEngine
import Reactor

enum CertificateExamination {
    static func findings(_ configuration: Configuration) -> [DoctorFinding] {
        do throws(CommandFailure) {
            let context = try configuration.secureSetup()
            guard let age = CertificateAge(context), let path = configuration.sip.tls.certificate else { return [] }
            switch age {
            case .good(let days): return [DoctorFinding(.well, "certificate", "\(path) is good for \(days) days")]
            case .short, .expired:
                return [
                    DoctorFinding(
                        age == .expired ? .problem : .warning, "certificate", age.warning(about: path) ?? "",
                        mend: "put the new one in its place and send SIGHUP: calls go on")
                ]
            }
        } catch {
            return [
                DoctorFinding(
                    .problem, "certificate", error.message, mend: "openssl x509 and openssl pkey show what is in a file")
            ]
        }
    }
}
