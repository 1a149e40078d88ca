// The search for a target's limit, against targets whose limit is known.

import Basics
import Dialer
import Testing

@Suite struct LimitSearchTests {
    static func step(_ rate: Double, _ reason: String?) -> LimitSearch.Step {
        var statistics = LoadStatistics()
        statistics.placed = 100
        statistics.failed = reason == nil ? 0 : 50
        return LimitSearch.Step(rate: rate, statistics, rules: LimitRules())
    }

    @Test(arguments: [7.0, 10, 11, 50, 99, 333, 4999]) func itIsFoundToFivePercent(limit: Double) {
        var search = LimitSearch(first: 10, most: 5000)
        while search.outcome == nil {
            #expect(search.rate > 0 && search.rate <= 5000)
            search.add(Self.step(search.rate, search.rate > limit ? "too much" : nil), isSpoiled: false, wasCut: false)
        }
        guard case .found(let rate, let reason) = search.outcome else {
            Issue.record("\(search.summary)")
            return
        }
        #expect(rate <= limit && rate >= limit * 0.94, "\(rate) for \(limit)")
        #expect(reason.hasPrefix("50.0% of the calls failed"))
        #expect(search.steps.count < 30)
    }

    @Test func otherEnds() {
        var search = LimitSearch(first: 10, most: 40)
        while search.outcome == nil { search.add(Self.step(search.rate, nil), isSpoiled: false, wasCut: false) }
        #expect(search.outcome == .notReached(rate: 40))
        #expect(search.steps.map(\.rate) == [10, 15, 22.5, 33.75, 40])

        search = LimitSearch(first: 10, most: 40)
        search.add(Self.step(10, nil), isSpoiled: false, wasCut: false)
        search.add(Self.step(15, "x"), isSpoiled: true, wasCut: false)
        #expect(search.outcome == .ownLimit(rate: 10))

        search = LimitSearch(first: 10, most: 40)
        while search.outcome == nil { search.add(Self.step(search.rate, "x"), isSpoiled: false, wasCut: false) }
        #expect(search.outcome == .belowFirst(reason: "50.0% of the calls failed (allowed: 1.0%)"))
        #expect(search.steps.count == 6)

        search = LimitSearch(first: 10, most: 40)
        search.add(Self.step(10, nil), isSpoiled: false, wasCut: true)
        #expect(search.outcome == .cut(rate: 0))
    }

    @Test func whichRuleWasBroken() {
        var statistics = LoadStatistics()
        statistics.placed = 1000
        for _ in 0..<1000 {
            statistics.answer.record(300_000)
            statistics.score.record(420)
        }
        var rules = LimitRules()
        #expect(rules.broken(by: statistics) == nil)
        rules.answer = 250
        #expect(rules.broken(by: statistics)?.hasPrefix("answers took 300") == true)
        rules.answer = 400
        rules.score = 4.3
        #expect(rules.broken(by: statistics) == "one call in twenty scored 4.2 or less (wanted: 4.3)")
        rules.failures = 0.005
        statistics.failed = 6
        #expect(rules.broken(by: statistics) == "0.6% of the calls failed (allowed: 0.5%)")
    }

    /// The curve, in the order of the rates, with its words, in the report.
    @Test func theCurveIsDrawn() {
        var search = LimitSearch(first: 10, most: 20)
        for _ in 0..<2 {
            search.add(Self.step(search.rate, search.rate > 12 ? "<x>" : nil), isSpoiled: false, wasCut: false)
        }
        let page = search.page(title: "The limit of <b>", last: LoadReport())
        #expect(page.contains("The limit of &lt;b&gt;") && !page.contains("<x>"))
        #expect(page.contains("<title>10.0: 0</title>") && page.contains("<title>15.0: 50</title>"))
        #expect(page.contains("Failed calls by rate, %") && !page.contains("Mean opinion score by rate"))
    }
}
