// Reads the elements inside `<action>`.

import Foundation

extension ScenarioReader {
    /// The actions of an element: one, but for `exec`, which may hold several commands.
    mutating func actions(_ element: XMLElement) throws(ScenarioError) -> [Action] {
        if element.name == "exec" { return try commands(element) }
        return [Action(kind: try kind(element), line: element.line)]
    }

    private mutating func kind(_ element: XMLElement) throws(ScenarioError) -> Action.Kind {
        switch element.name {
        case "ereg": return .search(try search(element))
        case "log": return .log(try text(element, "message"))
        case "warning": return .warning(try text(element, "message"))
        case "error": return .error(try text(element, "message"))
        case "assign", "add", "subtract", "multiply", "divide":
            let operation = Action.Arithmetic(rawValue: element.name) ?? .assign
            let source = try numberSource(element)
            if operation == .divide, case .value(0) = source { throw ScenarioError(file, element.line, "<divide> by zero") }
            return .arithmetic(operation, target: try target(element), source)
        case "assignstr": return .assignText(target: try target(element), try text(element, "value"))
        case "todouble": return .toDouble(target: try target(element), variable: try variable(element))
        case "sample":
            guard let distribution = try DistributionReader.read(element, file: file) else {
                throw ScenarioError(file, element.line, "<sample> needs distribution=…")
            }
            return .sample(target: try target(element), distribution)
        case "strcmp":
            return .compareText(try variable(element), try textSource(element), target: optionalTarget(element), check(element))
        case "test":
            let name = element["compare"] ?? ""
            guard let comparison = Action.Comparison(rawValue: name) else {
                throw ScenarioError(
                    file, element.line,
                    "compare=\"\(name)\": it is equal, not_equal, greater_than, less_than, greater_than_equal or less_than_equal")
            }
            return .compare(
                try variable(element), comparison, try numberSource(element, "variable2"), target: optionalTarget(element),
                check(element))
        case "trim": return .trim(try target(element))
        case "urlencode": return .urlEncode(try variable(element))
        case "urldecode": return .urlDecode(try variable(element))
        case "gettimeofday":
            let targets = try targets(element)
            return .timeOfDay(seconds: targets[0], microseconds: targets.count > 1 ? targets[1] : nil)
        case "index": return .index(try target(element))
        case "jump": return .jump(try numberSource(element))
        case "pauserestore": return .pauseRestore(try numberSource(element))
        case "lookup":
            return .lookUp(target: try target(element), file: try text(element, "file"), key: try text(element, "key"))
        case "insert": return .insert(file: try text(element, "file"), value: try text(element, "value"))
        case "replace":
            return .replace(file: try text(element, "file"), line: try text(element, "line"), value: try text(element, "value"))
        case "setdest":
            return .setDestination(
                host: try text(element, "host"), port: try text(element, "port"), transport: try text(element, "protocol"))
        case "closecon": return .closeConnection
        case "verifyauth":
            return .verifyCredentials(
                target: try target(element), user: try text(element, "username"), password: try text(element, "password"))
        case "rtp_echo": return .echo(try numberSource(element))
        default: throw ScenarioError(file, element.line, "<\(element.name)> is no action")
        }
    }

    /// `exec` has one of several attributes.
    private mutating func commands(_ element: XMLElement) throws(ScenarioError) -> [Action] {
        var result: [Action] = []
        for attribute in element.attributes {
            func template() throws(ScenarioError) -> Template {
                try texts.template(attribute.value, line: element.line, &parts.variables)
            }
            let kind: Action.Kind
            switch attribute.name {
            case "command": kind = .command(try template())
            case "int_cmd":
                switch attribute.value {
                case "stop_call": kind = .stopCall
                case "stop_gracefully": kind = .stopGracefully
                case "stop_now": kind = .stopNow
                default:
                    throw ScenarioError(
                        file, element.line, "int_cmd is stop_call, stop_gracefully or stop_now, not \"\(attribute.value)\"")
                }
            case "play_pcap_audio": kind = .media(.pcap(try template(), .audio))
            case "play_pcap_video": kind = .media(.pcap(try template(), .video))
            case "play_pcap_image": kind = .media(.pcap(try template(), .image))
            case "play_dtmf": kind = .media(.digits(try template()))
            case "rtp_stream": kind = .media(.stream(try template()))
            case "rtp_echo": kind = .media(.echo(try template()))
            default: throw ScenarioError(file, element.line, "<exec> has no attribute \(attribute.name)")
            }
            result.append(Action(kind: kind, line: element.line))
        }
        guard !result.isEmpty else {
            throw ScenarioError(file, element.line, "<exec> says nothing; it has command, int_cmd, play_… or rtp_…")
        }
        return result
    }

