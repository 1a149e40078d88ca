#!/usr/bin/env python3
"""kill -9 during a campaign, at random instants, again and again: no number is called twice, none is forgotten, and a call that was in
the air is reported as such.

    python3 Fuzz/campaign_kills.py PROGRAM [--store sqlite|postgresql] [--workers 1] [--namespaces] [--parties [--line]] [--calls 5000]
        [--kills 200] [--seed N]

PROGRAM is the built `ringwright`. The other side is in this file: it answers every INVITE and counts whom it was for. With postgresql
several workers share the campaign, and each kill is of one of them; --namespaces gives each a network of its own (root only). With --parties
each call comes back, to any of the workers, and both halves have to agree; nothing may be said against the system between them. With --line it
comes back by a line that one of the workers has registered.
"""
import argparse, collections, json, os, random, re, signal, socket, subprocess, sys, tempfile, time
from peers import Callee, Network, PostgreSQL, System

FLOW = """flow: killed
direction: outbound
sections:
  call:
    - answer: { timeout: 10s }
    - wait: 50ms
    - hangup
"""


AGENT = "flow: agent\nsections: { call: [ answer, { wait: 20s } ] }\n"
CAMPAIGN = """campaign: list
targets: list.csv
flow: flow.yaml
to: "sip:${target.number}@%s:%d"
concurrency: 40
parties:
  agent: { flow: agent.yaml, %s, agree: [ hang-up ] }
"""
LINE = """lines:
  desk: { sip: { register: "example.com", server: "127.0.0.1:%d", username: desk, password: geheim } }
"""


class Site:
    """A folder with a campaign, and how one of its workers is started."""

    def __init__(self, options, folder, chance):
        self.options, self.folder = options, folder
        with open(f"{folder}/flow.yaml", "w") as file:
            file.write(FLOW)
        with open(f"{folder}/list.csv", "w") as file:
            file.write("number\n" + "".join(f"{n}\n" for n in range(1, options.calls + 1)))
        self.first = chance.randrange(10000, 14000) * 4
        self.callee = System(chance, options.line) if options.parties else Callee()
        self.network = Network(options.workers) if options.namespaces else None
        if options.parties:
            self.callee.workers = [("127.0.0.1", free_port()) for _ in range(options.workers)]
        self.callee.start()
        self.database = None
        if options.store == "postgresql":
            self.database = PostgreSQL(self.network.addresses if self.network else ["127.0.0.1"])
        # Between two kills, in seconds, and so slow that it is not over before the last of them.
        self.longest = 4.0 if options.line else 1.0 if self.database else 0.3
        self.rate = max(10, int(options.calls / (max(1, options.kills) * self.longest / options.workers)))
        self.was_started = False

    def start(self, index):
        host = self.network.addresses[index] if self.network else "127.0.0.1"
        ports = self.first + index * 400
        command = [os.path.abspath(self.options.program), "campaign", "--rate", str(self.rate), "--report", f"report{index}",
                   "--json", "--set", f"rtp.ports={ports}-{ports + 399}"]
        if self.options.parties:
            name = f"campaign{index}.yaml"
            with open(f"{self.folder}/agent.yaml", "w") as file:
                file.write(AGENT)
            with open(f"{self.folder}/{name}", "w") as file:
                number = "line: desk" if self.options.line else 'number: "9${target.number}"'
                file.write(CAMPAIGN % (host, self.callee.port, number))
            if self.options.line:
                with open(f"{self.folder}/ringwright.yaml", "w") as file:
                    file.write(LINE % self.callee.port)
            command += [name, "--set", 'sip.listen=["udp:%s:%d"]' % self.callee.workers[index]]
        else:
            command += ["--list", "list.csv", "--flow", "flow.yaml", "--concurrency", "40",
                        "--to", "sip:${target.number}@%s:%d" % (host, self.callee.port)]
        if self.database:
            command += ["--workers", self.database.url(host if self.network else None), "--lease", "500ms"]
            known = self.was_started and self.database.has_campaign("list")
        else:
            known = os.path.exists(f"{self.folder}/report{index}/campaign.db")
        self.was_started = True
        if known and (not self.database or not self.database.is_worked_on("list")):
            command.append("--resume")
        if self.network:
            command = self.network.inside(index, command)
        return subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def close(self):
        for thing in (self.database, self.network):
            if thing:
                thing.close()


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(site, options, chance):
    """Kills and restarts workers, then waits for the end; the summary of each, or None."""
    workers = [site.start(index) for index in range(options.workers)]
    kills = 0
    while kills < options.kills:
        # Most kills while calls run, some while the program starts.
        time.sleep(chance.uniform(0.01, site.longest) / options.workers)
        index = chance.randrange(options.workers)
        if workers[index].poll() is not None:
            output, errors = workers[index].communicate()
            print(f"WRONG: worker {index} was over after {kills} kills: {output.decode()}{errors.decode()}")
            return None, kills, workers
        workers[index].send_signal(signal.SIGKILL)
        workers[index].communicate()
        kills += 1
        workers[index] = site.start(index)
    summaries = []
    for index, worker in enumerate(workers):
        output, errors = worker.communicate(timeout=600)
        try:
            summaries.append(json.loads(output))
        except ValueError:
            print(f"WRONG: worker {index} ended with {worker.returncode}: {output.decode()}{errors.decode()}")
            return None, kills, workers
    return summaries, kills, workers


