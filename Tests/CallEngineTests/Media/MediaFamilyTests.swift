// Audio of another address family than the signaling: taken where the sockets are for both.

import Basics
import CallEngine
import Reactor
import Testing

@Suite struct MediaFamilyTests {
    static let offer = """
        v=0\r
        o=- 1 1 IN IP6 2001:db8::5\r
        s=-\r
        c=IN IP6 2001:db8::5\r
        t=0 0\r
        m=audio 7000 RTP/AVP 0\r

        """

    func answer(_ bindTo: IPAddress, external: IPAddress? = nil) throws(MediaError) -> String {
        let world = MediaWorld()
        defer { world.end() }
        world.network.hostAddress6 = IPAddress("2001:db8::9")!
        let services = MediaServices(
            loop: world.loop, ports: 20000...20099, bindTo: bindTo, workers: world.workers, seed: 5)
        defer { services.close() }
        if let external { services.localIP = { _ in external } }
        let session = try MediaSession(
            services: services, settings: MediaSettings(digits: DigitInbox(), localIP: MediaWorld.rightIP))
        defer { session.close() }
        return String(decoding: try session.answer(Array(Self.offer.utf8)[...]), as: UTF8.self)
    }

    @Test func anOfferOfTheOtherFamilyIsAnsweredInIts() throws {
        let answer = try answer(.any6)
        #expect(answer.contains("c=IN IP6 2001:db8::9\r\n"))
        #expect(try self.answer(.any6, external: IPAddress("2001:db8::77")!).contains("c=IN IP6 2001:db8::77\r\n"))
    }

    @Test func socketsOfOneFamilyRefuseIt() {
        #expect(
            throws: MediaError.unsupported(
                "the session description has an address of another family than this end", warnCode: 301)
        ) {
            try answer(.any4)
        }
    }
}
