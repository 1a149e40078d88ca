#!/usr/bin/env python3
"""kill -9 during a campaign, at random instants, again and again: no number is called twice, none is forgotten, and a call that was in
the air is reported as such.

    python3 Fuzz/campaign_kills.py PROGRAM [--calls 5000] [--kills 200] [--seed N]

PROGRAM is the built `ringwright`. The other side is in this file: it answers every INVITE and counts whom it was for.
"""
import argparse, collections, json, os, random, re, signal, socket, subprocess, sys, tempfile, threading, time

FLOW = """flow: killed
direction: outbound
sections:
  call:
    - answer: { timeout: 10s }
    - wait: 50ms
    - hangup
"""


class Callee(threading.Thread):
    """Answers INVITE and BYE; remembers the Call-IDs of each number."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.calls = collections.defaultdict(set)

    def run(self):
        while True:
            data, peer = self.socket.recvfrom(65535)
            text = data.decode(errors="replace")
            method, uri = (text.split(" ", 2) + ["", ""])[:2]
            if method not in ("INVITE", "BYE", "CANCEL"):
                continue
            rows = dict()
            for line in text.split("\r\n\r\n")[0].split("\r\n")[1:]:
                name, _, value = line.partition(":")
                rows.setdefault(name.strip().lower(), value.strip())
            if method == "INVITE":
                self.calls[re.match(r"sip:([^@]*)@", uri).group(1)].add(rows["call-id"])
            tag = "" if "tag=" in rows["to"] else ";tag=x"
            body = ""
            if method == "INVITE":
                body = ("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
                        "m=audio 9 RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n")
            kind = "Content-Type: application/sdp\r\n" if body else ""
            self.socket.sendto(
                (f"SIP/2.0 200 OK\r\nVia: {rows['via']}\r\nFrom: {rows['from']}\r\nTo: {rows['to']}{tag}\r\n"
                 f"Call-ID: {rows['call-id']}\r\nCSeq: {rows['cseq']}\r\nContact: <sip:c@127.0.0.1:{self.port}>\r\n"
                 f"{kind}Content-Length: {len(body)}\r\n\r\n{body}").encode(), peer)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    chance = random.Random(options.seed)
    callee = Callee()
    callee.start()
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/flow.yaml", "w") as file:
            file.write(FLOW)
        with open(f"{folder}/list.csv", "w") as file:
            file.write("number\n" + "".join(f"{n}\n" for n in range(1, options.calls + 1)))
        first = chance.randrange(10000, 14000) * 4
        # So slow that it is not over before the last kill.
        rate = max(10, options.calls // max(1, options.kills // 5))
        command = [os.path.abspath(options.program), "campaign", "--list", "list.csv", "--flow", "flow.yaml",
                   "--to", "sip:${target.number}@127.0.0.1:%d" % callee.port, "--concurrency", "40", "--rate", str(rate),
                   "--report", "report", "--json", "--set", f"rtp.ports={first}-{first + 999}"]
        kills, ended_early = 0, 0
        while True:
            more = ["--resume"] if os.path.exists(f"{folder}/report/campaign.db") else []
            process = subprocess.Popen(command + more, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if kills < options.kills:
                # Most kills while calls run, some while the program starts.
                try:
                    process.wait(chance.uniform(0.01, 0.3))
                    ended_early += 1
                    break
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    kills += 1
                    continue
            break
        output, errors = process.communicate(timeout=600)
        bad = []
        try:
            summary = json.loads(output)
        except ValueError:
            print(errors.decode())
            return 1
        results = [json.loads(line) for line in open(f"{folder}/report/results.jsonl")]
        rows = collections.Counter(result["row"] for result in results)
        in_air = {result["row"] for result in results if result["ended"]["detail"].startswith("in the air")}
        twice = [number for number, calls in callee.calls.items() if len(calls) > 1]
        if twice:
            bad.append(f"called twice: {twice[:5]}")
        if sorted(rows) != list(range(1, options.calls + 1)) or max(rows.values()) > 1:
            bad.append("a row has no result, or two")
        never = {n for n in range(1, options.calls + 1) if str(n) not in callee.calls}
        if not never <= in_air:
            bad.append(f"forgotten: {sorted(never - in_air)[:5]}")
        if summary["in_the_air"] != len(in_air) or summary["error"] != len(in_air) or summary["waiting"]:
            bad.append(f"the summary does not add up: {summary}")
        if summary["passed"] + summary["failed"] + summary["error"] != options.calls:
            bad.append(f"the summary does not add up: {summary}")
        passed = {result["row"] for result in results if result["result"] == "passed"}
        if passed & never:
            bad.append("a call passed that was never made")
        if ended_early:
            bad.append(f"the campaign was over after {kills} kills")
        print(f"{options.calls} calls, {kills} kills, {summary['passed']} passed, {len(in_air)} in the air when killed, "
              f"{len(never)} of them not yet sent")
        for line in bad:
            print("WRONG:", line)
        return 1 if bad else 0


sys.exit(main())
