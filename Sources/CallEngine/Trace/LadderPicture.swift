// A ladder as a picture (SVG 1.1): uprights with the parties' addresses, an arrow a message with its label above, dashed ones for media.
// Pointing at an arrow shows more. It needs no fonts, scripts or style sheets of others.

import Basics

/// Draws one ladder.
package struct LadderPicture {
    private let ladder: CallLadder
    private let title: String

    private static let left = 110
    private static let pitch = 360
    private static let top = 84
    private static let step = 34
    /// Letters that fit over an arrow at the size that they have.
    private static let fitting = 46

    package init(_ ladder: CallLadder, title: String) {
        self.ladder = ladder
        self.title = title
    }

    package var svg: String {
        let names = ladder.names
        let rows = ladder.shown
        let width = Self.left + (names.count - 1) * Self.pitch + 110
        let height = Self.top + rows.count * Self.step + 30
        var text = """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)" viewBox="0 0 \(width) \(height)" \
            role="img" font-family="Helvetica, Arial, sans-serif" font-size="13">
            <title>\(Markup.escaped(title))</title>
            <defs>\(Self.colors.map(Self.head).joined())</defs>
            <rect width="100%" height="100%" fill="#ffffff"/>
            <text x="16" y="26" font-size="15" font-weight="bold" fill="#222222">\(Markup.escaped(title))</text>

            """
        for (index, name) in names.enumerated() {
            let x = Self.x(index)
            text += """
                <line x1="\(x)" y1="\(Self.top - 14)" x2="\(x)" y2="\(height - 16)" stroke="#9aa0a6"/>
                <rect x="\(x - 104)" y="\(Self.top - 42)" width="208" height="26" rx="4" fill="#eef1f4" stroke="#9aa0a6"/>
                <text x="\(x)" y="\(Self.top - 24)" text-anchor="middle" fill="#222222">\
                \(Markup.escaped(Ladder.fit(name, 32)))</text>

                """
        }
        for (index, row) in rows.enumerated() { text += self.row(row, y: Self.top + 22 + index * Self.step) }
        return text + "</svg>\n"
    }

    private func row(_ row: CallLadder.Row, y: Int) -> String {
        let (from, to) = (Self.x(row.from), Self.x(row.to))
        let label = Markup.escaped(Ladder.fit(row.label, max(1, abs(row.to - row.from)) * Self.fitting))
        guard from != to else {
            return """
                <text x="\(from + 8)" y="\(y)" font-style="italic" fill="#b3261e">\(label)</text>

                """
        }
        let color = Self.color(of: row.kind)
        let dashes = if case .media = row.kind { #" stroke-dasharray="7 4""# } else { "" }
        // The head ends at the upright.
        let tip = to > from ? to - 2 : to + 2
        return """
            <g><title>\(Markup.escaped("\(row.label)\n\(row.detail)"))</title>
            <text x="8" y="\(y + 4)" font-size="11" fill="#5f6368">\(Ladder.time(row.at, since: ladder.start))</text>
            <text x="\((from + to) / 2)" y="\(y - 5)" text-anchor="middle" fill="\(color)">\(label)</text>
            <line x1="\(from)" y1="\(y)" x2="\(tip)" y2="\(y)" stroke="\(color)" stroke-width="1.6"\(dashes) \
            marker-end="url(#\(Self.name(of: color)))"/></g>

            """
    }

    private static func x(_ column: Int) -> Int { left + column * pitch }

    // MARK: Colours, which hold on white

    private static let request = "#1a56b0"
    private static let provisional = "#5f6368"
    private static let success = "#1e7b34"
    private static let redirection = "#8a5a00"
    private static let failure = "#b3261e"
    private static let media = "#7b3fa0"
    private static let colors = [request, provisional, success, redirection, failure, media]

    private static func color(of kind: CallLadder.Row.Kind) -> String {
        switch kind {
        case .request: request
        case .response(..<200): provisional
        case .response(..<300): success
        case .response(..<400): redirection
        case .response, .note: failure
        case .media: media
        }
    }

    private static func name(of color: String) -> String { "head-\(color.dropFirst())" }

    /// An arrow's head.
    private static func head(_ color: String) -> String {
        """
        <marker id="\(name(of: color))" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">\
        <path d="M0 0L10 5L0 10z" fill="\(color)"/></marker>
        """
    }
}