    private mutating func search(_ element: XMLElement) throws(ScenarioError) -> Action.Search {
        guard let source = element["regexp"] else { throw ScenarioError(file, element.line, "<ereg> needs regexp=…") }
        let pattern = try pattern(source, element)
        let place: Action.Search.Place
        switch element["search_in"] ?? "msg" {
        case "msg": place = .message
        case "body": place = .body
        case "hdr":
            guard let header = element["header"] else {
                throw ScenarioError(file, element.line, "search_in=\"hdr\" needs header=…")
            }
            let name = header.prefix { $0 != ":" }
            place = .header(
                name.trimmingCharacters(in: .whitespaces), lead: Array(header.dropFirst(name.count + 1).utf8))
        case "var": place = .variable(try variable(element))
        case let other: throw ScenarioError(file, element.line, "search_in is msg, hdr, body or var, not \"\(other)\"")
        }
        let targets = element["assign_to"] == nil ? [] : try targets(element)
        guard targets.count <= Pattern.groupLimit else {
            throw ScenarioError(file, element.line, "assign_to takes the match and at most \(Pattern.groupLimit - 1) groups")
        }
        var result = Action.Search(pattern: pattern, place: place, targets: targets)
        result.occurrence = try number(element, "occurrence").map { Int($0) }
        result.mustMatch = element["check_it"] == "true"
        result.mustNotMatch = element["check_it_inverse"] == "true"
        if result.mustMatch, result.mustNotMatch {
            throw ScenarioError(file, element.line, "check_it and check_it_inverse exclude each other")
        }
        return result
    }

    // MARK: Parts of actions

    private mutating func text(_ element: XMLElement, _ attribute: String) throws(ScenarioError) -> Template {
        guard let value = element[attribute] else {
            throw ScenarioError(file, element.line, "<\(element.name)> needs \(attribute)=…")
        }
        return try texts.template(value, line: element.line, &parts.variables)
    }

    private mutating func variable(_ element: XMLElement, _ attribute: String = "variable") throws(ScenarioError) -> Int {
        guard let name = element[attribute] else {
            throw ScenarioError(file, element.line, "<\(element.name)> needs \(attribute)=…")
        }
        return parts.variables.use(Self.bare(name), line: element.line)
    }

    private mutating func targets(_ element: XMLElement) throws(ScenarioError) -> [Int] {
        let names = Self.names(element["assign_to"] ?? "")
        guard !names.isEmpty else { throw ScenarioError(file, element.line, "<\(element.name)> needs assign_to=…") }
        return names.map { parts.variables.use(Self.bare($0), line: element.line) }
    }

    private mutating func target(_ element: XMLElement) throws(ScenarioError) -> Int { try targets(element)[0] }

    private mutating func optionalTarget(_ element: XMLElement) -> Int? {
        element["assign_to"].map { parts.variables.use(Self.bare($0), line: element.line) }
    }

    private mutating func numberSource(
        _ element: XMLElement, _ attribute: String = "variable"
    ) throws(ScenarioError) -> Action.NumberSource {
        switch (element["value"], element[attribute]) {
        case (let text?, nil):
            guard let value = Double(text.trimmingCharacters(in: .whitespaces)) else {
                throw ScenarioError(file, element.line, "value=\"\(text)\" is no number")
            }
            return .value(value)
        case (nil, let name?): return .variable(parts.variables.use(Self.bare(name), line: element.line))
        default: throw ScenarioError(file, element.line, "<\(element.name)> needs either value=… or \(attribute)=…")
        }
    }

    private mutating func textSource(_ element: XMLElement) throws(ScenarioError) -> Action.TextSource {
        switch (element["value"], element["variable2"]) {
        case (_?, nil): return .template(try text(element, "value"))
        case (nil, let name?): return .variable(parts.variables.use(Self.bare(name), line: element.line))
        default: throw ScenarioError(file, element.line, "<\(element.name)> needs either value=… or variable2=…")
        }
    }

    private func check(_ element: XMLElement) -> Action.Check {
        Action.Check(mustHold: element["check_it"] == "true", mustNotHold: element["check_it_inverse"] == "true")
    }
}
