// The actions of a step, read.

package import Dialer

/// One action inside `<action>`.
package struct Action {
    /// Something that a number comes from.
    package enum NumberSource {
        case value(Double)
        case variable(Int)
    }

    /// Something that text comes from.
    package enum TextSource {
        case template(Template)
        case variable(Int)
    }

    package enum Comparison: String {
        case equal
        case notEqual = "not_equal"
        case greaterThan = "greater_than"
        case lessThan = "less_than"
        case greaterThanEqual = "greater_than_equal"
        case lessThanEqual = "less_than_equal"

        package func holds(_ left: Double, _ right: Double) -> Bool {
            switch self {
            case .equal: left == right
            case .notEqual: left != right
            case .greaterThan: left > right
            case .lessThan: left < right
            case .greaterThanEqual: left >= right
            case .lessThanEqual: left <= right
            }
        }
    }

    package enum Arithmetic: String {
        case assign, add, subtract, multiply, divide
    }

    /// A search by a regular expression.
    package struct Search {
        package enum Place {
            case message, body
            /// `lead` is not looked at when the header's content begins with it.
            case header(String, lead: [UInt8])
            case variable(Int)
        }

        package var pattern: Pattern
        package var place: Place
        /// Only in the header's n-th row, from 1; the search begins in its n-th line, from 0.
        package var occurrence: Int?
        package var mustMatch = false
        package var mustNotMatch = false
        package var targets: [Int]
    }

    /// Whether a call fails by a comparison.
    package struct Check {
        package var mustHold = false
        package var mustNotHold = false
    }

    package enum Medium: String, CaseIterable {
        case audio, video, image
    }

    package enum Media {
        case pcap(Template, Medium)
        case digits(Template)
        case stream(Template)
        /// A command of `rtp_echo` inside `exec`.
        case echo(Template)
    }

    package enum Kind {
        case search(Search)
        case log(Template)
        case warning(Template)
        case error(Template)
        case arithmetic(Arithmetic, target: Int, NumberSource)
        case assignText(target: Int, Template)
        case toDouble(target: Int, variable: Int)
        case sample(target: Int, HoldTime)
        case compareText(Int, TextSource, target: Int?, Check)
        case compare(Int, Comparison, NumberSource, target: Int?, Check)
        case trim(Int)
        case urlEncode(Int)
        case urlDecode(Int)
        case timeOfDay(seconds: Int, microseconds: Int?)
        case index(Int)
        case jump(NumberSource)
        case pauseRestore(NumberSource)
        case lookUp(target: Int, file: Template, key: Template)
        case insert(file: Template, value: Template)
        case replace(file: Template, line: Template, value: Template)
        case setDestination(host: Template, port: Template, transport: Template)
        case closeConnection
        case verifyCredentials(target: Int, user: Template, password: Template)
        case echo(NumberSource)
        case command(Template)
        case stopCall
        case stopGracefully
        case stopNow
        case media(Media)
    }

    package var kind: Kind
    package var line: Int
}
