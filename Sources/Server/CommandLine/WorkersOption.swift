// `--workers`: the database through which processes on several machines share a campaign or a load run.

import Dialer
import FlowEngine
package import Store

extension CommandOption {
    package static let workers = CommandOption(
        "--workers", "URL",
        "shares it with other workers through PostgreSQL: postgresql://user@host/database; a URL with a password comes as '${env.NAME}' or '${file./path}'"
    )
    package static let lease = CommandOption(
        "--lease", "TIME", "with --workers: who is silent for so long is given up by the others (default: 10s; the same for all)")
}

extension CommandArguments {
    package func lease() throws(CommandFailure) -> Duration {
        guard let lease = try duration("--lease") else { return CampaignWorker.usualLease }
        guard has("--workers") else { throw CommandFailure(.wrong, "--lease is for --workers") }
        guard lease >= .milliseconds(100), lease <= .seconds(3600) else {
            throw CommandFailure(.wrong, "--lease is a time from 100ms to 1h")
        }
        return lease
    }

    /// nil without the option. A password stands in no argument, where everybody on the machine reads it.
    package func workers(_ sources: ConfigurationSources) throws(CommandFailure) -> PostgreSQLAddress? {
        guard let text = value("--workers") else { return nil }
        let mend = "leave it to PGPASSWORD or ~/.pgpass, or write --workers '${env.NAME}' or '${file./path}' for the whole URL"
        let address: PostgreSQLAddress
        let url: Substituted
        do throws(ConfigurationSources.Problem) {
            url = try sources.substitute(text)
        } catch {
            throw CommandFailure(.wrong, "--workers: \(error.message)", mend: error.mend)
        }
        do throws(StoreError) {
            address = try PostgreSQLAddress(url.text)
        } catch {
            throw CommandFailure(.wrong, "--workers: \(error)")
        }
        if address.hasPassword, !url.isFromOutside {
            throw CommandFailure(.wrong, "--workers: a password has no place in an argument", mend: mend)
        }
        return address
    }
}

/// Tables of their own for each campaign and load run of a shared database.
enum SharedSpace {
    /// - Parameter kind: `campaign` or `load`.
    static func open(
        _ kind: String, _ name: String, at address: PostgreSQLAddress, migrations: [String]
    ) throws(CommandFailure) -> Database {
        do throws(StoreError) {
            return try Database(postgresql: address, space: "ringwright \(kind) \(name)", migrations: migrations)
        } catch {
            let isName = error.kind == .other && error.message.contains("too long")
            throw CommandFailure(isName ? .wrong : .unable, "--workers: \(error)", mend: isName ? "choose a shorter --name" : nil)
        }
    }
}
