#!/usr/bin/env python3
"""A fleet of so many points from the plan to the gathered Store, with a result that is made up: what planning, submitting to a real Slurm and
merging take. Nothing is measured: the partition is down, so that the arrays wait. Needs root and Debian's slurm-wlm, munge.

    python3 bench/fleet/million.py --program build/bin/deepgap --result build/bin/fleet_result [--points 1000000] [--nodes 256]

With --played the whole way to the end by Slurm's commands played, within a site's limits: arrays are submitted as there is room, tasks end, the
rest is submitted, all of it is gathered. Needs neither root nor Slurm.

    python3 bench/fleet/million.py --played [--points 1000000] [--max-array 1001] [--max-submit 1000]
"""
import argparse
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

from chaos import STUDY, TREE, Cluster
from free_ports import free_ports
from played_slurm import PlayedSlurm


class Steps:
    def __init__(self, work, environment):
        self.work, self.environment = work, environment

    def timed(self, name, *command, codes=(0,)):
        """Prints the step's time, CPU time and peak memory of the largest of its processes."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        result = subprocess.run(["/usr/bin/time", "-o", self.work + "/memory", "-f", "%M", *command], cwd=self.work, env=self.environment,
                                capture_output=True, text=True)
        took = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        with open(self.work + "/memory") as file:
            memory = int(file.read().split()[-1])
        load = os.getloadavg()[0]
        print(f"{name:<16}{took:9.1f} s {cpu:9.1f} s of CPU {memory / 1024:9.0f} MiB at most, load average {load:.0f}", flush=True)
        if result.returncode not in codes:
            sys.exit(f"{name} failed with {result.returncode}: {result.stdout}{result.stderr}")
        return result.stdout


def measure(arguments, cluster, work):
    environment = {**cluster.environment, "XDG_CACHE_HOME": work + "/cache"}
    with open(work + "/million.toml", "w") as file:
        file.write(STUDY.format(points=arguments.points, repeats=1, latency="1ms").replace('"chaos"', '"million"'))
    cluster.nodes("start", "4")
    subprocess.run(["scontrol", "update", "partition=main", "state=down"], check=True, env=environment)
    steps = Steps(work, environment)
    flags = ["million.toml", "--scheduler", "slurm", "--partition", "main", "--cpus-per-task", "1"]
    print(steps.timed("plan", arguments.program, "fleet", *flags, "--dry-run"))
    steps.timed("plan and submit", arguments.program, "fleet", *flags, "--detach")
    scripts = sorted(os.listdir(work + "/million.fleet/scripts"))
    print(f"{len(scripts)} scripts: {', '.join(scripts)}; {cluster.ask('squeue', '-h', '-r').count(chr(10))} entries in the queue; "
          f"fleet.json {os.path.getsize(work + '/million.fleet/fleet.json') >> 10} KiB")
    steps.timed("status", arguments.program, "fleet", "status", "million.fleet", codes=(0, 1))
    steps.timed("cancel", arguments.program, "fleet", "cancel", "million.fleet")
    if arguments.plan_only:
        return 0
    print(steps.timed("made up", arguments.result, "million.fleet", str(arguments.nodes)))
    print(steps.timed("status, all done", arguments.program, "fleet", "status", "million.fleet"))
    print(steps.timed("gather", arguments.program, "fleet", "gather", "million.fleet"))
    pairs, distinct = records_of(work + "/million.fleet/gathered.db")
    return 0 if pairs == distinct >= arguments.points else 1


def records_of(store):
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
        pairs, distinct = database.execute("SELECT count(*), count(DISTINCT point || '/' || repeat) FROM records").fetchone()
    print(f"{pairs} records, {distinct} distinct (Point, repeat); {os.path.getsize(store) / 1e9:.2f} GB")
    return pairs, distinct


def play(arguments, work):
    slurm = PlayedSlurm(work + "/slurm", arguments.nodes, arguments.max_array, arguments.max_submit,
                        made_up_by=[arguments.result])
    with open(work + "/million.toml", "w") as file:
        file.write(STUDY.format(points=arguments.points, repeats=1, latency="1ms").replace('"chaos"', '"million"'))
    steps = Steps(work, {**slurm.environment, "XDG_CACHE_HOME": work + "/cache"})
    steps.timed("plan and submit", arguments.program, "fleet", "million.toml", "--scheduler", "slurm", "--cpus-per-task", "1", "--detach",
                "--task-time", arguments.task_time)
    before = slurm.told()
    print(f"{before['accepted']} jobs taken, {before['refused']} refused, {before['most']} tasks in the queue; "
          f"fleet.json {os.path.getsize(work + '/million.fleet/fleet.json') >> 10} KiB")
    print(steps.timed("wait and gather", arguments.program, "fleet", "wait", "million.fleet", "--quiet"))
    after = slurm.told()
    print(f"{after['ended']} tasks ended; {after['accepted']} jobs taken, {after['refused']} refused, never more than {after['most']} tasks "
          f"in the queue, no array larger than {after['largest_array']}; the queue was asked {after['asked']} times; of the CPU time "
          f"{after['cpu_s'] - before['cpu_s']:.1f} s were Slurm's and the results', which are played")
    steps.timed("status, all done", arguments.program, "fleet", "status", "million.fleet")
    print(steps.timed("gather again", arguments.program, "fleet", "gather", "million.fleet"))
    pairs, distinct = records_of(work + "/million.fleet/gathered.db")
    return 0 if pairs == distinct >= arguments.points else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default=TREE + "/build/bin/deepgap")
    parser.add_argument("--result", default=TREE + "/build/bin/fleet_result")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--nodes", type=int, default=256)
    parser.add_argument("--played", action="store_true", help="by Slurm's commands played")
    parser.add_argument("--max-array", type=int, default=1001, help="played: MaxArraySize")
    parser.add_argument("--max-submit", type=int, default=1000, help="played: MaxSubmitJobs of a user")
    parser.add_argument("--task-time", default="10m", help="played")
    parser.add_argument("--plan-only", action="store_true", help="end after submitting")
    parser.add_argument("--work", help="folder for all of it, some 10 GB for a million points; left out: a temporary one")
    arguments = parser.parse_args()
    arguments.program, arguments.result = os.path.abspath(arguments.program), os.path.abspath(arguments.result)
    if arguments.played:
        with tempfile.TemporaryDirectory(prefix="deepgap-million-", dir=arguments.work) as work:
            sys.exit(play(arguments, work))
    if os.geteuid() != 0 or shutil.which("slurmctld", path=os.environ["PATH"] + ":/usr/sbin") is None:
        sys.exit("needs root, and Debian's slurm-wlm and munge")
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    work = tempfile.mkdtemp(prefix="deepgap-million-", dir=arguments.work)
    os.chmod(work, 0o755)  # munge wants it
    cluster = Cluster(work + "/slurm", 4, free_ports(5))
    try:
        code = measure(arguments, cluster, work)
    finally:
        cluster.nodes("stop")
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
