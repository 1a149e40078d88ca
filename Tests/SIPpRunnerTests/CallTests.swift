// Whole calls of scenarios against each other, in virtual time.

import Reactor
import SIPpRunner
import Testing

@Suite("SIPp runner: calls")
struct CallTests {
    @Test("the embedded uac and uas do 100 calls")
    func embedded() throws {
        let scene = try Scene()
        let called = try scene.start(nil, ["-sn", "uas", "-m", "100"])
        let caller = try scene.start(nil, ["-sn", "uac", "-m", "100", "-r", "50", "-d", "200"], to: called)
        #expect(scene.play())
        #expect(caller.status == 0)
        #expect(called.status == 0)
        #expect(caller.run.statistics.total.successful == 100)
        #expect(called.run.statistics.total.incoming == 100)
        #expect(caller.run.statistics.steps.map(\.sent)[0] == 100)
        #expect(caller.run.statistics.total.retransmissions == 0)
        #expect(scene.loop.openSockets == 0)
    }

    @Test("lost datagrams are sent again, and no call fails by that", arguments: 1...5)
    func loss(_ seed: Int) throws {
        let scene = try Scene(seed: UInt64(seed))
        scene.loop.network.impairment.loss = 0.1
        let called = try scene.start(XML.called, ["-m", "40", "-timeout", "120"])
        let caller = try scene.start(
            XML.caller, ["-m", "40", "-r", "20", "-trace_err", "-error_file", scene.folder.path("errors.log")], to: called)
        #expect(scene.play())
        #expect(
            caller.status == 0,
            "seed \(seed): \(caller.run.statistics.total) \(caller.run.statistics.steps) \(scene.folder.text("errors.log"))")
        #expect(caller.run.statistics.total.successful == 40, "seed \(seed)")
        #expect(caller.run.statistics.total.retransmissions > 0, "seed \(seed)")
    }

    @Test("nobody there: five retransmissions, each after twice the time, then the call fails")
    func silence() throws {
        let scene = try Scene()
        let silent = try scene.start(XML.scenario("<recv request=\"INVITE\"/><recv request=\"ACK\"/>"), ["-timeout", "60", "-nd"])
        let caller = try scene.start(XML.caller, ["-m", "1"], to: silent)
        #expect(!scene.play())
        #expect(caller.status == 1)
        #expect(caller.run.statistics.steps[0].sentAgain == 5)
        #expect(caller.run.statistics.total.causes[FailureCause.maxUDPRetrans.rawValue] == 1)
        // 500 + 1000 + 2000 + 4000 + 8000 + 16000 ms, which the call's length tells.
        #expect(abs(caller.run.statistics.lengths.total.mean - 31_500) < 2)
    }

    @Test("a response whose CSeq has a method that was not sent fits no step", arguments: [("OPTIONS", 0), ("FOO", 1)])
    func otherMethod(_ method: String, _ status: Int32) throws {
        let scene = try Scene()
        let called = try scene.start(
            XML.scenario(
                "<recv request=\"OPTIONS\"/>" + XML.response("200 OK").replacing("[last_CSeq:]", with: "CSeq: 1 \(method)")),
            ["-m", "1"])
        let caller = try scene.start(
            XML.scenario(XML.request("OPTIONS", cSeq: "1") + "<recv response=\"200\"/>"), ["-m", "1", "-recv_timeout", "1000"],
            to: called)
        scene.play()
        #expect(caller.status == status)
    }

    @Test("a scenario that turns in a circle leaves the loop to the others")
    func circle() throws {
        let scene = try Scene()
        let circle = try scene.start(
            XML.scenario(XML.request("OPTIONS") + "<label id=\"1\"/><nop next=\"1\"/><recv response=\"200\"/>"), ["-m", "1"],
            to: scene.start(nil, ["-sn", "uas", "-m", "1", "-timeout", "1"]))
        scene.loop.run(for: .seconds(1))
        #expect(circle.status == nil)
        circle.run.quitAtOnce()
        scene.loop.run(for: .seconds(1))
        #expect(circle.status != nil)
    }

    @Test("a refusal that no step waits for is acknowledged, and the call fails")
    func refused() throws {
        let scene = try Scene()
        let called = try scene.start(
            XML.scenario(
                "<recv request=\"INVITE\"/>" + XML.response("486 Busy Here", "retrans=\"500\"") + "<recv request=\"ACK\"/>"),
            ["-m", "1"])
        let caller = try scene.start(XML.caller, ["-m", "1"], to: called)
        #expect(scene.play())
        #expect(called.status == 0)
        #expect(caller.status == 1)
        #expect(caller.run.statistics.total.causes[FailureCause.unexpectedMessage.rawValue] == 1)
        #expect(caller.run.statistics.steps[1].unexpected == 1)
    }

    @Test("an unexpected BYE gets its 200 and fails the call; with -nd it is overlooked", arguments: [false, true])
    func unexpectedBye(_ isOff: Bool) throws {
        let scene = try Scene()
        let called = try scene.start(
            XML.scenario(
                "<recv request=\"INVITE\"/>" + XML.response("200 OK", "retrans=\"500\"") + "<recv request=\"ACK\"/>"
                    + """
                    <send><![CDATA[
                      BYE sip:caller@127.0.0.1 SIP/2.0
                      Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
                      From: <sip:a@b>;tag=s[call_number]
                      To: <sip:c@d>[peer_tag_param]
                      Call-ID: [call_id]
                      CSeq: 1 BYE
                      Content-Length: 0
                    ]]></send><recv response="200" timeout="1000" ontimeout="end"/><label id="end"/><nop/>
                    """), ["-m", "1"])
        let caller = try scene.start(
            XML.scenario(
                XML.request("INVITE", "retrans=\"500\"", toTag: false) + "<recv response=\"200\"/>" + XML.request("ACK")
                    + "<pause milliseconds=\"3000\"/>"), ["-m", "1"] + (isOff ? ["-nd"] : []), to: called)
        #expect(scene.play())
        #expect(caller.status == (isOff ? 0 : 1))
        #expect(called.run.statistics.steps[4].received == (isOff ? 0 : 1))
        #expect(caller.run.statistics.steps[3].unexpected == 1)
    }

    @Test("-l bounds the calls at a time; what it kept back is not made up for")
    func limit() throws {
        let scene = try Scene()
        let called = try scene.start(XML.called, ["-timeout", "20"])
        let caller = try scene.start(
            XML.caller.replacing("milliseconds=\"100\"", with: "milliseconds=\"1000\""),
            ["-r", "10", "-l", "2", "-timeout", "10"], to: called)
        #expect(scene.play())
        #expect(caller.run.statistics.peak == 2)
        #expect((15...20).contains(caller.run.statistics.created))
    }

    @Test("a stranger's request is answered by the scenario of -oocsn, and counted", arguments: [true, false])
    func stranger(_ isAnswered: Bool) throws {
        let scene = try Scene()
        let called = try scene.start(XML.called, ["-m", "1"])
        let caller = try scene.start(
            XML.caller.replacing("milliseconds=\"100\"", with: "milliseconds=\"3000\""),
            ["-m", "1"] + (isAnswered ? ["-oocsn", "ooc_default"] : []), to: called)
        let stranger = try scene.start(
            XML.scenario(
                "<pause milliseconds=\"500\"/>" + XML.request("OPTIONS", "", toTag: false)
                    + "<recv response=\"200\" timeout=\"1000\"/>"), ["-m", "1", "-cid_str", "stranger-%u"], to: caller)
        #expect(scene.play())
        #expect(stranger.status == (isAnswered ? 0 : 1))
        #expect(caller.status == 0)
        #expect(caller.run.statistics.total.outOfCall == 1)
        #expect(caller.run.statistics.created == 1)
    }

    @Test("-users keeps so many calls open")
    func users() throws {
        let scene = try Scene()
        let called = try scene.start(XML.called, ["-timeout", "20"])
        let caller = try scene.start(XML.caller, ["-users", "5", "-m", "50"], to: called)
        #expect(scene.play())
        #expect(caller.status == 0)
        #expect(caller.run.statistics.peak == 5)
        #expect(caller.run.statistics.created == 50)
    }

    @Test("over TCP, with one connection and with one a call", arguments: ["t1", "tn"])
    func streams(_ mode: String) throws {
        let scene = try Scene()
        let called = try scene.start(nil, ["-sn", "uas", "-m", "20", "-t", mode])
        let caller = try scene.start(nil, ["-sn", "uac", "-m", "20", "-r", "50", "-t", mode], to: called)
        #expect(scene.play())
        #expect(caller.status == 0)
        #expect(called.status == 0)
    }
}