def judge(site, options, summaries, kills):
    calls = site.callee.calls
    bad = []
    reports = [[json.loads(line) for line in open(f"{site.folder}/report{index}/results.jsonl")]
               for index in range(options.workers)]
    results, summary = reports[0], summaries[0]
    if any(report != results for report in reports) or any(other != summary for other in summaries):
        bad.append(f"the workers' reports differ: {summaries}")
    rows = collections.Counter(result["row"] for result in results)
    in_air = {result["row"] for result in results if result["ended"]["detail"].startswith("in the air")}
    twice = [number for number, ids in calls.items() if len(ids) > 1]
    if twice:
        bad.append(f"called twice: {twice[:5]}")
    if sorted(rows) != list(range(1, options.calls + 1)) or max(rows.values()) > 1:
        bad.append("a row has no result, or two")
    never = {n for n in range(1, options.calls + 1) if str(n) not in calls}
    if not never <= in_air:
        bad.append(f"forgotten: {sorted(never - in_air)[:5]}")
    # A worker that died with a call of another's test: that one is no failure of the system.
    spoiled = {result["row"] for result in results if "was lost while the test ran" in result["ended"]["detail"]}
    if options.parties and summary["failed"]:
        failed = [result for result in results if result["result"] == "failed"]
        bad.append(f"the system is blamed for {len(failed)}: {json.dumps(failed[0])}")
    if summary["in_the_air"] != len(in_air) or summary["error"] != len(in_air | spoiled) or summary["waiting"]:
        bad.append(f"the summary does not add up: {summary}")
    if summary["passed"] + summary["failed"] + summary["error"] != options.calls:
        bad.append(f"the summary does not add up: {summary}")
    passed = {result["row"] for result in results if result["result"] == "passed"}
    if passed & never:
        bad.append("a call passed that was never made")
    print(f"{options.calls} calls, {kills} kills, {summary['passed']} passed, {len(in_air)} in the air when killed, "
          f"{len(never)} of them not yet sent, {len(spoiled)} by a worker that died")
    for line in bad:
        print("WRONG:", line)
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--store", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--namespaces", action="store_true")
    parser.add_argument("--parties", action="store_true")
    parser.add_argument("--line", action="store_true")
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    if options.workers > 1 and options.store == "sqlite":
        parser.error("one worker at a time has an SQLite database")
    if options.line and not (options.parties and options.store == "postgresql"):
        parser.error("--line is for --parties with --store postgresql")
    if options.parties and options.namespaces:
        parser.error("workers pass calls of parties on to each other, and these networks do not reach each other")
    print(f"seed {options.seed}")
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        site = Site(options, folder, chance)
        workers = []
        try:
            summaries, kills, workers = run(site, options, chance)
            return judge(site, options, summaries, kills) if summaries else 1
        finally:
            for worker in workers:
                worker.kill()
            site.close()


sys.exit(main())
