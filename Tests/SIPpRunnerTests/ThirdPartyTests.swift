// Third party call control: two ends that command each other, and three by name.

import Reactor
import SIPpRunner
import Testing

@Suite("SIPp runner: third party call control")
struct ThirdPartyTests {
    /// The master tells each slave to go on, and waits for both.
    static let master = XML.scenario(
        "<sendCmd dest=\"s1\"><![CDATA[\n  Call-ID: [call_id]\n  From: m\n  Go: one\n]]></sendCmd>"
            + "<recvCmd src=\"s1\"><action><ereg regexp=\"done\" search_in=\"hdr\" header=\"State:\" check_it=\"true\" assign_to=\"a\"/>"
            + "</action></recvCmd><sendCmd dest=\"s2\"><![CDATA[\n  Call-ID: [call_id]\n  From: m\n  Go: two\n]]></sendCmd>"
            + "<recvCmd src=\"s2\"/><nop><action><log message=\"[$a]\"/></action></nop>")
    static let slave = XML.scenario(
        "<recvCmd src=\"m\"><action><ereg regexp=\"one|two\" search_in=\"hdr\" header=\"Go:\" check_it=\"true\" assign_to=\"g\"/>"
            + "</action></recvCmd><nop><action><log message=\"[$g]\"/></action></nop>"
            + "<sendCmd dest=\"m\"><![CDATA[\n  Call-ID: [call_id]\n  From: [own]\n  State: done\n]]></sendCmd>")
    static let scenarios = [master, slave]

    @Test("extended: a master and two slaves")
    func extended() throws {
        let scene = try Scene()
        let places = try scene.folder.write("m;127.0.0.1:8000\ns1;127.0.0.1:8001\ns2;127.0.0.1:8002\n", "places.cfg")
        let one = try scene.start(
            Self.slave, ["-slave", "s1", "-slave_cfg", places, "-key", "own", "s1", "-m", "3", "127.0.0.1:9"])
        let two = try scene.start(
            Self.slave, ["-slave", "s2", "-slave_cfg", places, "-key", "own", "s2", "-m", "3", "127.0.0.1:9"])
        let master = try scene.start(Self.master, ["-master", "m", "-slave_cfg", places, "-m", "3", "127.0.0.1:9"])
        #expect(scene.play())
        #expect(master.status == 0)
        #expect(one.status == 0)
        #expect(two.status == 0)
        #expect(one.run.statistics.total.successful == 3)
    }

    @Test("the four embedded ends")
    func embedded() throws {
        let scene = try Scene()
        let a = try scene.start(nil, ["-sn", "3pcc-A", "-m", "2"])
        let b = try scene.start(nil, ["-sn", "3pcc-B", "-m", "2"])
        let controllerB = try scene.start(nil, ["-sn", "3pcc-C-B", "-m", "2", "-3pcc", "127.0.0.1:8100"], to: b)
        let controllerA = try scene.start(nil, ["-sn", "3pcc-C-A", "-m", "2", "-3pcc", "127.0.0.1:8100"], to: a)
        #expect(scene.play())
        for party in [a, b, controllerA, controllerB] { #expect(party.status == 0) }
        #expect(b.run.statistics.total.successful == 2)
    }

    @Test("a twin that is not there ends the run")
    func alone() throws {
        let scene = try Scene()
        let controller = try scene.start(nil, ["-sn", "3pcc-C-A", "-m", "2", "-3pcc", "127.0.0.1:8100", "127.0.0.1:9"])
        scene.play()
        #expect(controller.status == 255)
        #expect(controller.run.fatalMessage?.contains("the twin instances are started before this one") == true)
    }
}
