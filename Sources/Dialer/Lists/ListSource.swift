// Where the rows of a campaign come from.

package import Store

package enum ListSource: Sendable, CustomStringConvertible {
    /// CSV, or JSON lines by its name's end (`.jsonl`, `.ndjson`).
    case file(String)
    /// What a query finds in a database.
    case query(String, of: StorePlace)

    /// How a list is known again: the path, or the database (without a password) and the query.
    package var description: String {
        switch self {
        case .file(let path): path
        case .query(let query, let place): "\(place): \(query)"
        }
    }

    /// The same as it is called on other machines, which have other folders.
    package var withoutFolder: String {
        switch self {
        case .file(let path): path.split(separator: "/").last.map(String.init) ?? path
        case .query: description
        }
    }

    /// For places in messages.
    package var name: String {
        switch self {
        case .file(let path): path
        case .query(_, let place): "\(place)"
        }
    }
}
