// What a call sends: messages of its steps, retransmissions over UDP, built-in messages.

import Basics
import SIP

extension ScenarioCall {
    /// Sends a step's message; false when the call waits or is over.
    func send(_ step: Step, _ sending: Step.Sending) -> Bool {
        // The one before is still being repeated: this one waits until it is answered.
        guard retransmitAt == .never else { return false }
        let template = sending.template
        if !template.isACK, !template.isCANCEL, !template.isResponse { cSeq += 1 }
        note(step)
        let buffer = run.buffer
        buffer.removeAll()
        expand(template, into: buffer, at: index)
        let isLost = isLost(step)
        if !isLost {
            switch run.send(buffer.octets, of: self) {
            case .sent: sendUntil = .never
            case .congested:
                statistics.count(\.warnings)
                fail(.outboundCongestion)
                return false
            case .failed:
                fail(.cannotSendMessage)
                return false
            }
        }
        remember("sent \(buffer.count) octets\(isLost ? ", lost on purpose" : "")")
        lastSent = buffer.array
        lastSentIndex = index
        lastSentIsInvite = template.isINVITE
        if template.isACK {
            isEstablished = true
            ackIsPending = false
        }
        if let transaction = sending.startsTransaction {
            branches[transaction] = Self.branch(of: lastSent)
            answers[transaction] = 0
        }
        if lastReceivedIndex >= 0, lastReceivedHash != 0 {
            answeredHash = lastReceivedHash
            answeredIndex = lastReceivedIndex
            answer = lastSent
            answerIndex = index
            lastReceivedHash = 0
        }
        if let delay = sending.retransmission, settings.isUDP, settings.retransmits {
            retransmissionDelay = delay
            retransmissions = 0
            retransmitAt = run.now + .milliseconds(bounded: delay)
        }
        statistics.steps[index].sent += 1
        guard act(step, message: nil) else { return false }
        index = after(step)
        return true
    }

    /// Repeats the last message that is not answered yet; false when that was the last time and the call is over or elsewhere.
    func retransmit() -> Bool {
        retransmissions += 1
        let most = min(lastSentIsInvite ? settings.maxInvite : settings.maxNonInvite, settings.maxRetransmissions)
        guard retransmissions <= most else {
            retransmitAt = .never
            return givesUp()
        }
        retransmissionDelay *= 2
        if !lastSentIsInvite { retransmissionDelay = min(retransmissionDelay, settings.t2) }
        retransmitAt = run.now + .milliseconds(bounded: retransmissionDelay)
        if !isLost(scenario.steps[lastSentIndex]) { _ = lastSent.withUnsafeBytes { run.send($0, of: self) } }
        statistics.steps[lastSentIndex].sentAgain += 1
        statistics.count(\.retransmissions)
        remember("retransmission \(retransmissions)")
        return true
    }

    private func givesUp() -> Bool {
        statistics.steps[lastSentIndex].timeouts += 1
        if let next = scenario.steps[lastSentIndex].common.timeoutNext {
            run.warn(
                "Call-Id: \(text(id)): no answer to message \(lastSentIndex) after all retransmissions; going on at label \(next)"
            )
            pausedUntil = .never
            index = next
            if next >= scenario.steps.count { fail(.maxUDPRetrans) } else { go() }
            return false
        }
        run.warn("Aborting call on UDP retransmission timeout for Call-ID '\(text(id))'")
        fail(.maxUDPRetrans, sayingGoodbye: true)
        return false
    }

    /// Sends one of the built-in messages, with the branch of the message before for an ACK that belongs to its INVITE.
    func sendDefault(_ message: DefaultMessage, branchOfLast: Bool = false) {
        let buffer = run.buffer
        buffer.removeAll()
        expand(run.defaultMessage(message), into: buffer, at: branchOfLast ? max(lastSentIndex, 0) : index + 1)
        _ = run.send(buffer.octets, of: self)
    }

    /// The branch parameter of the first Via of a message of ours.
    static func branch(of octets: [UInt8]) -> [UInt8] {
        guard let message = try? Message(parsing: octets), let via = try? message.topVia() else { return [] }
        return Array(via.branch)
    }

    func text(_ octets: some Collection<UInt8>) -> String { String(decoding: octets, as: UTF8.self) }
}
