// The scenarios that come with the program, by the names that SIPp's have, put together of few parts: the same steps and the same
// messages on the wire as SIPp's, in our own words.

/// Scenarios by name.
package enum EmbeddedScenarios {
    private static var all: [(name: String, text: () -> String)] {
        [
            ("uac", uac), ("uas", uas), ("regexp", regexp), ("branchc", branchClient), ("branchs", branchServer),
            ("uac_pcap", uacPcap),
            ("3pcc-A", thirdPartyA), ("3pcc-B", thirdPartyB), ("3pcc-C-A", controllerA), ("3pcc-C-B", controllerB),
            ("ooc_default", outOfCall), ("ooc_dummy", outOfCallDummy)
        ]
    }

    package static var names: String { all.map(\.name).joined(separator: ", ") }
    package static var list: [String] { all.map(\.name) }

    /// The XML of a scenario; nil when there is none of that name.
    package static func text(_ name: String) -> String? { all.first { $0.name == name }?.text() }

    // MARK: Parts

    /// A file of these steps.
    private static func file(_ name: String, _ steps: [String], borders: Bool = true) -> String {
        var lines = [
            "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>", "<!DOCTYPE scenario SYSTEM \"sipp.dtd\">", "",
            "<scenario name=\"\(name)\">"
        ]
        lines += steps
        if borders {
            lines += [
                "  <ResponseTimeRepartition value=\"10, 20, 30, 40, 50, 100, 150, 200\"/>",
                "  <CallLengthRepartition value=\"10, 50, 100, 500, 1000, 5000, 10000\"/>"
            ]
        }
        return (lines + ["</scenario>"]).joined(separator: "\n") + "\n"
    }

    private static func send(_ attributes: String, _ lines: [String]) -> String {
        let text = lines.map { $0.isEmpty ? "" : "      \($0)" }.joined(separator: "\n")
        return "  <send\(attributes.isEmpty ? "" : " \(attributes)")>\n    <![CDATA[\n\n\(text)\n\n    ]]>\n  </send>\n"
    }

    private static func command(_ lines: [String]) -> String {
        "  <sendCmd>\n    <![CDATA[\n      Call-ID: [call_id]\n\(lines.map { "      \($0)" }.joined(separator: "\n"))\n\n    ]]>\n  </sendCmd>\n"
    }

    private static func receive(_ attributes: String, actions: [String] = []) -> String {
        guard !actions.isEmpty else { return "  <recv \(attributes)/>\n" }
        return
            "  <recv \(attributes)>\n    <action>\n\(actions.map { "      \($0)" }.joined(separator: "\n"))\n    </action>\n  </recv>\n"
    }

    private static let offer = [
        "Content-Type: application/sdp", "Content-Length: [len]", "", "v=0",
        "o=user1 53655765 2353687637 IN IP[local_ip_type] [local_ip]",
        "s=-", "c=IN IP[media_ip_type] [media_ip]", "t=0 0", "m=audio [media_port] RTP/AVP 0", "a=rtpmap:0 PCMU/8000"
    ]
    private static let nothing = ["Content-Length: 0"]
    private static let contact = "Contact: <sip:[local_ip]:[local_port];transport=[transport]>"

    /// A request of the calling end.
    private static func request(
        _ method: String, _ number: Int, tag: String, inDialog: Bool, _ rest: [String], more: [String] = []
    ) -> [String] {
        [
            "\(method) sip:[service]@[remote_ip]:[remote_port] SIP/2.0",
            "Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]",
            "From: sipp <sip:sipp@[local_ip]:[local_port]>;tag=[pid]SIPpTag\(tag)[call_number]",
            "To: [service] <sip:[service]@[remote_ip]:[remote_port]>\(inDialog ? "[peer_tag_param]" : "")", "Call-ID: [call_id]",
            "CSeq: \(number) \(method)"
        ] + more + ["Contact: sip:sipp@[local_ip]:[local_port]", "Max-Forwards: 70", "Subject: Performance Test"] + rest
    }

    /// A response; a tag makes a dialog.
    private static func response(_ status: String, tag: String?, _ rest: [String]) -> [String] {
        [
            "SIP/2.0 \(status)", "[last_Via:]", "[last_From:]",
            "[last_To:]\(tag.map { ";tag=[pid]SIPpTag\($0)[call_number]" } ?? "")",
            "[last_Call-ID:]", "[last_CSeq:]", contact
        ] + rest
    }

    private static let provisional = ["100", "180", "183"].map { receive("response=\"\($0)\" optional=\"true\"") }

    // MARK: Calling and called

    private static func uac() -> String {
        file(
            "Basic Sipstone UAC",
            [
                send("retrans=\"500\"", request("INVITE", 1, tag: "00", inDialog: false, offer))
            ] + provisional + [
                receive("response=\"200\" rtd=\"true\""), send("", request("ACK", 1, tag: "00", inDialog: true, nothing)),
                "  <pause/>\n",
                send("retrans=\"500\"", request("BYE", 2, tag: "00", inDialog: true, nothing)),
                receive("response=\"200\" crlf=\"true\"")
            ])
    }

    private static func uas() -> String {
        file(
            "Basic UAS responder",
            [
                receive("request=\"INVITE\" crlf=\"true\""), send("", response("180 Ringing", tag: "01", nothing)),
                send("retrans=\"500\"", response("200 OK", tag: "01", offer)),
                receive("request=\"ACK\" optional=\"true\" rtd=\"true\" crlf=\"true\""), receive("request=\"BYE\""),
                send("", response("200 OK", tag: nil, nothing)), "  <timewait milliseconds=\"4000\"/>\n"
            ])
    }

    private static func regexp() -> String {
        let searches = [
            "<ereg regexp=\"[0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}[:][0-9]{1,5}\" search_in=\"msg\" check_it=\"true\" assign_to=\"1\"/>",
            "<ereg regexp=\".*\" search_in=\"hdr\" header=\"Contact:\" check_it=\"true\" assign_to=\"6\"/>",
            "<ereg regexp=\"o=([[:alnum:]]*) ([[:alnum:]]*) ([[:alnum:]]*)\" search_in=\"msg\" check_it=\"true\" assign_to=\"3,4,5,8\"/>"
        ]
        let found = [
            "retrievedIp: [$1]", "retrievedContact:[$6]", "retrievedSdpOrigin:[$3]", "retrievedSdpOrigin-username:[$4]",
            "retrievedSdpOrigin-session-id:[$5]", "retrievedSdpOrigin-version:[$8]"
        ]
        return file(
            "Client with regexp scenario",
            [
                send("retrans=\"500\"", request("INVITE", 1, tag: "02", inDialog: false, offer))
            ] + provisional + [
                receive("response=\"200\" start_rtd=\"true\"", actions: searches),
                send("", request("ACK", 1, tag: "02", inDialog: true, nothing, more: found)),
                "  <pause milliseconds=\"1000\"/>\n",
                send("retrans=\"500\"", request("BYE", 2, tag: "02", inDialog: true, nothing)),
                receive("response=\"200\" crlf=\"true\" rtd=\"true\""),
                "  <ResponseTimeRepartition value=\"1000, 1040, 1080, 1120, 1160, 1200\"/>",
                "  <CallLengthRepartition value=\"1000, 1100, 1200, 1300, 1400\"/>"
            ], borders: false)
    }

    private static func uacPcap() -> String {
        let media = [
            "Content-Type: application/sdp", "Content-Length: [len]", "", "v=0",
            "o=user1 53655765 2353687637 IN IP[local_ip_type] [local_ip]", "s=-", "c=IN IP[local_ip_type] [local_ip]", "t=0 0",
            "m=audio [auto_media_port] RTP/AVP 8 101", "a=rtpmap:8 PCMA/8000", "a=rtpmap:101 telephone-event/8000",
            "a=fmtp:101 0-11,16"
        ]
        func play(_ name: String) -> String {
            "  <nop>\n    <action>\n      <exec play_pcap_audio=\"pcap/\(name)\"/>\n    </action>\n  </nop>\n"
        }
        return file(
            "UAC with media",
            [
                send("retrans=\"500\"", request("INVITE", 1, tag: "09", inDialog: false, media)),
                receive("response=\"100\" optional=\"true\""), receive("response=\"180\" optional=\"true\""),
                receive("response=\"200\" rtd=\"true\" crlf=\"true\""),
                send("", request("ACK", 1, tag: "09", inDialog: true, nothing)),
                play("g711a.pcap"), "  <pause milliseconds=\"8000\"/>\n", play("dtmf_2833_1.pcap"),
                "  <pause milliseconds=\"1000\"/>\n",
                send("retrans=\"500\"", request("BYE", 2, tag: "09", inDialog: true, nothing)),
                receive("response=\"200\" crlf=\"true\"")
            ])
    }

    // MARK: Branching

    private static func branchRequest(
        _ method: String, _ number: Int, from: String, to: String, tag: String, inDialog: Bool, _ rest: [String]
    ) -> [String] {
        [
            "\(method) sip:\(method == "REGISTER" ? "" : "ua2@")CA.cym.com SIP/2.0",
            "Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]",
            "From: \(from) <sip:ua1@nnl.cym:[local_port]>;tag=[pid]SIPpTag\(tag)[call_number]",
            "To: \(to)\(inDialog ? "[peer_tag_param]" : "")", "Call-ID: [call_id]", "CSeq: \(number) \(method)",
            "Contact: sip:ua1@[local_ip]:[local_port]"
        ] + rest
    }

    private static func branchClient() -> String {
        let called = "ua2 <sip:ua2@nnl.cym:[remote_port]>"
        let common = ["Max-Forwards: 70", "Subject: Performance Test"]
        return file(
            "branch_client",
            [
                send(
                    "retrans=\"500\"",
                    branchRequest(
                        "REGISTER", 1, from: "ua1", to: "ua1 <sip:ua1@nnl.cym:[local_port]>", tag: "07", inDialog: false,
                        nothing + ["Expires: 300"])), receive("response=\"200\" rtd=\"true\" next=\"5\""),
                receive("response=\"200\""),
                "  <label id=\"5\"/>\n",
                send(
                    "retrans=\"500\"",
                    branchRequest("INVITE", 1, from: "ua[call_number]", to: called, tag: "07b", inDialog: false, common + offer))
            ] + provisional + [
                receive("response=\"403\" optional=\"true\" next=\"1\""),
                receive(
                    "response=\"200\"", actions: ["<ereg regexp=\"ua25\" search_in=\"hdr\" header=\"From: \" assign_to=\"8\"/>"]),
                send(
                    "next=\"1\" test=\"8\"",
                    branchRequest("ACK", 1, from: "ua1", to: called, tag: "07b", inDialog: true, common + nothing)),
                "  <pause milliseconds=\"5000\"/>\n", "  <label id=\"1\"/>\n",
                send(
                    "retrans=\"500\"",
                    branchRequest("BYE", 2, from: "ua1", to: called, tag: "07b", inDialog: true, common + nothing)),
                receive("response=\"200\" crlf=\"true\""), "  <pause milliseconds=\"4000\"/>\n"
            ])
    }

    private static func branchServer() -> String {
        file(
            "branch_server",
            [
                receive("request=\"REGISTER\""), send("", response("200 OK", tag: "08", nothing + ["Expires: 300"])),
                receive(
                    "request=\"INVITE\" crlf=\"true\"",
                    actions: ["<ereg regexp=\"ua2\" search_in=\"hdr\" header=\"From: \" assign_to=\"3\"/>"]),
                send("next=\"1\" test=\"3\"", response("180 Ringing", tag: "08b", nothing)),
                send("next=\"2\"", response("403 Error", tag: "08b", nothing)), "  <label id=\"1\"/>\n",
                send("", response("100 Trying", tag: "08b", nothing)),
                send("retrans=\"500\"", response("200 OK", tag: "08b", offer)),
                receive("request=\"ACK\" optional=\"true\" rtd=\"true\" crlf=\"true\""), "  <label id=\"2\"/>\n",
                receive("request=\"BYE\""),
                send("", response("200 OK", tag: nil, nothing)), "  <timewait milliseconds=\"4000\"/>\n"
            ])
    }

    // MARK: Third party call control

    private static func heard(_ variable: Int) -> String {
        "<ereg regexp=\"Content-Type:.*\" search_in=\"msg\" assign_to=\"\(variable)\"/>"
    }

    private static func commanded(_ variable: Int) -> String {
        "  <recvCmd>\n    <action>\n      \(heard(variable))\n    </action>\n  </recvCmd>\n"
    }

    private static func controllerA() -> String {
        file(
            "3PCC Controller - A side",
            [
                send("retrans=\"500\"", request("INVITE", 1, tag: "03", inDialog: false, nothing))
            ] + provisional + [
                receive("response=\"200\" crlf=\"true\" start_rtd=\"true\"", actions: [heard(1)]), command(["[$1]"]),
                commanded(2),
                send("rtd=\"true\"", request("ACK", 1, tag: "03", inDialog: true, ["[$2]"])),
                "  <pause milliseconds=\"1000\"/>\n",
                send("retrans=\"500\"", request("BYE", 2, tag: "03", inDialog: true, nothing)),
                receive("response=\"200\" crlf=\"true\"")
            ], borders: false)
    }

    private static func controllerB() -> String {
        file(
            "3PCC Controller - B side",
            [
                commanded(1), send("retrans=\"500\"", request("INVITE", 1, tag: "04", inDialog: false, ["[$1]"]))
            ] + provisional + [
                receive("response=\"200\" crlf=\"true\"", actions: [heard(2)]),
                send("start_rtd=\"true\"", request("ACK", 1, tag: "04", inDialog: true, nothing)), command(["[$2]"]),
                "  <pause milliseconds=\"1000\"/>\n",
                send("retrans=\"500\" rtd=\"true\"", request("BYE", 2, tag: "04", inDialog: true, nothing)),
                receive("response=\"200\" crlf=\"true\"")
            ], borders: false)
    }

    private static func thirdParty(_ name: String, tag: String) -> String {
        file(
            name,
            [
                receive("request=\"INVITE\" crlf=\"true\""), send("", response("200 OK", tag: tag, offer)),
                receive("request=\"ACK\" rtd=\"true\" crlf=\"true\""), receive("request=\"BYE\" crlf=\"true\""),
                send("", response("200 OK", tag: nil, nothing)), "  <timewait milliseconds=\"2000\"/>\n"
            ], borders: false)
    }

    private static func thirdPartyA() -> String { thirdParty("3PCC A side", tag: "05") }
    private static func thirdPartyB() -> String { thirdParty("3PCC B side", tag: "06") }

    // MARK: Strangers

    private static func outOfCall() -> String {
        file(
            "Out-of-call UAS",
            [
                receive("request=\".*\" regexp_match=\"true\""), send("", response("200 OK", tag: nil, nothing)),
                "  <timewait milliseconds=\"4000\"/>\n"
            ])
    }

    private static func outOfCallDummy() -> String { file("Out-of-call UAS", [receive("request=\"DUMMY\"")]) }
}
