// Certificates for tests, made by the openssl program: an authority, and what it signed or did not.

import Foundation
import Glibc
package import Reactor

/// A folder with an authority (`ca.pem`) and certificates; it goes with its owner.
package final class TestCertificates: Sendable {
    private let files: TemporaryFolder
    package var folder: String { files.url.path }

    /// Made once in a process. Signed: `server` (sip.example.com, example.com), `other`, `wild` (*.example.com), `common` (a common name
    /// alone), `address` (127.0.0.1), `hosts` (192.0.2.1 to
    /// 192.0.2.3), `local` (localhost), `person`, `client`, and `expired`; not signed: `self`.
    package static let standard: TestCertificates? = {
        let made = TestCertificates()
        made?.make("server", names: "DNS:sip.example.com,URI:sip:example.com")
        made?.make("other", names: "DNS:other.example.com")
        made?.make("wild", names: "DNS:*.example.com")
        made?.make("common", names: "", commonName: "sip.example.com")
        made?.make("address", names: "IP:127.0.0.1")
        made?.make("hosts", names: "IP:192.0.2.1,IP:192.0.2.2,IP:192.0.2.3")
        made?.make("local", names: "DNS:localhost")
        made?.make("person", names: "URI:sip:anna@sip.example.com", commonName: "nobody")
        made?.make("client", names: "DNS:client.example.com")
        made?.make("expired", names: "DNS:sip.example.com", days: -1)
        made?.makeSelfSigned("self", names: "DNS:sip.example.com")
        return made
    }()

    /// nil without the openssl program.
    package init?() {
        guard let files = try? TemporaryFolder() else { return nil }
        self.files = files
        guard
            run("openssl ecparam -genkey -name prime256v1 -noout -out ca.key"),
            run("openssl req -x509 -new -key ca.key -subj '/CN=Test authority' -days 3 -out ca.pem")
        else { return nil }
    }

    /// Runs a line of the shell in the folder.
    @discardableResult
    package func run(_ line: String) -> Bool { system("cd '\(folder)' && (\(line)) >/dev/null 2>&1") == 0 }

    package func path(_ name: String) -> String { files.path(name) }

    /// Makes `NAME.pem` and `NAME.key`, signed by the authority.
    /// - Parameter names: as OpenSSL writes them: `DNS:sip.example.com,URI:sip:example.com,IP:192.0.2.1`; empty: none but the common name.
    @discardableResult
    package func make(_ name: String, names: String, commonName: String = "somebody", days: Int = 2) -> Bool {
        let extensions = names.isEmpty ? "" : "subjectAltName=\(names)"
        return run(
            """
            openssl ecparam -genkey -name prime256v1 -noout -out \(name).key &&
            openssl req -new -key \(name).key -subj '/CN=\(commonName)' -out \(name).csr &&
            echo '\(extensions)' > \(name).ext &&
            openssl x509 -req -in \(name).csr -CA ca.pem -CAkey ca.key -CAcreateserial -days \(days) -extfile \(name).ext -out \(name).pem
            """)
    }

    /// Makes `NAME.pem` and `NAME.key` that nobody signed.
    @discardableResult
    package func makeSelfSigned(_ name: String, names: String) -> Bool {
        run(
            """
            openssl ecparam -genkey -name prime256v1 -noout -out \(name).key &&
            openssl req -x509 -new -key \(name).key -subj '/CN=somebody' -addext 'subjectAltName=\(names)' -days 2 -out \(name).pem
            """)
    }

    /// Settings with this certificate (nil: none) that believe the authority.
    package func settings(_ name: String? = nil) -> TLSSettings {
        var settings = TLSSettings()
        settings.certificate = name.map { path("\($0).pem") }
        settings.key = name.map { path("\($0).key") }
        settings.authorities = .file(path("ca.pem"))
        return settings
    }
}
