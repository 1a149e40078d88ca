// `say` in flows: heard as it is written, wherever prompts may stand.

import CallEngine
import FlowEngine
import Testing

@Suite struct SayVerbTests {
    @Test func textsAreHeardAsTheyAreWritten() throws {
        try runCases(
            """
            flow: t
            vars: { position: 3 }
            sections:
              main:
                - answer
                - say: Good morning
                - log: "after ${call.duration}"
                - say: { text: "You are number ${position}.", voice: "en-us+f3", language: en-US, loop: 2, volume: -3 }
                - play: [ a.wav, { say: "Please choose" } ]
                - collect: { prompts: { first: { say: "Press a key" } }, tries: 1, into: key }
                - say: { text: "You pressed ${key}", background: true }
                - wait: 1s
                - hangup
            cases:
              - name: x
                caller: [ { hears: "Press *" }, { press: "1" }, { hears: "You pressed 1" } ]
                expect:
                  - played: [ Good morning, You are number 3., You are number 3., a.wav, Please choose, Press a key, You pressed 1 ]
                  # 60 ms a letter
                  - logged: "after 720ms"
            """)
    }

    @Test func aKeyCutsIt() throws {
        try runCases(
            """
            flow: t
            sections:
              main:
                - answer
                - say: { text: "This is a very long text that nobody wants to hear to its end.", barge-in: "5", into: how, on: { stopped: { log: "cut ${call.duration}" } } }
                - collect: { into: key }
                - hangup
            cases:
              - name: x
                caller: [ { waits: 1s }, { press: "5" } ]
                expect: [ { logged: cut 1s }, { collected: "5" }, { value: { how: { outcome: stopped } } } ]
            """)
    }

    @Test func whatCannotBeSaidFailsTheStep() throws {
        try runCases(
            """
            flow: t
            vars: { empty: " ", voice: "../../etc/passwd" }
            sections:
              main:
                - answer
                - say: { text: "${empty}", on: { failed: { log: "1 ${result.error}" } } }
                - say: { text: a, voice: "${voice}", on: { failed: { log: "2 ${result.error}" } } }
                - hangup
            cases:
              - name: x
                expect: [ { logged: "1 there is nothing to say: the text is empty" }, { logged: "2 `../../etc/passwd` is no name of a voice" }, { not: { played: "*" } } ]
            """)
    }

    /// Music goes on under what plays next, until it is stopped.
    @Test func musicUnderPrompts() throws {
        try runCases(
            """
            flow: t
            sections:
              main:
                - answer
                - play: { file: a.wav, loop: forever, volume: -15, background: mixed }
                - say: Good morning
                - log: "said ${call.duration}"
                - wait: 1s
                - play: { background: stop }
                - log: "stopped ${call.duration}"
                - hangup
            cases:
              - name: x
                caller: [ { hears: a.wav }, { hears: Good morning, whole: true } ]
                expect: [ { played: [ a.wav, Good morning ] }, { logged: said 720ms }, { logged: stopped 1s720ms } ]
            """)
    }

    // MARK: `as`

