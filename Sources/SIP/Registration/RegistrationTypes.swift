// What a registration is made of, what it asks for, and what it tells. The machine is in Registration.swift.

/// Who registers where.
package struct RegistrationSettings: Sendable {
    /// The registrar's domain as a URI: `sip:pbx.example.com`.
    package var registrar: [UInt8]
    /// The address of record: `sip:bot@pbx.example.com`.
    package var addressOfRecord: [UInt8]
    package var credentials: Credentials?
    /// Seconds asked for.
    package var expires: Int
    /// `urn:uuid:…`: this device, the same after each restart (RFC 5626 section 4.1); empty: none, and no flow is asked for.
    package var instance: String
    /// The Call-ID of all its requests until the next restart.
    package var callID: [UInt8]
    /// Asks only (section 10.2.3): the registrar checks the credentials and binds nothing; with the answer it is over.
    package var isQuery = false
    /// Contacts of others that are removed with the first binding (section 10.2.2), values of Contact: whose line this was, and who is gone.
    package var replaces: [[UInt8]] = []
    /// Which of the flows of this instance it is (reg-id, RFC 5626 section 4.2), from 1.
    package var flow = 1
    /// Values of Route: the edge proxy of this flow; none: the registrar itself is asked.
    package var routes: [[UInt8]] = []

    package init(
        registrar: [UInt8], addressOfRecord: [UInt8], credentials: Credentials? = nil, expires: Int = 3600, instance: String = "",
        callID: [UInt8]
    ) {
        self.registrar = registrar
        self.addressOfRecord = addressOfRecord
        self.credentials = credentials
        self.expires = expires
        self.instance = instance
        self.callID = callID
    }
}

/// Why a line is not registered.
package enum RegistrationFailure: Sendable, Equatable {
    /// The registrar's host has no address.
    case notFound
    /// No answer came in time.
    case noAnswer
    /// Nothing could be sent.
    case unreachable
    /// The user name or the password is wrong, or the challenge cannot be answered.
    case credentials
    /// Any other final answer.
    case refused(status: Int, reason: String)
    /// A 2xx that does not hold what was asked for: the binding has expired in it.
    case notBound

    /// Whether it is likely to be over soon: the server's trouble or the network's, not what was asked.
    package var isTransient: Bool {
        switch self {
        case .notFound, .noAnswer, .unreachable: true
        case .credentials: false
        case .refused(let status, _): status >= 500 && status < 600 || [408, 429, 480].contains(status)
        case .notBound: true
        }
    }
}

extension RegistrationFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notFound: "the registrar was not found"
        case .noAnswer: "the registrar did not answer"
        case .unreachable: "the registrar could not be reached"
        case .credentials: "the registrar refuses the user name or password"
        case .refused(let status, let reason): "the registrar refused: \(status) \(reason)"
        case .notBound: "the registrar accepted but keeps no binding"
        }
    }
}

/// What a registration wants done.
package enum RegistrationAction: Sendable {
    /// Find the registrar, and send what `request(end:branch:)` makes. Give back what comes of it.
    case register
    /// It is registered (again) for so many seconds; `isNew` is false for a refresh.
    case registered(seconds: Int, isNew: Bool)
    /// It did not work; it will be tried again after that time.
    case failed(RegistrationFailure, retryAfter: Duration)
    /// The binding of before has run out while nothing worked.
    case expired
    /// It is over: the registrar was told, or could not be.
    case ended
}
