// What the checker finds, with place and mend. Flows are texts; prompts are all there unless a test says otherwise.

import FlowEngine
import Testing

/// Every prompt exists but those with `missing` or `broken` in their names.
struct Prompts: PromptInspector {
    func inspect(path: String) -> PromptInfo {
        if path.contains("missing") { return .missing }
        return path.contains("broken") ? .unreadable("no audio in it") : .playable(.seconds(2))
    }
}

func load(_ text: String, file: String = "f.yaml") -> FlowLoadResult {
    var options = FlowLoadOptions()
    options.prompts = Prompts()
    options.environmentNames = ["SHOP"]
    return FlowLoader.load(text: text, file: file, options: options)
}

/// A flow of one section with these steps, each line below `    - `.
func steps(_ lines: String...) -> String {
    "flow: t\nsections:\n  main:\n" + lines.map { "    - \($0)\n" }.joined()
}

@Suite struct FlowCheckerTests {
    @Test(arguments: [
        (steps("anwser"), "f.yaml:4:7: error: unknown verb `anwser` of a step; did you mean `answer`?"),
        (steps("queue: sales"), "f.yaml:4:7: error: `queue` is not built yet; remove the step"),
        (steps("answer", "say: \" \""), "f.yaml:5:12: error: `say` says nothing"),
        (
            steps("answer", "say: { text: a, voice: -f }"),
            "f.yaml:5:30: error: `-f` is no name of a voice; it has letters, digits and . _ + - /"
        ),
        (
            steps("answer", "say: { text: a, language: english }"),
            "f.yaml:5:33: error: `language` is a code such as en or de-CH, not `english`"
        ),
        (
            steps("answer", "say: { text: \"1\", as: date }"),
            "f.yaml:5:20: error: `text` as `date` is not a date; write it as 2026-11-30"
        ),
        (steps("answer", "play: { fiel: a.wav }"), "f.yaml:5:15: error: unknown key `fiel` of `play`; did you mean `file`?"),
        (
            steps("answer", "detect: [ human, maschine ]"),
            "f.yaml:5:24: error: unknown value `maschine` of `detect`; did you mean `machine`?"
        ),
        (
            steps("answer", "detect: { what: human, limits: { greating: 2s } }"),
            "f.yaml:5:40: error: unknown key `greating` of `limits`; did you mean `greeting`?"
        ),
        (
            steps("answer", "expect: { hears: { tone: { name: busy, country: zz } } }"),
            "f.yaml:5:46: error: the tones of `zz` are not known; known: at, au, be, bg, br, ca, ch, cl, cn, cz, de, dk, ee, es, fi, fr, gb, gr, hu, id, il, in, it, jp, lt, mx, my, nl, no, nz, ph, pl, pt, ru, se, sg, th, tw, us, ve, xx, za; or write `frequencies`"
        ),
        (
            steps("answer", "record: { to: ../a.wav }"),
            "f.yaml:5:21: error: `../a.wav` leads out of its folder; recordings lie below the recordings folder"
        ),
        (
            steps("answer", "record: { to: \"${call.id}.mp3\" }"),
            "f.yaml:5:21: error: unknown format `mp3` of recordings; known: `wav`, `opus`, `ogg`, `flac`"
        ),
        (
            steps("answer", "bridge: { to: sip:a@b, record: a.flak }"),
            "f.yaml:5:38: error: unknown format `flak` of recordings; did you mean `flac`?"
        ),
        (
            steps("answer", "bridge: { to: sip:a@b, whisper: x }"),
            "f.yaml:5:39: error: unknown section `x` of `whisper`; known: `main`"
        ),
        (
            steps("answer", "request: { url: https://a, sign: x }"),
            "f.yaml:5:34: error: `sign` of `request` is not built yet; remove it"
        ),
        (
            steps("wait: 5"),
            "f.yaml:4:13: error: `wait`: \"5\" has no unit at its end; write 5s for seconds or 5ms for milliseconds"
        ),
        (steps("expect: { loss: much }"), "f.yaml:4:23: error: `loss` is a share from 0% to 100%, not `much`; write 1%"),
        (steps("expect: { audio: stereo }"), "f.yaml:4:24: error: unknown value `stereo` of `audio`; known: `two-way`"),
        (steps("expect: { mos: 6 }"), "f.yaml:4:22: error: `mos` is from 1.0 to 4.5, not 6"),
        (steps("goto: mian"), "f.yaml:4:13: error: unknown section `mian` of `goto`; did you mean `main`?"),
        (
            steps("goto: main"),
            "f.yaml:4:13: error: a cycle that takes no time: main -> main; put a prompt, a `wait` or a `collect` on the way"
        ),
        (steps("answer", "play: missing.wav"), "f.yaml:5:13: error: there is no prompt `missing.wav` in ."),
        (steps("answer", "play: broken.wav"), "f.yaml:5:13: error: the prompt `broken.wav` cannot be played: no audio in it"),
        (steps("answer", "play: ../secret.wav"), "f.yaml:5:13: error: `../secret.wav` leads out of its folder"),
        (
            steps("answer", "play: /etc/a.wav"),
            "f.yaml:5:13: error: `/etc/a.wav` is absolute; names are relative to their folder"
        ),
        (
            steps("answer", "send-digits: 0123"),
            "f.yaml:5:20: error: `send-digits`: `0123` without quotes is the number 123; write \"0123\""
        ),
        (
            steps("answer", "record: { to: a.wav, finish-on: # }"),
            "f.yaml:5:39: error: `#` begins a comment, and what follows it is lost; write \"#\" in quotes if you mean the key"
        ),
        (
            steps("answer", "collect:\n        finish-on: #"),
            "f.yaml:6:19: error: `finish-on` is empty: `#` begins a comment; write \"#\" in quotes if you mean the key"
        ),
        (
            steps("answer", "collect: { choices: { \"#\": hangup } }"),
            "f.yaml:5:29: error: the choice `#` holds `#`, which ends the entry (`finish-on`); write `finish-on: \"\"` or another key"
        ),
        (
            steps("answer", "collect: { allow: \"0-9#\" }"),
            "f.yaml:5:18: error: `allow` holds `#`, which ends the entry (`finish-on`); take `#` out of `allow`, or write `finish-on: \"\"`"
        ),
        (
            steps("answer", "collect: { choices: { \"12\": hangup } }"),
            "f.yaml:5:29: error: `12` can never be pressed: the entry ends at 1 digits; write `min: 1` and `max: 2`"
        ),
        (steps("set: { call: 1 }"), "f.yaml:4:14: error: `call` is a name of the engine; take another name"),
        (
            steps("answer", "play: a.wav", "hangup") + "always:\n  - play: a.wav\n",
            "f.yaml:8:5: error: `play` in `always`: the call is over by then"
        ),
        (
            "direction: outbound\n" + steps("reject: 486"),
            "f.yaml:5:7: error: `reject` answers a call that came in; this flow is for outbound calls; remove it, or write `direction: inbound`"
        ),
        (
            steps("repeat: { do: [ { log: x } ] }"),
            "f.yaml:4:7: error: this `repeat` takes no time and has no end; add `times`, `while`, `until` or a `wait`"
        ),
        (
            steps("answer: { timeout: 5s }", "hangup", "answer"),
            "f.yaml:6:7: warning: `answer` is never reached: `hangup` before it does not come back"
        ),
        (
            steps("answer", "request: { url: https://a, headers: { Authorization: Bearer abc } }"),
            "f.yaml:5:60: warning: `Authorization` looks like a secret written out; take it from the environment: \"${env.NAME}\""
        ),
        (
            steps("play: a.wav"),
            "f.yaml:4:7: warning: `play` needs audio, and nothing before it answers the call; put `answer` (or `progress`) before it"
        ),
        (
            steps("answer", "play: a.wav hangup: x"),
            "f.yaml:5:25: error: a second `:` in one line; put text that holds `: ` in quotes, or check the indentation of this line"
        ),
        (
            steps("log: x\n      hangup: y"),
            "f.yaml:5:7: error: `hangup` stands beside `log` in one step; begin it with `- ` as a step of its own"
        )
    ])
    func findsWithPlaceAndMend(text: String, message: String) {
        let found = load(text).diagnostics.map(\.description)
        #expect(found.contains(message), "\(found)")
    }

