// `allow`: what flows may call and ask for.

import Server
import Testing

@Suite struct AllowanceTests {
    static let allow = Allowance(
        bridge: ["sip:*@pbx.example.com", "tel:+1555*", "user:*", "sip:100@192.0.2.1:5070"],
        request: ["https://example.com/*", "https://*.example.org/api/*", "http://127.0.0.1:8000/hook"])

    @Test(arguments: [
        ("sip:anna@pbx.example.com", true),
        ("SIP:Anna@PBX.example.COM", true),
        ("sip:anna@pbx.example.com;transport=tcp", true),
        ("sip:anna@pbx.example.com;transport=tls", true),
        ("sip:anna@pbx.example.com;transport=ws", false),
        ("sip:anna@pbx.example.com;transport", false),
        ("tel:+15551234", true),
        ("user:hall", true),
        ("sip:100@192.0.2.1:5070", true),
        ("sip:anna@pbx.example.com:5070", false),
        ("sip:anna@pbx.example.com.evil.example", false),
        ("sip:x@evil.example;a=@pbx.example.com", false),
        ("sip:x@evil.example?a=@pbx.example.com", false),
        ("sip:x@evil.example@pbx.example.com", false),
        ("sip:x@pbx.example.com;maddr=192.0.2.66", false),
        ("sip:x@pbx.example.com?Route=%3Csip:evil%3E", false),
        ("sip:a,sip:b@pbx.example.com", false),
        ("sips:anna@pbx.example.com", false),
        ("tel:+15551234;phone-context=evil", false),
        ("tel:+4915551234", false),
        ("line:carrier/100", false),
        ("", false)
    ])
    func bridging(_ target: String, _ permitted: Bool) {
        #expect(Self.allow.permitsBridge(to: target) == permitted)
    }

    @Test(arguments: [
        ("https://example.com/orders/1?x=y", true),
        ("https://EXAMPLE.com/orders", true),
        ("https://shop.example.org/api/a/b", true),
        ("http://127.0.0.1:8000/hook", true),
        ("https://example.com", false),
        ("http://example.com/orders", false),
        ("https://example.com.evil.example/", false),
        ("https://example.com@evil.example/", false),
        ("https://evil.example/x.example.org/api/a", false),
        ("https://a.b.example.org/api/a", false),
        ("https://shop.example.org/other", false),
        ("https://shop.example.org/api/../admin", false),
        ("https://shop.example.org/api/%2E%2e/admin", false),
        ("https://example.com\\@evil.example/", false),
        ("http://127.0.0.1:8000/hooks", false)
    ])
    func requests(_ url: String, _ permitted: Bool) {
        #expect(Self.allow.permitsRequest(to: url) == permitted)
    }
}
