#!/usr/bin/env python3
"""Shows whether points measure the same in a process that serves several of them as each in a process of its own.

    python3 bench/shared_process.py [--models resnet18] [--backends native,onnxruntime] [--batches 1,2,4,8] [--rounds 10] [--duration 1s] [--threads N]
        [--device cpu] [--precision fp32] [--axis NAME=VALUE] [--no-check] [--build build]

Each round measures all batches of a model twice: by one command, whose points share a process and the model it has read, and by a command for each.
The two change places from round to round, and the order of the points with them. Printed, by point: the mean ratio of the two throughputs and of
their 10th percentiles of latency, which other work hardly reaches, over the rounds, on logarithms, with its 95 % interval (Student's t), and what both took from beginning to end. At the end:
the same over all points, and how many intervals hold 1."""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Quantiles of Student's t at 97.5 %, by degrees of freedom.
STUDENT = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086]
METRICS = ("throughput", "latency_p10_ms")


class Bench:
    def __init__(self, arguments):
        self.a = arguments
        self.program = (ROOT / arguments.build).resolve() / "bin/deepgap"
        self.store = (ROOT / arguments.build).resolve() / "shared_process.db"

    def run(self, *command):
        done = subprocess.run([str(self.program), *map(str, command)], cwd=ROOT, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(done.stderr.strip() or done.stdout.strip())
        return done.stdout

    def measure(self, model, backend, batches, seed):
        """Returns the metrics of each batch by one command, and the seconds that it took."""
        self.store.unlink(missing_ok=True)
        flags = ["--model", model, "--backend", backend, "--device", self.a.device, "--precision", self.a.precision, "--scenario", "batch"]
        flags += ["--batch", ",".join(map(str, batches)), "--duration", self.a.duration, "--repeats", 1, "--seed", seed, "--store", self.store]
        flags += ["--threads", self.a.threads] if self.a.device == "cpu" else []
        flags += ["--check", "off"] if self.a.no_check else []
        for axis in self.a.axis:
            flags += ["--axis", axis]
        begin = time.monotonic()
        self.run("run", *flags)
        seconds = time.monotonic() - begin
        rows = json.loads(self.run("export", self.store, "--format", "json"))
        bad = [row["reason"] for row in rows if row["outcome"] != "ok"]
        if bad:
            sys.exit(bad[0])
        return {int(row["batch"]): {name: float(row[name]) for name in METRICS} for row in rows}, seconds

    def round(self, model, backend, number):
        shared, apart = ({}, 0.0), ({}, 0.0)
        for which in ("shared", "apart") if number % 2 == 0 else ("apart", "shared"):
            if which == "shared":
                shared = self.measure(model, backend, self.a.batches, number + 1)
                continue
            found, seconds = {}, 0.0
            for place in range(len(self.a.batches)):
                batch = self.a.batches[(place + number) % len(self.a.batches)]
                one, took = self.measure(model, backend, [batch], number + 1)
                found.update(one)
                seconds += took
            apart = (found, seconds)
        return shared, apart


def ratio(logs):
    mean, half = statistics.fmean(logs), math.inf
    if len(logs) > 1:
        half = STUDENT[min(len(logs) - 2, len(STUDENT) - 1)] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def cell(logs):
    value, low, high = ratio(logs)
    return f"{value:.3f}x ({low:.3f} to {high:.3f})"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="resnet18")
    parser.add_argument("--backends", default="native,onnxruntime")
    parser.add_argument("--batches", default="1,2,4,8", type=lambda text: [int(one) for one in text.split(",")])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--duration", default="1s")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--axis", action="append", default=[], help="NAME=VALUE, as for deepgap run")
    parser.add_argument("--no-check", action="store_true", help="outputs are not checked: no reference need be made first")
    parser.add_argument("--build", default="build")
    return parser.parse_args()


def main():
    a = parse()
    bench = Bench(a)
    print(f"{a.device}, {a.threads} threads, windows of {a.duration}, {a.rounds} rounds; load average {os.getloadavg()[0]:.2f} at the beginning")
    print("| point | throughput, shared over apart | latency p10, shared over apart |")
    print("| --- | --- | --- |")
    everything, holding, points, times = {name: [] for name in METRICS}, 0, 0, [0.0, 0.0]
    for model in a.models.split(","):
        for backend in a.backends.split(","):
            bench.measure(model, backend, a.batches, 1)  # weights, references and tuning, which the cache then has
            logs = {batch: {name: [] for name in METRICS} for batch in a.batches}
            for number in range(a.rounds):
                shared, apart = bench.round(model, backend, number)
                times = [times[0] + shared[1], times[1] + apart[1]]
                for batch in a.batches:
                    for name in METRICS:
                        logs[batch][name].append(math.log(shared[0][batch][name] / apart[0][batch][name]))
            for name in METRICS:  # a disturbance hits all points of a round, so a round counts once
                everything[name].append([statistics.fmean(logs[batch][name][i] for batch in a.batches) for i in range(a.rounds)])
            for batch in a.batches:
                _, low, high = ratio(logs[batch]["throughput"])
                points, holding = points + 1, holding + (low <= 1 <= high)
                print(f"| {model} {backend} batch {batch} | {cell(logs[batch]['throughput'])} | {cell(logs[batch]['latency_p10_ms'])} |", flush=True)
    together = {name: [log for one in logs for log in one] for name, logs in everything.items()}
    print(f"| all points | {cell(together['throughput'])} | {cell(together['latency_p10_ms'])} |")
    print(f"{holding} of {points} intervals of throughput hold 1; {times[0]:.0f} s shared, {times[1]:.0f} s apart; load average "
          f"{os.getloadavg()[0]:.2f} at the end")


if __name__ == "__main__":
    main()
