// Charts as inline SVG: no script, so that a report opens everywhere (mail, CI, a page with a strict policy), prints, and stays a few
// kilobytes.

import Basics

/// A chart of a report; its text is an `<svg>` element.
struct Chart {
    private static let width = 640.0
    private static let height = 180.0
    private static let left = 56.0
    private static let bottom = 24.0
    private static let top = 10.0

    private var body = ""
    private let highest: Double

    private init(highest: Double) { self.highest = Self.rounded(highest) }

    /// The next of 1, 2, 5, 10, 20, …
    private static func rounded(_ value: Double) -> Double {
        guard value > 0 else { return 1 }
        var step = 1.0
        while step > value { step /= 10 }
        while step < value { step *= 10 }
        for part in [0.2, 0.5, 1] where step * part >= value { return step * part }
        return step
    }

    private static func figure(_ value: Double) -> String {
        value == value.rounded() ? String(Int(value)) : JSONText.number(value, digits: 2).text
    }

    private func y(_ value: Double) -> Double {
        Self.height - Self.bottom - value / highest * (Self.height - Self.bottom - Self.top)
    }

    private func place(_ value: Double) -> String { JSONText.number(value, digits: 1).text }

    private func svg(_ title: String, _ legend: [(name: String, color: String)]) -> String {
        var axis = ""
        for share in [0, 0.5, 1] {
            let (value, line) = (highest * share, place(y(highest * share)))
            axis += "<line x1='\(Self.left)' x2='\(Self.width)' y1='\(line)' y2='\(line)' class='grid'/>"
            axis += "<text x='\(Self.left - 6)' y='\(place(y(value) + 4))' text-anchor='end'>\(Self.figure(value))</text>"
        }
        let names = legend.map { "<span style='color:\($0.color)'>&#9632;</span> \(Markup.escaped($0.name))" }.joined(
            separator: " ")
        return "<figure><figcaption>\(Markup.escaped(title)) \(names)</figcaption>"
            + "<svg viewBox='0 0 \(Int(Self.width)) \(Int(Self.height))' role='img'>\(axis)\(body)</svg></figure>\n"
    }

    /// Bars with their labels; each of its own colour or all of one.
    static func bars(_ title: String, _ bars: [(label: String, value: Double, color: String)]) -> String {
        var chart = Chart(highest: bars.map(\.value).max() ?? 0)
        let step = (width - left) / Double(max(bars.count, 1))
        for (index, bar) in bars.enumerated() {
            let x = left + step * Double(index)
            let y = chart.y(bar.value)
            chart.body +=
                "<rect x='\(chart.place(x + step * 0.1))' y='\(chart.place(y))' width='\(chart.place(step * 0.8))' "
                + "height='\(chart.place(height - bottom - y))' fill='\(bar.color)'><title>\(Markup.escaped(bar.label)): "
                + "\(figure(bar.value))</title></rect>"
            // As many labels as can be read.
            if bars.count <= 16 || index % (bars.count / 12 + 1) == 0 {
                chart.body +=
                    "<text x='\(chart.place(x + step / 2))' y='\(height - 8)' text-anchor='middle'>\(Markup.escaped(bar.label))</text>"
            }
        }
        return chart.svg(title, [])
    }

    /// Lines over time; `step` is the seconds between two values. Where one is missing the line is broken; what stands alone is a dot.
    static func lines(
        _ title: String, step: Double, _ series: [(name: String, color: String, values: [Double?])]
    ) -> String {
        var chart = Chart(highest: series.flatMap(\.values).compactMap { $0 }.max() ?? 0)
        let count = max(series.map(\.values.count).max() ?? 0, 2)
        for line in series {
            let places = line.values.enumerated().map { index, value in
                value.map { (chart.place(left + (width - left) * Double(index) / Double(count - 1)), chart.place(chart.y($0))) }
            }
            for run in places.split(whereSeparator: { $0 == nil }).map({ $0.compactMap { $0 } }) {
                if let (x, y) = run.first, run.count == 1 {
                    chart.body += "<circle cx='\(x)' cy='\(y)' r='2.5' fill='\(line.color)'/>"
                } else {
                    let points = run.map { "\($0.0),\($0.1)" }.joined(separator: " ")
                    chart.body += "<polyline points='\(points)' fill='none' stroke='\(line.color)' stroke-width='1.5'/>"
                }
            }
        }
        for share in [0.0, 0.25, 0.5, 0.75, 1] {
            let anchor = share == 0 ? "start" : share == 1 ? "end" : "middle"
            chart.body +=
                "<text x='\(chart.place(left + (width - left) * share))' y='\(height - 8)' text-anchor='\(anchor)'>"
                + "\(figure((step * Double(count - 1) * share).rounded())) s</text>"
        }
        return chart.svg(title, series.map { ($0.name, $0.color) })
    }

    /// A histogram of microseconds over at most 30 bars of equal width up to the 99.5th percentile; the rest is in the last.
    static func histogram(_ title: String, _ histogram: Histogram, unit: Double, color: String) -> String {
        let end = max(1, Double(histogram.quantile(0.995)))
        let width = rounded(end / 30)
        var counts = [Double](repeating: 0, count: Int(end / width) + 1)
        for bucket in histogram.buckets {
            counts[min(counts.count - 1, Int(Double(bucket.upTo) / width))] += Double(bucket.count)
        }
        return bars(title, counts.enumerated().map { (figure(Double($0.offset) * width / unit), $0.element, color) })
    }
}

/// The frame of a report.
enum Page {
    static let good = "#2e7d32"
    static let bad = "#c62828"
    static let other = "#ef6c00"
    static let plain = "#1565c0"

    static func begin(_ title: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8"><title>\(Markup.escaped(title))</title><style>
        body { font: 15px/1.45 system-ui, sans-serif; max-width: 1400px; margin: 2em auto; padding: 0 1em; color: #222; background: #fff }
        h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em }
        .tiles { display: flex; flex-wrap: wrap; gap: 1em } .tile { border: 1px solid #ddd; border-radius: 6px; padding: .5em 1em }
        .tile b { display: block; font-size: 1.6em } .charts { display: flex; flex-wrap: wrap; gap: 1em; margin-top: 1.5em }
        figure { margin: 0; flex: 1 1 400px; max-width: 660px } figcaption { font-weight: 600 } svg { width: 100%; height: auto }
        .audio { max-width: 640px } .audio svg { height: 80px; background: #fafafa } .audio audio { width: 100%; height: 32px }
        svg text { font: 11px system-ui, sans-serif; fill: #555 } .grid { stroke: #e4e4e4 }
        table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .25em .6em; border-bottom: 1px solid #eee; vertical-align: top }
        pre { background: #f6f6f6; padding: .6em; overflow: auto; font-size: 12px; line-height: 1.3 } .bad { color: \(bad) } .good { color: \(good) }
        </style></head><body><h1>\(Markup.escaped(title))</h1>

        """
    }

    static func tiles(_ tiles: [(name: String, value: String)]) -> String {
        "<div class='tiles'>"
            + tiles.map { "<div class='tile'><b>\(Markup.escaped($0.value))</b>\(Markup.escaped($0.name))</div>" }.joined()
            + "</div>\n"
    }

    static let end = "</body></html>\n"
}
