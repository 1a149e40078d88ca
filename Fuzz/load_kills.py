#!/usr/bin/env python3
"""Several workers share a load run; then another, in whose middle one of them is killed. What the other side counted is what they report.

    python3 Fuzz/load_kills.py PROGRAM [--workers 2] [--namespaces] [--rate 40] [--seconds 6] [--lease 2s]

PROGRAM is the built `ringwright`; --namespaces gives each worker a network of its own (root only).
"""
import argparse, json, os, signal, subprocess, sys, tempfile, time
from peers import Callee, Network, PostgreSQL


class Run:
    """One run of all workers."""

    def __init__(self, options, name, callee, database, network, folder):
        self.options, self.name, self.callee = options, name, callee
        self.workers = []
        for index in range(options.workers):
            host = network.addresses[index] if network else "127.0.0.1"
            command = [os.path.abspath(options.program), "load", f"sip:{name}{index}@{host}:{callee.port}", "--rate",
                       str(options.rate), "--duration", f"{options.seconds}s", "--hold", "200ms", "--loops", "2", "--json",
                       "--workers", database.url(host if network else None), "--worker-count", str(options.workers),
                       "--name", name, "--lease", options.lease]
            if network:
                command = network.inside(index, command)
            self.workers.append(
                subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))

    def seen(self, index):
        return len(self.callee.calls[f"{self.name}{index}"])

    def end(self, index):
        output, errors = self.workers[index].communicate(timeout=120)
        try:
            return json.loads(output), self.workers[index].returncode
        except ValueError:
            raise SystemExit(f"WRONG: worker {index} ended with {self.workers[index].returncode}: {output}{errors}")

    def close(self):
        for worker in self.workers:
            worker.kill()


def check(bad, condition, words):
    if not condition:
        bad.append(words)


def whole(run, options):
    """All workers live: every planned call was made once and counted once."""
    bad = []
    ends = [run.end(index) for index in range(options.workers)]
    report = ends[0][0]
    planned = options.rate * options.seconds
    seen = [run.seen(index) for index in range(options.workers)]
    check(bad, all(other == report for other, _ in ends), f"the workers' reports differ: {ends}")
    check(bad, all(status == 0 for _, status in ends) or report["generator"]["limits_hit"], f"status: {ends}")
    check(bad, report["placed"] == planned == sum(seen), f"{planned} planned, {report['placed']} placed, {seen} seen")
    check(bad, report["answered"] == planned and report["failed"] == 0, f"not all answered: {report}")
    placed = {worker["worker"]: worker["placed"] for worker in report["workers"]}
    check(bad, sorted(placed.values()) == sorted(seen), f"{placed} placed, {seen} seen")
    print(f"{planned} calls planned, {seen} seen, rate {report['rate_achieved']}")
    return bad


def killed(run, options):
    """One dies in the middle: the others' calls are counted, and of its own what it told of."""
    bad = []
    while run.seen(0) < options.rate * options.seconds / options.workers / 2:
        if run.workers[0].poll() is not None:
            return [f"worker 0 was over at once: {run.workers[0].communicate()}"]
        time.sleep(0.01)
    run.workers[0].send_signal(signal.SIGKILL)
    run.workers[0].communicate()
    ends = [run.end(index) for index in range(1, options.workers)]
    report = ends[0][0]
    check(bad, all(other == report for other, _ in ends), f"the workers' reports differ: {ends}")
    check(bad, all(status == 3 for _, status in ends), f"status: {ends}")
    check(bad, "lost-worker" in report["generator"]["limits_hit"], f"not named: {report['generator']}")
    lost = [worker for worker in report["workers"] if worker["lost"]]
    alive = [worker for worker in report["workers"] if not worker["lost"]]
    seen = [run.seen(index) for index in range(options.workers)]
    check(bad, len(lost) == 1 and sorted(w["placed"] for w in alive) == sorted(seen[1:]), f"{report['workers']}, {seen} seen")
    check(bad, lost and lost[0]["placed"] <= seen[0], f"{lost}, {seen[0]} seen")
    check(bad, lost and lost[0]["answered"] + lost[0]["failed"] + lost[0]["in_the_air"] >= lost[0]["placed"], f"{lost}")
    check(bad, report["placed"] == sum(worker["placed"] for worker in report["workers"]), f"{report}")
    check(bad, report["failed"] == 0 and report["answered"] >= sum(seen[1:]), f"{report}")
    print(f"killed after {seen[0]} calls, of which it had told {lost[0]['placed'] if lost else '?'}; the others made {seen[1:]}")
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--namespaces", action="store_true")
    parser.add_argument("--rate", type=int, default=40)
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--lease", default="2s")
    options = parser.parse_args()
    callee = Callee()
    callee.start()
    network = Network(options.workers) if options.namespaces else None
    database = PostgreSQL(network.addresses if network else ["127.0.0.1"])
    bad = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name, judge in (("whole", whole), ("killed", killed)):
                run = Run(options, name, callee, database, network, folder)
                try:
                    bad += judge(run, options)
                finally:
                    run.close()
    finally:
        database.close()
        if network:
            network.close()
    for line in bad:
        print("WRONG:", line)
    return 1 if bad else 0


sys.exit(main())
