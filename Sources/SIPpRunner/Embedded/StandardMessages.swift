// The built-in messages of a call that is given up or answers by itself: what `DefaultMessage` replaces.

extension EmbeddedScenarios {
    /// The standard text of a built-in message.
    static func standard(_ message: DefaultMessage) -> Template {
        let text: String
        switch message {
        case .ack: text = request("ACK", via: "[last_Via:]", cSeq: "[last_cseq_number] ACK")
        case .ack2: text = request("ACK", via: own, cSeq: "[last_cseq_number] ACK")
        case .bye: text = request("BYE", via: own, cSeq: "[last_cseq_number+1] BYE")
        case .cancel: text = request("CANCEL", via: "[last_Via:]", cSeq: "[last_cseq_number] CANCEL")
        case .ok:
            text =
                "SIP/2.0 200 OK\n[last_Via:]\n[last_From:]\n[last_To:]\n[last_Call-ID:]\n[last_CSeq:]\nContact: <sip:[local_ip]:[local_port];transport=[transport]>\nContent-Length: 0\n"
        case .abort: text = "Call-ID: [call_id]\ninternal-cmd: abort_call\n"
        }
        var variables = VariableTable()
        guard let template = try? TemplateReader(file: "built-in").message(Array(text.utf8), line: 0, &variables) else {
            preconditionFailure("the built-in messages can be read")
        }
        return template
    }

    private static let own = "Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]"

    private static func request(_ method: String, via: String, cSeq: String) -> String {
        let to = method == "CANCEL" ? "To: <[last_Request_URI]>" : "[last_To:]"
        return
            "\(method) [last_Request_URI] SIP/2.0\n\(via)\n[last_From:]\n\(to)\n[last_Call-ID:]\nCSeq: \(cSeq)\nMax-Forwards: 70\nContact: <sip:sipp@[local_ip]:[local_port];transport=[transport]>\nContent-Length: 0\n"
    }
}
