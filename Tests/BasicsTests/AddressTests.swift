import Basics
import Testing

@Suite struct AddressTests {
    @Test(arguments: ["192.0.2.1", "0.0.0.0", "255.255.255.255", "2001:db8::1", "::", "::1", "fe80::1:2:3:4"])
    func addressesPrintAsTheyWereRead(_ text: String) {
        #expect(IPAddress(text)?.description == text)
    }

    @Test(arguments: [
        "", "192.0.2", "192.0.2.", "192.0.2.256", "192.0.2.01", "192..0.2", "1.2.3.4.5", "1.2.3.4 ", "example.com",
        "2001:db8:::1", "1.2.3.4\0", "[::1"
    ])
    func otherTextIsNoAddress(_ text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test func portsAndBrackets() {
        #expect(SocketAddress("192.0.2.1:5060")?.description == "192.0.2.1:5060")
        #expect(SocketAddress("[2001:db8::1]:5060")?.description == "[2001:db8::1]:5060")
        for bad in ["192.0.2.1", "192.0.2.1:", "192.0.2.1:65536", "2001:db8::1:5060", "[192.0.2.1]:5060"] {
            #expect(SocketAddress(bad) == nil, "\(bad)")
        }
    }

    @Test(arguments: [
        ("198.51.100.0/24", "198.51.100.255", true), ("198.51.100.0/24", "198.51.101.0", false),
        ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "::1", false), ("192.0.2.7", "192.0.2.7", true),
        ("192.0.2.7", "192.0.2.8", false), ("2001:db8::/32", "2001:db8:ffff::1", true),
        ("2001:db8::/32", "2001:db9::", false), ("2001:db8::/96", "2001:db8::1:2", true),
        ("2001:db8::/96", "2001:db8::1:0:2", false)
    ])
    func networks(_ network: String, _ address: String, _ inside: Bool) {
        #expect(IPNetwork(network)!.contains(IPAddress(address)!) == inside)
    }

    @Test(arguments: [
        ("10.1.2.3", true), ("172.16.0.1", true), ("172.31.255.255", true), ("172.32.0.1", false), ("192.168.9.9", true),
        ("192.169.0.1", false), ("100.64.0.1", true), ("100.128.0.1", false), ("169.254.1.1", true), ("127.0.0.1", true),
        ("203.0.113.1", false), ("fd00::1", true), ("fe80::1", true), ("::1", true), ("2001:db8::1", false)
    ])
    func privateAddresses(_ text: String, _ expected: Bool) {
        #expect(IPAddress(text)!.isPrivate == expected)
    }

    @Test(arguments: ["198.51.100.0/33", "198.51.100.0/-1", "198.51.100.0/", "x/8", "::/129", "1.2.3.4/8/8"])
    func badNetworks(_ text: String) {
        #expect(IPNetwork(text) == nil)
    }

    @Test func secretsDoNotPrint() {
        let secret = Secret("hunter2")
        var dumped = ""
        dump([secret], to: &dumped)
        #expect(!"\(secret) \(String(reflecting: secret)) \(dumped)".contains("hunter2"))
        #expect(secret.revealed == "hunter2")
    }

    @Test func instantsSaturate() {
        #expect(Instant.never + .seconds(1) == .never)
        #expect(Instant.zero + .milliseconds(1500) - (.zero + .seconds(1)) == .milliseconds(500))
    }
}
