// JSON and markup as they are written.

import Basics
import Testing

@Suite struct JSONTextTests {
    @Test(arguments: [
        (JSONText.number(0.05, digits: 1), "0.1"), (.number(2.999, digits: 2), "3.0"), (.number(-1.25, digits: 2), "-1.25"),
        (.number(-0.001, digits: 1), "0.0"), (.number(.infinity, digits: 1), "null"), (.number(12.30, digits: 2), "12.3"),
        (.string("a\"\\\n\u{1}\u{9B}\u{2028}é"), #""a\"\\\n\u0001\u009b\u2028é""#), (.array([1, true, .null]), "[1,true,null]"),
        (.object([]), "{}"), (.count(UInt64.max), "18446744073709551615"), (.milliseconds(.microseconds(1_234_567)), "1234.6")
    ])
    func texts(_ value: JSONText, _ text: String) {
        #expect(value.text == text)
    }
}

@Suite struct VisibleTextTests {
    @Test(arguments: [
        ("\u{1B}[2J\r\n\ta\u{9B}b\u{7F}", "\\u{1b}[2J\\u{d}\\u{a}\\u{9}a\\u{9b}b\\u{7f}", "\\u{1b}[2J\\u{d}\n\ta\\u{9b}b\\u{7f}"),
        ("Größe \u{1F600} e\u{301}", "Größe \u{1F600} e\u{301}", "Größe \u{1F600} e\u{301}")
    ])
    func nothingSteersATerminal(_ text: String, _ oneLine: String, _ lines: String) {
        #expect(VisibleText.escaped(text) == oneLine)
        #expect(VisibleText.escaped(text, keepsLines: true) == lines)
    }

    @Test func theLengthIsBounded() {
        #expect(VisibleText.escaped("123456", atMost: 5) == "1234…")
        #expect(VisibleText.escaped("12345", atMost: 5) == "12345")
    }
}

@Suite struct MarkupTests {
    @Test(arguments: [
        ("a<b> & \"c\" 'd'\n\te", "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;\n\te"),
        ("\u{1}\r\u{7F}\u{FFFE}\u{1FFFF}", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
        ("Größe \u{1F600}", "Größe \u{1F600}")
    ])
    func textOfAnybody(_ text: String, _ wanted: String) {
        #expect(Markup.escaped(text) == wanted)
    }
}