    /// Each row: language, what the text is a value of, the text, what is said.
    @Test(
        arguments: [
            ("en", "digits", "+49 (30) 12-3*#", "plus 4 9 3 0 1 2 3 star hash"), ("de-CH", "digits", "*7#", "Stern 7 Raute"),
            ("pl", "digits", "1.2/3 A", "1 2 3 A"), ("fr", "digits", "#", "dièse"),
            ("en", "number", "0012.50", "12.50"), ("de", "number", "-12.5", "minus 12,5"), ("es", "number", "-0.5", "menos 0,5"),
            ("pl", "number", "1200", "1200"), ("nl", "number", " -1 ", "min 1"),
            ("en", "amount", "12.50 EUR", "12 euros and 50 cents"), ("en-US", "amount", "1.01 USD", "one dollar and one cent"),
            ("en", "amount", "0.30 GBP", "30 pence"), ("en", "amount", "0 EUR", "0 euros"),
            ("en", "amount", "-0.00 EUR", "0 euros"),
            ("de", "amount", "-1.5 EUR", "minus ein Euro und 50 Cent"), ("de", "amount", "2.05 CHF", "2 Franken und 5 Rappen"),
            ("fr", "amount", "1 GBP", "une livre"), ("es", "amount", "3.20 USD", "3 dólares con 20 centavos"),
            ("it", "amount", "2 GBP", "2 sterline"), ("nl", "amount", "0.01 EUR", "één cent"),
            ("en", "date", "2026-11-01", "November 1st, 2026"), ("en", "date", "2026-11-12", "November 12th, 2026"),
            ("en-GB", "date", "2024-02-29T23:30:00-05:00", "February 29th, 2024"),
            ("en", "date", "2026-01-22", "January 22nd, 2026"), ("en", "date", "2026-01-23T00:00:00Z", "January 23rd, 2026"),
            ("de", "date", "2026-03-17", "siebzehnter März 2026"),
            ("de", "date", "2026-12-31", "einunddreißigster Dezember 2026"),
            ("de", "date", "2026-05-21", "einundzwanzigster Mai 2026"), ("de", "date", "2026-05-16", "sechzehnter Mai 2026"),
            ("fr", "date", "2026-08-01", "premier août 2026"), ("fr", "date", "2026-08-30", "30 août 2026"),
            ("es", "date", "2026-05-02", "2 de mayo de 2026"), ("it", "date", "2026-05-01", "primo maggio 2026"),
            ("nl", "date", "2026-03-01", "1 maart 2026"),
            ("en", "time", "09:05", "9:05"), ("pl", "time", "0:00:59", "0:00"),
            ("de", "time", "2026-11-30T14:05:09.5+01:00", "14:05")
        ])
    func aValueIsSaidInItsLanguage(_ language: String, _ kind: String, _ text: String, _ said: String) throws {
        try runCases(
            """
            flow: t
            language: \(language)
            vars: { value: "\(text)" }
            sections:
              main:
                - answer
                - say: { text: "${value}", as: \(kind) }
                - play: [ { say: "\(text)", as: \(kind), language: "\(language)" }, a.wav ]
                - hangup
            cases:
              - name: x
                expect: [ { played: [ "\(said)", "\(said)", a.wav ] } ]
            """)
    }

    /// It is told before, where the text is written out, and else when it is to be said.
    @Test(
        arguments: [
            ("digits", "12x", "is not made of digits"), ("digits", " - ", "has no digit"), ("number", "1,5", "is not a number"),
            ("number", "1e3", "is not a number"), ("number", "- 1", "is not a number"), ("amount", "12.50", "is not an amount"),
            ("amount", "12.505 EUR", "is not an amount"), ("amount", "1 XAU", "has a currency that is not known here"),
            ("date", "2026-02-29", "is not a date"), ("date", "0000-01-01", "is not a date"),
            ("date", "30.11.2026", "is not a date"),
            ("date", "2026-11-30Tomorrow", "is not a date"), ("time", "24:00", "is not a time"), ("time", "9:5", "is not a time")
        ])
    func whatIsNoSuchValueIsTold(_ kind: String, _ text: String, _ why: String) throws {
        try runCases(
            """
            flow: t
            vars: { value: "\(text)" }
            sections:
              main:
                - answer
                - say: { text: "${value}", as: \(kind), on: { failed: { log: "${result.error}" } } }
                - hangup
            cases:
              - name: x
                expect: [ { logged: "`\(text)` as `\(kind)` \(why): *" }, { not: { played: "*" } } ]
            """)
        let written = load("flow: t\nsections: { main: [ answer, { say: { text: \"\(text)\", as: \(kind) } }, hangup ] }")
        let told = written.diagnostics.map(\.description)
        #expect(told.contains { $0.contains("error: `text` as `\(kind)` \(why); ") }, "\(told)")
    }

    @Test func whatASecretIsIsNotTold() throws {
        try runCases(
            """
            flow: t
            sections:
              main:
                - answer
                - collect: { digits: 4, secret: true, into: pin }
                - say: { text: "${pin}", as: digits }
                - say: { text: "${pin} x", as: digits, on: { failed: { log: "${result.error}" } } }
                - hangup
            cases:
              - name: x
                caller: [ { press: "1234" } ]
                expect: [ { played: "***" }, { logged: "`*** x` as `digits` is not made of digits: *" } ]
            """)
    }

    @Test func otherLanguagesHaveDigitsTimesAndWholeNumbers() throws {
        let told = load(
            """
            flow: t
            language: pl
            sections:
              main:
                - answer
                - say: { text: "12", as: number }
                - say: { text: "#", as: digits }
                - say: { text: "-1", as: number }
                - say: { text: "${now}", as: date }
                - say: { text: "${now}", as: date, language: de }
                - say: { text: "1 EUR", as: amount }
                - say: { text: "1", as: numbr }
                - hangup
            """
        ).diagnostics.map(\.description)
        let lack = "has no words in `pl`; there are some in de, en, es, fr, it, nl"
        #expect(told.filter { $0.contains(lack) }.count == 4, "\(told)")
        #expect(told.contains { $0.contains("numbr") && $0.contains("did you mean `number`") }, "\(told)")
        #expect(told.count == 5, "\(told)")
    }
}
