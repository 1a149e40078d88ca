// What phones of all kinds do alike in a call.

import Testing

extension EngineUnderTest {
    /// The flow says its menu and notes `asks`; the phone presses 1, 2 and #, each when the one before it was heard.
    func expectMenu(press: (String) -> Void, _ place: SourceLocation = #_sourceLocation) {
        #expect(waitForNote("asks"), sourceLocation: place)
        for key in ["1", "2", "#"] {
            press(key)
            #expect(waitForNote("key \(key)"), sourceLocation: place)
        }
    }
}
