// How long a response may be used: RFC 9111 by its sections.

import Testing
import Web

@Suite struct StoredResponseTests {
    /// 1994-11-06 08:49:37
    private let now = 784_111_777.0
    private let today = "Sun, 06 Nov 1994 08:49:37 GMT"

    private func response(_ fields: (String, String)..., took: Double = 0) -> StoredResponse {
        StoredResponse(
            source: "http://a/b", HTTPFields(fields.map { HTTPField($0.0, $0.1) }), requestedAt: now - took, receivedAt: now)
    }

    @Test func datesOfThreeForms() {
        for text in [today, "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            #expect(HTTPDate.seconds(text) == now, "\(text)")
        }
        for text in [
            "", "0", "-1", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 6 Now 1994 08:49:37 GMT"
        ] {
            #expect(HTTPDate.seconds(text) == nil, "\(text)")
        }
    }

    @Test func lifetimes() {
        // Section 4.2.1, in its order.
        #expect(response(("Cache-Control", "public, max-age=60"), ("Expires", today)).freshUntil == now + 60)
        #expect(response(("cache-control", "max-age=\"60\"")).freshUntil == now + 60)
        #expect(response(("Date", today), ("Expires", "Sun, 06 Nov 1994 08:50:37 GMT")).freshUntil == now + 60)
        // What cannot be read is stale.
        #expect(response(("Cache-Control", "max-age=soon")).freshUntil == now)
        #expect(response(("Expires", "0"), ("Last-Modified", "Sun, 06 Nov 1983 08:49:37 GMT")).freshUntil == now)
        #expect(response(("Cache-Control", "max-age=99999999999999999999")).freshUntil == now + 4_294_967_295)
        // A guess: a tenth of its age, a day at most (section 4.2.2).
        #expect(response(("Date", today), ("Last-Modified", "Sun, 06 Nov 1994 08:48:37 GMT")).freshUntil == now + 6)
        #expect(response(("Date", today), ("Last-Modified", "Sun, 06 Nov 1983 08:49:37 GMT")).freshUntil == now + 86_400)
        #expect(response().freshUntil == now)
        // Several lines are one list.
        #expect(response(("Cache-Control", "public"), ("Cache-Control", "max-age=5")).freshUntil == now + 5)
    }

    @Test func ages() {
        // Section 4.2.3: what a cache on the way tells, with the time that the answer took.
        #expect(response(("Cache-Control", "max-age=60"), ("Age", "20"), took: 3).freshUntil == now + 37)
        #expect(response(("Cache-Control", "max-age=60"), ("Date", "Sun, 06 Nov 1994 08:49:07 GMT")).freshUntil == now + 30)
        let old = response(("Cache-Control", "max-age=60"), ("Age", "100"))
        #expect(old.freshUntil < now && old.age(at: now + 5) == 105)
    }

    @Test func whatIsNeverUsedWithoutAsking() {
        for control in ["no-cache", "no-store", "No-Cache, max-age=60"] {
            #expect(response(("Cache-Control", control)).freshUntil == -.infinity, "\(control)")
        }
        #expect(response(("Cache-Control", "max-age=60"), ("Vary", "accept, *")).freshUntil == -.infinity)
        #expect(response(("Cache-Control", "no-store")).isForbidden && !response(("Cache-Control", "max-age=1")).isForbidden)
    }

    @Test func whatIsUsedWhileNobodyAnswers() {
        #expect(response(("Cache-Control", "max-age=60")).mayBeStale(at: now + 1_000_000))
        #expect(response().mayBeStale(at: now + 1_000_000))
        for control in ["max-age=60, must-revalidate", "no-cache", "no-store"] {
            #expect(!response(("Cache-Control", control)).mayBeStale(at: now + 61), "\(control)")
        }
        // RFC 5861 section 4.
        let limited = response(("Cache-Control", "max-age=60, stale-if-error=10"))
        #expect(limited.mayBeStale(at: now + 70) && !limited.mayBeStale(at: now + 71))
    }

    @Test func aConfirmedOneIsFreshAgain() {
        var kept = response(("Cache-Control", "max-age=60"), ("ETag", "\"1\""), ("Age", "30"), ("Last-Modified", today))
        #expect(kept.conditions == [HTTPField("If-None-Match", "\"1\""), HTTPField("If-Modified-Since", today)])
        kept.freshen(["Cache-Control": "max-age=10"], requestedAt: now + 99, receivedAt: now + 100, redirectLifetime: nil)
        #expect(kept.freshUntil == now + 109)
        #expect(kept.conditions.count == 2)
    }

    @Test func redirectsLimitIt() {
        var kept = response(("Cache-Control", "max-age=60"))
        kept.redirectLifetime = 5
        #expect(kept.freshUntil == now + 5)
        kept.redirectLifetime = 500
        #expect(kept.freshUntil == now + 60)
    }

    @Test func itsNoteSaysTheSame() throws {
        var kept = response(
            ("Cache-Control", "max-age=60"), ("ETag", "W/\"a b\""), ("Content-Type", ""), ("X-Other", "is not kept"))
        (kept.size, kept.changed, kept.redirectLifetime) = (12, 34, .infinity)
        let again = try #require(StoredResponse(note: kept.note))
        #expect(again.freshUntil == kept.freshUntil && again.conditions == kept.conditions)
        #expect(again.source == kept.source && again.size == 12 && again.changed == 34 && again.redirectLifetime == .infinity)
        #expect(again.fields["x-other"] == nil)
        for broken in [
            "", "source a\n", "nothing\n", String(decoding: kept.note, as: UTF8.self).replacing("size 12", with: "size x")
        ] {
            #expect(StoredResponse(note: Array(broken.utf8)) == nil, "\(broken)")
        }
    }
}
