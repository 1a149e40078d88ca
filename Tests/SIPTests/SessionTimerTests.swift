// Session timers (RFC 4028) over two whole ends in virtual time: who refreshes, with what, and what happens when nobody does; field
// reports B077 and B078.

import Basics
import SIP
import Testing

struct SessionTimerTests {
    private let update = "Allow: INVITE, ACK, BYE, UPDATE\r\nSupported: timer\r\n"
    private let plain = "Allow: INVITE, ACK, BYE\r\nSupported: timer\r\n"

    private func pair(caller: String, callee: String, asks: Int? = nil, minimum: Int = 90) -> CallPair {
        var pair = CallPair()
        pair.ends[0] = SessionEndpoint("192.0.2.1:5060", seed: 21, rows: caller)
        pair.ends[1] = SessionEndpoint("192.0.2.2:5060", seed: 22, rows: callee)
        pair.ends[0].timer = SessionTimer.Settings(interval: asks)
        pair.ends[1].timer = SessionTimer.Settings(minimum: minimum)
        pair.ends[0].place(at: pair.now)
        pair.run(for: .seconds(1))
        return pair
    }

    private func value(_ message: Message?, _ kind: HeaderKind) -> String { message?.header(kind) ?? "" }

    @Test func `the caller refreshes by UPDATE at half of the interval, again and again (B077)`() {
        var pair = pair(caller: update, callee: update, asks: 90)
        #expect(value(pair.sent(0, .invite).first, .sessionExpires) == "90")
        #expect(value(pair.sent(1, status: 200).first, .sessionExpires) == "90;refresher=uac")
        #expect(pair.sent(1, status: 200).first?.lists(.require, "timer") == true)
        pair.run(for: .seconds(43))
        #expect(pair.sent(0, .update).isEmpty)
        pair.run(for: .seconds(2))
        #expect(pair.sent(0, .update).count == 1)
        #expect(value(pair.sent(0, .update).first, .sessionExpires) == "90;refresher=uac")
        pair.run(for: .seconds(600))
        #expect(pair.sent(0, .update).count > 12)
        #expect(pair.sent(1, .update).isEmpty, "roles stay")
        #expect(pair.ends.allSatisfy { $0.session?.state == .confirmed })
    }

    @Test func `without UPDATE in Allow the refresh is a re-INVITE`() {
        var pair = pair(caller: update, callee: plain, asks: 90)
        pair.run(for: .seconds(50))
        #expect(pair.sent(0, .update).isEmpty)
        #expect(pair.sent(0, .invite).count == 2)
        #expect(value(pair.sent(0, .invite).last, .sessionExpires) == "90;refresher=uac")
        #expect(pair.ends[0].session?.sessionTimer.state == .ours)
    }

    @Test func `the called end refreshes when the INVITE says so, and the roles stay (B078)`() {
        var pair = CallPair()
        pair.ends[0] = SessionEndpoint("192.0.2.1:5060", seed: 21, rows: update)
        pair.ends[1] = SessionEndpoint("192.0.2.2:5060", seed: 22, rows: update)
        pair.ends[0].inviteRows = Array("Session-Expires: 90;refresher=uas\r\n".utf8)
        pair.ends[0].place(at: pair.now)
        pair.run(for: .seconds(400))
        #expect(value(pair.sent(1, status: 200).first, .sessionExpires) == "90;refresher=uas")
        #expect(pair.sent(1, .update).count >= 8)
        #expect(pair.sent(1, .update).allSatisfy { value($0, .sessionExpires) == "90;refresher=uac" })
        #expect(pair.sent(0, .update).isEmpty)
    }

    @Test func `a caller that knows no timers is refreshed by the called end that wants one`() {
        var pair = CallPair()
        pair.ends[0] = SessionEndpoint("192.0.2.1:5060", seed: 21, rows: "Allow: INVITE, ACK, BYE\r\n")
        pair.ends[1] = SessionEndpoint("192.0.2.2:5060", seed: 22, rows: plain)
        pair.ends[1].timer = SessionTimer.Settings(interval: 120)
        pair.ends[0].place(at: pair.now)
        pair.run(for: .seconds(70))
        let answer = pair.sent(1, status: 200).first
        #expect(value(answer, .sessionExpires) == "120;refresher=uas")
        #expect(answer?.has(.require) == false)
        #expect(pair.sent(1, .invite).count == 1)
    }

    @Test func `an interval that is too short is refused with 422 and Min-SE`() {
        let pair = pair(caller: update, callee: update, asks: 90, minimum: 300)
        #expect(value(pair.sent(1, status: 422).first, .minSE) == "300")
        var timer = SessionTimer(SessionTimer.Settings(interval: 90))
        let refusal = pair.sent(1, status: 422)[0]
        let isRaised = timer.raise(by: refusal)
        #expect(isRaised)
        #expect(String(decoding: timer.requestRows(), as: UTF8.self) == "Session-Expires: 300\r\nMin-SE: 300\r\n")
        let isRaisedAgain = timer.raise(by: refusal)
        #expect(!isRaisedAgain, "the same 422 again ends the matter")
    }

    @Test func `a session that nobody refreshes ends with BYE near its end, not at half of it`() {
        var pair = pair(caller: update, callee: update, asks: 90)
        // The refresher falls silent.
        pair.ends[0].session = nil
        pair.run(for: .seconds(58))
        #expect(pair.sent(1, .bye).isEmpty)
        pair.run(for: .seconds(4))
        #expect(pair.sent(1, .bye).count >= 1)
        #expect(pair.ends[1].log.contains("ended notRefreshed"))
    }

    @Test func `without Session-Expires in the answer there is no timer`() {
        var pair = CallPair()
        pair.ends[0] = SessionEndpoint("192.0.2.1:5060", seed: 21, rows: update)
        pair.ends[0].timer = SessionTimer.Settings(interval: 90)
        pair.ends[0].place(at: pair.now)
        pair.run(for: .milliseconds(1))
        let invite = pair.sent(0, .invite)[0]
        var session = pair.ends[0].session!
        var actions: [SessionAction] = []
        session.received(response: vector(invite.response(200, tag: [65])), at: .zero, into: &actions)
        #expect(session.sessionTimer.state == .off)
        #expect(session.nextDeadline == .never)
    }

    @Test func `a refused hold costs no refresh, a refused refresh is tried again`() {
        var timer = SessionTimer(SessionTimer.Settings(interval: 90))
        let answer = pair(caller: update, callee: update, asks: 90).sent(1, status: 200)[0]
        timer.accepted(answer, at: .zero)
        timer.retry(after: .seconds(5), at: .zero)
        #expect(timer.nextDeadline == .zero + .seconds(45))
        let first = timer.fire(at: .zero + .seconds(45))
        timer.retry(after: .seconds(5), at: .zero + .seconds(45))
        let second = timer.fire(at: .zero + .seconds(50))
        let third = timer.fire(at: .zero + .seconds(60))
        #expect([first, second, third] == [.refresh, .refresh, .expired])
    }
}
