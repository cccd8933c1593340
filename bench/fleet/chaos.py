#!/usr/bin/env python3
"""A fleet on a real Slurm of many virtual nodes while everything goes wrong: nodes crash, slurmd is killed and its job runs on, tasks are preempted
and requeued, the process that waits is killed. At the end every (Point, repeat) must be there exactly once. Needs root and Debian's slurm-wlm, munge.

    python3 bench/fleet/chaos.py --program build/bin/deepgap [--nodes 256] [--points 4096] [--repeats 2] [--at-a-time 48] [--seed 1]
"""
import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NODES = os.path.join(TREE, "tests/fleet/slurm_nodes")
sys.path.insert(0, os.path.join(TREE, "tests/fleet"))
from free_ports import free_ports  # noqa: E402
STUDY = """name = "chaos"
[[grid]]
model = "resnet18:width=0.125,classes=10"
backend = "null"
repeats = {repeats}
iterations = 20
warmup = 1
check = false
[grid.options]
shape = "input:Nx3x32x32"
null.latency = "{latency}"
[grid.axis]
null.seed = "1..{points}"
"""


class Cluster:
    def __init__(self, folder, nodes, port):
        self.folder, self.count = folder, nodes
        self.environment = {**os.environ, "DEEPGAP_LOCKS": "off", "PORT": str(port), "SLURM_CONF": folder + "/slurm.conf", "SLURMD_TIMEOUT": "20"}

    def nodes(self, verb, *arguments):
        subprocess.run([NODES, verb, self.folder, *arguments], check=True, env=self.environment)

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=120).stdout

    def running(self):
        """(job, node) of tasks that run."""
        lines = self.ask("squeue", "-h", "-r", "-t", "R", "-o", "%i %N %j").split("\n")
        return [line.split()[:2] for line in lines if " deepgap-" in line and "probe" not in line and len(line.split()) == 3]


class Chaos:
    """One blow after the other, each on whatever runs; what was taken away is brought back later."""

    def __init__(self, cluster, seed, stays_s):
        self.cluster, self.random, self.stays_s = cluster, random.Random(seed), stays_s
        self.gone = {}  # node -> when it comes back
        self.count = {"crash": 0, "kill": 0, "preempt": 0, "requeue": 0}

    def strike(self):
        for node in [node for node, until in self.gone.items() if until < time.monotonic()]:
            self.cluster.nodes("begin", node)
            del self.gone[node]
        targets = [(job, node) for job, node in self.cluster.running() if node not in self.gone]
        if not targets:
            return
        job, node = self.random.choice(targets)
        blow = self.random.choice(list(self.count))
        if blow in ("crash", "kill"):
            self.cluster.nodes(blow, node)
            self.gone[node] = time.monotonic() + self.stays_s
        elif blow == "preempt":
            self.cluster.ask("sbatch", "-p", "high", "-w", node, "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1")
        else:
            self.cluster.ask("scontrol", "requeue", job)
        self.count[blow] += 1

    def end(self):
        for node in self.gone:
            self.cluster.nodes("begin", node)
        self.gone = {}


def planned(folder):
    pairs = []
    for name in os.listdir(folder + "/tasks"):
        if name.endswith(".json"):
            with open(f"{folder}/tasks/{name}") as file:
                pairs += [(point["point_id"], run[0]) for point in json.load(file)["points"] for run in point["runs"]]
    return sorted(pairs)


def gathered(store):
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
        pairs = database.execute("SELECT point_id, repeat FROM records JOIN points ON points.id = point WHERE outcome <> 'interrupted'").fetchall()
        doubled = database.execute("SELECT count(*) FROM records WHERE facts LIKE '%merge.left_out%'").fetchone()[0]
        ok = database.execute("SELECT count(*) FROM records WHERE outcome = 'ok'").fetchone()[0]
    return sorted(pairs), doubled, ok


def attempts_of(folder):
    found = []
    for task in os.listdir(folder + "/parts"):
        for name in os.listdir(f"{folder}/parts/{task}"):
            if name.endswith(".json"):
                with open(f"{folder}/parts/{task}/{name}") as file:
                    found.append(json.load(file))
    return found


