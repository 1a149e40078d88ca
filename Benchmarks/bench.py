"""What `scripts/bench` runs: Ringwright beside SIPp and beside the machine's floor, in one run.

Every figure is CPU time of the measured process (user and system, from /proc/PID/stat, or from the schedstat of its threads where only a
part of its life counts) or a count that the process printed. Each process is pinned to a core of its own: the answering side to the
first, the calling side to the second.
"""

import argparse
import csv
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROMPT = os.path.join(HERE, "..", "prompts", "hold-music.wav")
TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Process:
    """A measured process: pinned to a core, with its output in a file, its CPU time read while it lives."""

    def __init__(self, command, core, folder):
        self.output_path = tempfile.mktemp(dir=folder)
        self.output = open(self.output_path, "wb")
        self.child = subprocess.Popen(
            ["taskset", "-c", str(core)] + command, stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output, cwd=folder)

    def cpu(self):
        """Seconds of user and system time so far."""
        with open(f"/proc/{self.child.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def precise_cpu(self):
        """Seconds of CPU time of the threads that live, to the nanosecond: for differences between two looks."""
        tasks = f"/proc/{self.child.pid}/task"
        total = 0
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/schedstat") as schedstat:
                total += int(schedstat.read().split()[0])
        return total / 1e9

    def resident(self):
        """Resident memory in bytes."""
        with open(f"/proc/{self.child.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def wait_for(self, text, seconds=20):
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            if text in self.text():
                return
            if self.child.poll() is not None:
                break
            time.sleep(0.02)
        raise RuntimeError(f"{self.child.args} did not say {text!r}:\n{self.text()[-2000:]}")

    def text(self):
        self.output.flush()
        with open(self.output_path, errors="replace") as output:
            return output.read()

    def finish(self, seconds):
        """Waits for the end; returns CPU seconds at the last look while it lived, and the exit status (None when it was cut)."""
        limit, used = time.monotonic() + seconds, 0.0
        while self.child.poll() is None:
            if time.monotonic() > limit:
                self.stop()
                return used, None
            try:
                used = self.cpu()
            except (FileNotFoundError, ProcessLookupError, IndexError):
                pass
            time.sleep(0.01)
        return used, self.child.returncode

    def stop(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGKILL)
            self.child.wait()


def sipp_counts(text):
    """Successful and failed calls and retransmissions from SIPp's last screen."""
    def last(pattern):
        found = re.findall(pattern, text)
        return int(found[-1]) if found else None
    return {
        "successful": last(r"Successful call\s*\|\s*\d+\s*\|\s*(\d+)"),
        "failed": last(r"Failed call\s*\|\s*\d+\s*\|\s*(\d+)"),
    }


class Side:
    """One end of a measurement: how it is started, and what it says about its calls."""

    def __init__(self, name, command, ready=None, counts=None):
        self.name, self.command, self.ready, self.counts = name, command, ready, counts


def sipp_uas(port, media=None):
    arguments = ["sipp", "-sn", "uas", "-i", "127.0.0.1", "-p", str(port), "-nostdin"]
    if media:
        arguments += ["-rtp_echo", "-mp", str(media)]
    return Side("sipp", arguments)


def sipp_uac(target, rate, count, scenario=None, hold=0):
    arguments = ["sipp", f"127.0.0.1:{target}", "-i", "127.0.0.1", "-p", str(free_port()), "-r", str(rate), "-l", "15000",
                 "-m", str(count), "-d", str(hold), "-nostdin"]
    arguments += ["-sf", scenario] if scenario else ["-sn", "uac"]
    return Side("sipp", arguments, counts=sipp_counts)


def bench_answer(program, port, media=False, more=()):
    return Side("ringwright", [program, "answer", "--port", str(port)] + (["--media", media] if media else []) + list(more),
                ready="ready")


def bench_place(program, target, rate, count, media=False, hold=0, more=()):
    arguments = [program, "place", "--target", str(target), "--rate", str(rate), "--calls", str(count), "--hold", str(hold)]
    return Side("ringwright", arguments + (["--media", media] if media else []) + list(more),
                counts=lambda text: json.loads(text.strip().splitlines()[-1]))


def measure(answerer, caller, count, seconds, folder, steady=None):
    """Runs both sides; CPU microseconds a call of each and the caller's own counts. `steady` (from, until), in seconds after the
    caller's start: only that time counts, and what is told is for a call and second of it."""
    server = Process(answerer.command, 0, folder)
    try:
        if answerer.ready:
            server.wait_for(answerer.ready)
        else:
            time.sleep(0.7)
        before = server.cpu()
        resident_before = server.resident()
        client = Process(caller.command, 1, folder)
        if steady:
            time.sleep(steady[0])
            first = time.monotonic(), server.precise_cpu(), client.precise_cpu()
            time.sleep(steady[1] - steady[0])
            last = time.monotonic(), server.precise_cpu(), client.precise_cpu()
            served, placed = ((last[side] - first[side]) / (last[0] - first[0]) for side in (1, 2))
        used, status = client.finish(seconds)
        time.sleep(0.2)
        if not steady:
            served, placed = server.cpu() - before, used
        result = {
            "answering": answerer.name, "calling": caller.name, "calls": count,
            "answer_us": round(served * 1e6 / count, 1), "place_us": round(placed * 1e6 / count, 1),
            "status": status, "server_rss_mb": round(server.resident() / 1e6, 1), "server_rss_before_mb": round(resident_before / 1e6, 1),
        }
        try:
            result.update(caller.counts(client.text()))
        except (ValueError, IndexError):
            result["failed"] = None
        return result
    finally:
        server.stop()


def signaling(program, folder, rate, count, rounds):
    """CPU a call: SIPp against itself, SIPp calling Ringwright, Ringwright calling SIPp, Ringwright against itself; the same where
    each message goes to the kernel by itself (`sip.segmentation: off`)."""
    rows = []
    pairs = [("sipp", "sipp"), ("ringwright", "sipp"), ("sipp", "ringwright"), ("ringwright", "ringwright"),
             ("unsegmented", "sipp"), ("sipp", "unsegmented")]
    for _ in range(rounds):
        for answering, calling in pairs:
            port = free_port()
            more = ["--unsegmented"] if "unsegmented" in (answering, calling) else []
            answerer = sipp_uas(port) if answering == "sipp" else bench_answer(program, port, more=more)
            caller = sipp_uac(port, rate, count) if calling == "sipp" else bench_place(program, port, rate, count, more=more)
            row = measure(answerer, caller, count, 60, folder)
            row.update(answering=answering, calling=calling)
            rows.append(row)
            print(json.dumps(row), flush=True)
    def median(side, name, other):
        values = [row[side] for row in rows if row["answering" if side == "answer_us" else "calling"] == name
                  and row["calling" if side == "answer_us" else "answering"] == other]
        return statistics.median(values)
    sipp_answer, sipp_place = median("answer_us", "sipp", "sipp"), median("place_us", "sipp", "sipp")
    ours_answer, ours_place = median("answer_us", "ringwright", "sipp"), median("place_us", "ringwright", "sipp")
    summary = {"rate": rate, "sipp_answer_us": sipp_answer, "ringwright_answer_us": ours_answer,
               "answer_ratio": round(ours_answer / sipp_answer, 2), "sipp_place_us": sipp_place,
               "ringwright_place_us": ours_place, "place_ratio": round(ours_place / sipp_place, 2),
               "unsegmented_answer_us": median("answer_us", "unsegmented", "sipp"),
               "unsegmented_place_us": median("place_us", "unsegmented", "sipp")}
    print("signaling:", json.dumps(summary), flush=True)
    return summary


def transports(program, folder, rate, count, rounds):
    """CPU a call over UDP, also with each message by itself, TCP and TLS with one connection for all calls, both ends Ringwright; then TLS
    with a connection a call."""
    certificate, key = os.path.join(folder, "certificate.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    server, client = ["--certificate", certificate, "--key", key], ["--ca", certificate]
    rows = []

    def run(name, rate, count, more=()):
        port = free_port()
        way = ["--transport", "udp", "--unsegmented"] if name == "unsegmented" else ["--transport", name]
        row = measure(bench_answer(program, port, more=way + server + list(more)),
                      bench_place(program, port, rate, count, more=way + client + list(more)), count, 90, folder)
        row["transport"] = name
        print(json.dumps(row), flush=True)
        return row

    for _ in range(rounds):
        rows += [run(name, rate, count) for name in ["udp", "unsegmented", "tcp", "tls"]]
    summary = {"rate": rate}
    for name in ["udp", "unsegmented", "tcp", "tls"]:
        for side in ["answer_us", "place_us"]:
            summary[f"{name}_{side}"] = statistics.median(row[side] for row in rows if row["transport"] == name)
    for side in ["answer", "place"]:
        for name in ["udp", "unsegmented"]:
            summary[f"{side}_ratio_to_{name}"] = round(summary[f"tls_{side}_us"] / summary[f"{name}_{side}_us"], 2)
    alone = run("tls", 200, 3000, ["--spread"])
    summary["connection_a_call"] = {key: alone[key] for key in ["answer_us", "place_us", "successful", "failed", "handshakes"]}
    print("transports:", json.dumps(summary), flush=True)
    return summary


def load_side(program, target, rate, count, more=()):
    arguments = [program, "load", f"sip:bench@127.0.0.1:{target}", "--rate", str(rate), "--calls", str(count), "--hold", "0ms",
                 "--loops", "1", "--json"] + list(more)
    def counts(text):
        result = json.loads([line for line in text.splitlines() if line.startswith("{")][-1])
        return {"successful": result["answered"], "failed": result["failed"], "rate_achieved": result["rate_achieved"],
                "late_ms_p99": result["generator"]["late_timer_ms_p99"], "limits_hit": result["generator"]["limits_hit"]}
    return Side("ringwright load", arguments, counts=counts)


def load(program, folder, rate, count, rounds):
    """CPU a call and the achieved rate of `ringwright load` and of SIPp's built-in caller, against SIPp."""
    rows = []
    for _ in range(rounds):
        for kind in ["sipp", "ringwright", "unsegmented"]:
            port = free_port()
            more = ["--set", "sip.segmentation=off"] if kind == "unsegmented" else []
            caller = sipp_uac(port, rate, count) if kind == "sipp" else load_side(program, port, rate, count, more)
            row = measure(sipp_uas(port), caller, count, 60, folder)
            row["kind"] = kind
            rows.append(row)
            print(json.dumps(row), flush=True)
    sipp, ours, unsegmented = (
        statistics.median(row["place_us"] for row in rows if row["kind"] == kind) for kind in ["sipp", "ringwright", "unsegmented"])
    errors = {}
    for steady in [100, 1000, rate]:
        port = free_port()
        row = measure(sipp_uas(port), load_side(program, port, steady, steady * 10), steady * 10, 60, folder)
        errors[steady] = round(abs(row["rate_achieved"] / steady - 1) * 100, 4)
        print(json.dumps(row), flush=True)
    summary = {"rate": rate, "sipp_us": sipp, "load_us": ours, "ratio": round(ours / sipp, 2), "unsegmented_us": unsegmented,
               "rate_error_percent": errors, "ramp_error_percent": ramp_error(program, folder, 100, 1000, 10)}
    print("load:", json.dumps(summary), flush=True)
    return summary


def ramp_error(program, folder, low, high, seconds):
    """How far the calls of any second of a ramp are from those that an even rise has, in percent."""
    port, report = free_port(), os.path.join(folder, "ramp")
    side = load_side(program, port, low, (low + high) * seconds // 2, ["--report", report])
    at = side.command.index("--rate")
    side.command[at:at + 4] = ["--ramp", f"{low}..{high}/{seconds}s"]
    measure(sipp_uas(port), side, (low + high) * seconds // 2, 60, folder)
    with open(os.path.join(report, "intervals.csv"), newline="") as rows:
        placed = {int(row["second"]): int(row["placed"]) for row in csv.DictReader(rows)}
    step = (high - low) / seconds
    return round(max(abs(placed.get(at, 0) / (low + step * (at + 0.5)) - 1) for at in range(seconds)) * 100, 3)


def runner_side(program, scenario, port, target=None, rate=0, count=0, more=()):
    """`ringwright sipp` with a scenario file, calling or called."""
    arguments = [program, "sipp", "-sf", scenario, "-i", "127.0.0.1", "-nostdin", "-p", str(port)] + list(more)
    if target:
        arguments += ["-r", str(rate), "-l", "15000", "-m", str(count), f"127.0.0.1:{target}"]
    return Side("ringwright sipp", arguments, counts=runner_counts)


def runner_counts(text):
    found = re.search(r"Successful: (\d+)\s+Failed: (\d+)", text)
    return {"successful": int(found.group(1)), "failed": int(found.group(2))} if found else {"successful": None, "failed": None}


def scenarios(program, folder, rate, count, rounds):
    """CPU a call of the same scenario files, run by SIPp and by `ringwright sipp`: each as caller and as called end, SIPp at the other."""
    files = {}
    for name in ["uac", "uas"]:
        files[name] = os.path.join(folder, f"{name}.xml")
        with open(files[name], "w") as output:
            subprocess.run(["sipp", "-sd", name], stdout=output)
    rows = []
    for _ in range(rounds):
        for answering, calling in [("sipp", "sipp"), ("ours", "sipp"), ("sipp", "ours"), ("unsegmented", "sipp"), ("sipp", "unsegmented")]:
            port = free_port()
            more = ["-udp_segments", "off"] if "unsegmented" in (answering, calling) else []
            answerer = sipp_uas(port) if answering == "sipp" else runner_side(program, files["uas"], port, more=more)
            caller = (sipp_uac(port, rate, count, files["uac"]) if calling == "sipp"
                      else runner_side(program, files["uac"], free_port(), port, rate, count, more))
            row = measure(answerer, caller, count, 60, folder)
            row["pair"] = f"{answering} {calling}"
            rows.append(row)
            print(json.dumps(row), flush=True)
    def median(side, pair):
        return statistics.median(row[side] for row in rows if row["pair"] == pair)
    called, calling = (median("answer_us", "sipp sipp"), median("answer_us", "ours sipp")), (
        median("place_us", "sipp sipp"), median("place_us", "sipp ours"))
    summary = {"rate": rate, "sipp_called_us": called[0], "ours_called_us": called[1], "called_ratio": round(called[1] / called[0], 2),
               "sipp_caller_us": calling[0], "ours_caller_us": calling[1], "caller_ratio": round(calling[1] / calling[0], 2),
               "unsegmented_called_us": median("answer_us", "unsegmented sipp"),
               "unsegmented_caller_us": median("place_us", "sipp unsegmented")}
    print("scenarios:", json.dumps(summary), flush=True)
    return summary


def highest_rate(program, folder, rates, seconds):
    """The highest rate at which no call failed and the run took its planned time, both ends of one kind."""
    summary = {}
    for kind in ["sipp", "ringwright", "unsegmented"]:
        best, more = 0, ["--unsegmented"] if kind == "unsegmented" else []
        for rate in rates:
            port, count = free_port(), rate * seconds
            answerer = sipp_uas(port) if kind == "sipp" else bench_answer(program, port, more=more)
            caller = sipp_uac(port, rate, count) if kind == "sipp" else bench_place(program, port, rate, count, more=more)
            started = time.monotonic()
            row = measure(answerer, caller, count, seconds * 3 + 40, folder)
            took = time.monotonic() - started
            # SIPp starts and ends within about two seconds; a longer run did not hold the rate.
            clean = row["status"] == 0 and row["failed"] == 0 and row.get("successful") == count and took < seconds + 4
            print(json.dumps({"kind": kind, "rate": rate, "clean": clean, "took_s": round(took, 1), **row}), flush=True)
            if not clean:
                break
            best = rate
        summary[kind] = best
    print("highest rate:", json.dumps(summary), flush=True)
    return summary


def overload(program, folder, rate, count, rounds):
    """CPU a call that is turned away (INVITE, 503 with Retry-After, ACK), beside one that is answered and hung up."""
    rows = []
    for _ in range(rounds):
        for limit in ["0", "100000"]:
            port = free_port()
            scenario = os.path.join(HERE, "uac-refused.xml") if limit == "0" else None
            row = measure(bench_answer(program, port, more=["--limit", limit]), sipp_uac(port, rate, count, scenario), count, 60, folder)
            row["limit"] = limit
            rows.append(row)
            print(json.dumps(row), flush=True)
    def median(limit):
        return statistics.median(row["answer_us"] for row in rows if row["limit"] == limit)
    summary = {"rate": rate, "refused_us": median("0"), "answered_us": median("100000"),
               "failed": sum(row["failed"] or 0 for row in rows)}
    print("overload:", json.dumps(summary), flush=True)
    return summary


FLOORS = ["tick", "pair", "pair-connected", "pair-stamped", "pair-uring", "pair-shared", "epoll", "uring", "batch"]


def floors(floor, modes, calls, seconds):
    """CPU per second of a two-way call in the floor program, by its modes."""
    found = {}
    for mode in modes:
        # The two processes of a pair pin themselves, as both ends of the calls below are pinned.
        pair = mode.startswith("pair")
        pinned = [] if pair else ["taskset", "-c", "0"]
        line = json.loads(subprocess.run(pinned + [floor, mode, str(calls), str(seconds)], check=True,
                                         capture_output=True, text=True).stdout)
        name = "floor_" + mode.replace("-", "_")
        found[f"{name}_us"] = line["us_per_call_second"]
        if pair:
            found[f"{name}_other_us"] = line["us_per_call_second_other"]
    return found


def media(program, folder, counts, seconds, rounds):
    """CPU per second of a two-way G.711 call, while all calls stand, by the number of calls: the floor, SIPp's caller and echo, Ringwright's
    both ends; medians of rounds in which these take turns."""
    floor = os.path.join(folder, "floor")
    subprocess.run(["cc", "-O2", "-o", floor, os.path.join(HERE, "floor.c"), "-luring"], check=True)
    with open(os.path.join(folder, "prompt.raw"), "wb") as prompt:
        prompt.write(bytes([0xD5, 0x55, 0x90, 0x2A]) * 16000)
    hold = seconds * 1000
    summaries = []
    for calls in counts:
        rate = max(calls // 3, 1)
        rows = []
        standing = ["pair", "pair-stamped"]
        found = floors(floor, FLOORS if calls == max(counts) else standing, calls, min(seconds, 10))
        for turn in range(rounds):
            # The floor of each round beside it: the machine is not equally quiet in all.
            row = found if turn == 0 else floors(floor, standing, calls, min(seconds, 10))
            for kind in ["sipp", "ringwright"]:
                port = free_port()
                if kind == "sipp":
                    answerer, caller = sipp_uas(port, 26000), sipp_uac(port, rate, calls, os.path.join(HERE, "uac-rtp.xml"), hold)
                else:
                    answerer = bench_answer(program, port, media=PROMPT)
                    caller = bench_place(program, port, rate, calls, media=PROMPT, hold=hold)
                # The last call begins after three seconds, the first one ends after `seconds`.
                run = measure(answerer, caller, calls, seconds + 60, folder, steady=(4, seconds - 1))
                print(json.dumps(run), flush=True)
                row = {**row, **{f"{kind}_{key}": value for key, value in run.items()}}
            rows.append(row)
        summary = {"calls": calls, "seconds": seconds, "rounds": rounds, **found}
        for key in ["floor_pair_us", "floor_pair_stamped_us", "sipp_place_us", "sipp_answer_us", "ringwright_place_us",
                    "ringwright_answer_us"]:
            summary[key] = statistics.median(row[key] for row in rows)
        summary["of_sipp_caller"] = round(summary["ringwright_place_us"] / summary["sipp_place_us"], 2)
        summary["of_floor_pair"] = round(summary["ringwright_place_us"] / summary["floor_pair_us"], 2)
        summary["sipp_failed"], summary["ringwright_failed"] = (sum(row[f"{kind}_failed"] or 0 for row in rows)
                                                                for kind in ["sipp", "ringwright"])
        last = rows[-1]
        summary["answer_rss_kib_per_call"] = round(
            (last["ringwright_server_rss_mb"] - last["ringwright_server_rss_before_mb"]) * 1e6 / 1024 / calls, 1)
        told = ["lost", "received", "sent", "jitter_p99_ms", "slices", "late_slices", "skipped_ticks"]
        summary.update({key: last[f"ringwright_{key}"] for key in told if f"ringwright_{key}" in last})
        print("media:", json.dumps(summary), flush=True)
        summaries.append(summary)
    return summaries


def sound(program, folder, calls, seconds):
    """What kinds of media cost, both ends in one process: CPU per call and second; what bridges add; how fast a key cuts a prompt."""
    def bench(*arguments):
        command = ["taskset", "-c", "0", program, "--prompt", PROMPT, "--seconds", str(seconds), *arguments]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return json.loads(output)

    summary = {"calls": calls, "seconds": seconds}
    kinds = {"pcmu": [], "opus": ["--codec", "opus"], "srtp": ["--srtp"], "record": ["--record", folder], "inband_keys": ["--inband"],
             "bridge": ["--bridge"], "bridge_pcmu_g722": ["--bridge", "--other-codec", "g722"],
             "bridge_pcmu_opus": ["--bridge", "--other-codec", "opus"],
             # Half of the sessions are members.
             "conference_one_speaks": ["--conference", "10"], "conference_all_speak": ["--conference", "10", "--speakers", "10"]}
    per_packet = {}
    for kind, arguments in kinds.items():
        # Opus is encoded for each call of a bridge: fewer of them fill a core.
        count = calls // 5 if kind == "bridge_pcmu_opus" else calls
        row = bench("--sessions", str(count), *arguments)
        print(json.dumps({"kind": kind, **row}), flush=True)
        per_packet[kind] = row["us_per_packet"]
        summary[f"{kind}_us"] = round(row["us_per_call_second"], 1)
        summary[f"{kind}_lost"] = row["lost"]
    few = bench("--sessions", str(calls // 5), "--bridge")["us_per_packet"]
    for kind, other, plain in [("bridge_pcmu_g722", "g722", per_packet["bridge"]), ("bridge_pcmu_opus", "opus", few)]:
        codec = bench("--codec-time", "--other-codec", other)["us_per_frame"]
        # Of the packets that arrive in a chain of four, half were transcoded.
        added = (per_packet[kind] - plain) * 2
        summary[f"{kind}_added_us_per_frame"] = round(added, 1)
        summary[f"{kind}_codec_us_per_frame"] = codec
        summary[f"{kind}_outside_codec_percent"] = round((added - codec) / added * 100, 1)
    forwarding = bench("--sessions", "40", "--bridge")
    summary.update({key: forwarding[key] for key in ["forwarding_median_us", "forwarding_p99_us"]})
    command = [program, "--prompt", PROMPT, "--barge-in", "--sessions", "2000"]
    barge_in = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    summary.update({f"barge_in_{key}": value for key, value in barge_in.items()})
    print("sound:", json.dumps(summary), flush=True)
    return summary


def main():
    parser = argparse.ArgumentParser(description="Ringwright beside SIPp and the machine's floor")
    parser.add_argument("--program", required=True, help="the built CallBench")
    parts = ["signaling", "load", "scenarios", "transports", "rate", "overload", "media", "sound"]
    parser.add_argument("--only", choices=parts, action="append")
    parser.add_argument("--rate", type=int, default=4000)
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rates", default="2000,4000,6000,8000,10000,12000,14000,16000")
    parser.add_argument("--media-calls", default="100,150,500", help="numbers of calls")
    parser.add_argument("--media-seconds", type=int, default=15)
    options = parser.parse_args()
    chosen = options.only or parts
    media_calls = [int(count) for count in options.media_calls.split(",")]
    results = {"machine": {"cores": os.cpu_count(), "kernel": os.uname().release}}
    with tempfile.TemporaryDirectory() as folder:
        if "signaling" in chosen:
            results["signaling"] = signaling(options.program, folder, options.rate, options.calls, options.rounds)
        if "load" in chosen:
            ringwright = os.path.join(os.path.dirname(options.program), "ringwright")
            results["load"] = load(ringwright, folder, options.rate, options.calls, options.rounds)
        if "scenarios" in chosen:
            ringwright = os.path.join(os.path.dirname(options.program), "ringwright")
            results["scenarios"] = scenarios(ringwright, folder, options.rate, options.calls, options.rounds)
        if "transports" in chosen:
            results["transports"] = transports(options.program, folder, options.rate, options.calls, options.rounds)
        if "rate" in chosen:
            results["rate"] = highest_rate(options.program, folder, [int(rate) for rate in options.rates.split(",")], 5)
        if "overload" in chosen:
            results["overload"] = overload(options.program, folder, options.rate, options.calls, options.rounds)
        if "media" in chosen:
            results["media"] = media(options.program, folder, media_calls, options.media_seconds, options.rounds)
        if "sound" in chosen:
            media_bench = os.path.join(os.path.dirname(options.program), "MediaBench")
            results["sound"] = sound(media_bench, folder, max(media_calls), options.media_seconds)
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    sys.exit(main())
