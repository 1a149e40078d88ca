// Prompts by URL in flows: what `check` says of them, and how the bench plays them.

import CallEngine
import FlowEngine
import Testing

@Suite struct PromptByURLTests {
    @Test(arguments: [
        ("play: ftp://example.com/a.wav", "a prompt is fetched over http or https; begin the URL with https://"),
        ("play: \"https:///a.wav\"", "the URL names no host; write https://example.com/prompt.wav"),
        ("play: https://me:word@example.com/a.wav", "the URL holds a user name; prompts are fetched without one")
    ])
    func urlsThatCannotBeFetched(step: String, message: String) {
        let found = load(steps("answer", step)).diagnostics.map(\.description)
        #expect(found.contains { $0.hasPrefix("f.yaml:5:13: error: ") && $0.hasSuffix(message) }, "\(found)")
    }

    @Test func theyMayStandWhereverPromptsDo() throws {
        try runCases(
            """
            flow: t
            vars: { language: en, prompt: "HTTPS://example.com/p.wav?x=1" }
            sections:
              main:
                - answer
                - play: [ "https://example.com/${language}/hello.wav", a.wav ]
                - play: "${prompt}"
                - collect: { prompts: { first: https://example.com/menu.mp3 }, tries: 1, into: key }
                - log: "key ${key}"
                - play: { file: "https://example.com/gone.wav?token=word", on: { failed: { log: "gone: ${result.error}" } } }
                - play: https://example.com/down.wav
                - log: went on
                - hangup
            cases:
              - name: x
                web: { "*gone*": 404, "*down*": failed }
                caller: [ { hears: "https://example.com/menu.mp3" }, { press: "1" } ]
                expect:
                  - played: [ https://example.com/en/hello.wav, a.wav, "HTTPS://example.com/p.wav?x=1", "https://example.com/menu*" ]
                  - logged: key 1
                  - logged: "gone: https://example.com/gone.wav: the server answered 404"
                  - logged: went on
                  - not: { played: "*gone*" }
            """)
    }

    @Test func whatIsSecretInAURLStaysSecret() throws {
        try runCases(
            """
            flow: t
            sections:
              main:
                - answer
                - collect: { digits: 4, secret: true, into: pin }
                - play: { file: "https://example.com/${pin}.wav", on: { failed: { log: "no ${result.error}" } } }
                - hangup
            cases:
              - name: x
                web: { "*": 404 }
                caller: [ { press: "1234" } ]
                expect: [ { logged: "no https://example.com/***.wav: the server answered 404" } ]
            """)
    }
}