def wait_through(arguments, cluster, environment, work):
    """Waits for the fleet's end, beginning again each time that the waiter is killed."""
    chaos = Chaos(cluster, arguments.seed, 30)
    command = [arguments.program, "fleet", "wait", "chaos.fleet", "--submissions", "20"]
    kills, until = 0, time.monotonic() + arguments.chaos_s
    log = open(work + "/wait.log", "w")
    waiter = subprocess.Popen(command, cwd=work, env=environment, stdout=log, stderr=log)
    while waiter.poll() is None:
        time.sleep(arguments.every_s)
        if time.monotonic() > until:
            chaos.end()
            continue
        chaos.strike()
        if chaos.random.random() < 0.1:
            waiter.kill()
            waiter.wait()
            kills += 1
            waiter = subprocess.Popen(command, cwd=work, env=environment, stdout=log, stderr=log)
    return waiter.returncode, {**chaos.count, "killed waiters": kills}


def run(arguments, cluster, work):
    environment = {**cluster.environment, "XDG_CACHE_HOME": work + "/cache", "TMPDIR": work + "/node"}
    os.mkdir(work + "/node")
    with open(work + "/chaos.toml", "w") as file:
        file.write(STUDY.format(points=arguments.points, repeats=arguments.repeats, latency=arguments.latency))
    begin = time.monotonic()
    cluster.nodes("start", str(arguments.nodes))
    print(f"{arguments.nodes} nodes began in {time.monotonic() - begin:.1f} s", flush=True)
    begin = time.monotonic()
    subprocess.run([arguments.program, "fleet", "chaos.toml", "--scheduler", "slurm", "--cpus-per-task", "1", "--partition", "low", "--detach",
                    "--most-tasks", str(arguments.nodes), "--task-time", "1s", "--max-jobs", str(arguments.at_a_time), "--hand-in", "500ms"],
                   check=True, cwd=work, env=environment)
    print(f"planned and submitted in {time.monotonic() - begin:.1f} s", flush=True)
    begin = time.monotonic()
    code, blows = wait_through(arguments, cluster, environment, work)
    print(f"ended with code {code} after {time.monotonic() - begin:.0f} s; blows: {blows}", flush=True)
    asked = planned(work + "/chaos.fleet")
    there, doubled, ok = gathered(work + "/chaos.fleet/gathered.db")
    attempts = attempts_of(work + "/chaos.fleet")
    states = {state: sum(attempt["state"] == state for attempt in attempts) for state in ("done", "running", "interrupted", "failed")}
    tasks = len({attempt["task"] for attempt in attempts})
    print(f"{tasks} tasks, {len(attempts)} attempts: {states}")
    print(f"{sum(attempt['records'] for attempt in attempts)} records measured, {len(asked)} asked for, {len(there)} gathered ({ok} ok), {doubled} of them with a note "
          f"of others left out; slowest hand-in {max(attempt['slowest_hand_in_s'] for attempt in attempts):.2f} s")
    if there != asked or code != 0:
        print(f"WRONG: {len(set(asked) - set(there))} missing, {len(there) - len(set(there))} double, {len(set(there) - set(asked))} unasked")
        return 1
    print("every (Point, repeat) exactly once")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default=TREE + "/build/bin/deepgap")
    for name, default in (("nodes", 256), ("points", 4096), ("repeats", 2), ("at-a-time", 48), ("seed", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--every-s", type=float, default=2)
    parser.add_argument("--chaos-s", type=float, default=600)
    parser.add_argument("--latency", default="5ms")
    parser.add_argument("--keep", action="store_true", help="leave the folder of the run")
    arguments = parser.parse_args()
    arguments.program = os.path.abspath(arguments.program)
    if os.geteuid() != 0 or shutil.which("slurmctld", path=os.environ["PATH"] + ":/usr/sbin") is None:
        sys.exit("needs root, and Debian's slurm-wlm and munge")
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    work = tempfile.mkdtemp(prefix="deepgap-chaos-")
    os.chmod(work, 0o755)  # munge wants it
    cluster = Cluster(work + "/slurm", arguments.nodes, free_ports(arguments.nodes + 1))
    try:
        code = run(arguments, cluster, work)
    finally:
        cluster.nodes("stop")
        if arguments.keep:
            print("kept: " + work)
        else:
            shutil.rmtree(work, ignore_errors=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
