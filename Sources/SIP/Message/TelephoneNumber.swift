// Telephone numbers in URIs: tel: (RFC 3966), and the user part that stands for one in a SIP URI (RFC 3261 section 19.1.6).

extension URI {
    /// A tel: URI as the user part of a SIP URI: without visual separators, its parameters behind it in lower case, `isub` and `ext`
    /// first, then the others by name, so that equal numbers make equal URIs. nil for another scheme, or a number without a digit.
    package var telephoneSubscriber: String? {
        guard scheme == .tel else { return nil }
        let number = user.filter { !"-.()".contains($0) }.lowercased()
        let digits = number.hasPrefix("+") ? number.dropFirst() : number[...]
        guard !digits.isEmpty, digits.allSatisfy({ "0123456789abcdef*#".contains($0) }) else { return nil }
        let first = ["isub", "ext"]
        let parameters = self.parameters.map { (name: $0.name.lowercased(), value: $0.value?.lowercased()) }.sorted {
            (first.firstIndex(of: $0.name) ?? 2, $0.name) < (first.firstIndex(of: $1.name) ?? 2, $1.name)
        }
        return parameters.reduce(number.replacing("#", with: "%23")) { result, parameter in
            "\(result);\(parameter.name)" + (parameter.value.map { "=\(LocalEnd.escaped(user: $0))" } ?? "")
        }
    }

    /// The user part, of one that is a telephone number with parameters (`7042;phone-context=example.com`) the number alone.
    package var numberOrUser: String {
        let user = self.user
        guard scheme != .tel, let semicolon = user.firstIndex(of: ";"), parameter("user")?.lowercased() == "phone" else {
            return user
        }
        return String(user[..<semicolon])
    }
}