    @Test(arguments: [
        (steps("log: \"${chioce}\"", "set: { choice: 1 }"), "f.yaml:4:15", "chioce"),
        (steps("log: \"${call.form}\""), "f.yaml:4:20", "form"),
        (steps("log: \"${env.SHPO}\""), "f.yaml:4:19", "SHPO"),
        (steps("if: \"1 + 1\"\n      then: hangup"), "f.yaml:4:14", "must be bool"),
        (steps("log: \"${1 + }\""), "f.yaml:4:19", "")
    ])
    func expressionsAreChecked(text: String, place: String, word: String) {
        let found = load(text).diagnostics.filter { $0.severity == .error }
        #expect(found.count == 1 && found[0].place.description == place && found[0].message.contains(word), "\(found)")
    }

    @Test func sectionsAreWalked() {
        let found = load(
            """
            flow: t
            sections:
              a:
                - answer
                - play: x.wav
              b:
                - wait: 1s
                - goto: c
              c:
                - wait: 1s
                - goto: b
            """
        ).diagnostics.map(\.description)
        #expect(
            found == [
                "f.yaml:3:3: warning: the section `a` ends the call where its steps end; add `hangup`, or `goto: b` if it is to go on there",
                "f.yaml:6:3: warning: nothing leads to the section `b`", "f.yaml:9:3: warning: nothing leads to the section `c`"
            ])
    }

    @Test func aLoopWithoutAWayOutIsNamed() {
        let found = load(steps("answer", "play: x.wav", "goto: main")).diagnostics.map(\.message)
        #expect(found == ["from the section `main` there is no way out: only the other side can end the call"])
    }

    @Test func aFlowNeedsNameAndSections() {
        #expect(load("").diagnostics.map(\.message) == ["the file is empty"])
        #expect(load("description: x").diagnostics.map(\.message).sorted() == ["a flow needs `flow`", "a flow needs `sections`"])
        #expect(load("flow: x\nsections: {}\nstart: y").diagnostics.map(\.message) == ["a flow has at least one section"])
    }

    @Test func directionFollowsTheVerbs() {
        #expect(load(steps("reject: 486")).flow?.direction == .inbound)
        #expect(load(steps("answer", "hangup")).flow?.direction == .both)
        #expect(load("direction: both\n" + steps("reject: 486")).flow?.direction == .both)
    }

    @Test func casesAreChecked() {
        let text =
            steps("answer", "hangup") + """
                cases:
                  - name: x
                    caller: [ { hear: a.wav }, busy ]
                    expect: [ { playd: a.wav }, { section: mian }, { value: { nobody: 1 } } ]
                  - name: x
                """
        let found = load(text).diagnostics.map(\.message)
        #expect(
            Set(found) == [
                "unknown key `hear` of a step of the script", "unknown step `busy` of the script",
                "unknown expectation `playd` of `expect`",
                "unknown section `mian` of `section`",
                "unknown variable `nobody` of the flow", "two cases are named `x`", "a case needs `expect`"
            ], "\(found)")
    }
}
