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
import os
import pathlib
import statistics
import sys
import time

import deep_gap_time
import duels

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from charts import geometric  # noqa: E402

METRICS = ("throughput", "latency_p10_ms")


class Bench:
    def __init__(self, arguments):
        self.a = arguments
        self.program = (ROOT / arguments.build).resolve() / "bin/deepgap"
        self.store = (ROOT / arguments.build).resolve() / "shared_process.db"

    def measure(self, model, backend, batches, seed):
        """Returns the metrics of each batch by one command, and the seconds that it took."""
        self.store.unlink(missing_ok=True)
        flags = deep_gap_time.flags_of(self.a, model, backend, self.a.precision)
        flags += ["--batch", ",".join(map(str, batches)), "--duration", self.a.duration, "--repeats", 1, "--seed", seed, "--store", self.store]
        begin = time.monotonic()
        duels.run(self.program, "run", *flags)
        seconds = time.monotonic() - begin
        rows = json.loads(duels.run(self.program, "export", self.store, "--format", "json"))
        bad = [row["reason"] for row in rows if row["outcome"] != "ok"]
        if bad:
            raise duels.Failed(bad[0])
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


def cell(ratios):
    value, low, high = geometric(ratios)
    return f"{value:.3f}x ({low:.3f} to {high:.3f})"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="resnet18")
    parser.add_argument("--backends", default="native,onnxruntime")
    parser.add_argument("--batches", default="1,2,4,8", type=lambda text: [int(one) for one in text.split(",")])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--duration", default="1s")
    parser.add_argument("--precision", default="fp32")
    deep_gap_time.add_flags(parser)
    arguments = parser.parse_args()
    if arguments.rounds < 2:
        parser.error("--rounds: an interval needs two rounds at least")
    return arguments


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
            ratios = {batch: {name: [] for name in METRICS} for batch in a.batches}
            for number in range(a.rounds):
                shared, apart = bench.round(model, backend, number)
                times = [times[0] + shared[1], times[1] + apart[1]]
                for batch in a.batches:
                    for name in METRICS:
                        ratios[batch][name].append(shared[0][batch][name] / apart[0][batch][name])
            for name in METRICS:  # a disturbance hits all points of a round, so a round counts once
                everything[name] += [statistics.geometric_mean(ratios[batch][name][i] for batch in a.batches) for i in range(a.rounds)]
            for batch in a.batches:
                _, low, high = geometric(ratios[batch]["throughput"])
                points, holding = points + 1, holding + (low <= 1 <= high)
                print(f"| {model} {backend} batch {batch} | {cell(ratios[batch]['throughput'])} | {cell(ratios[batch]['latency_p10_ms'])} |", flush=True)
    print(f"| all points | {cell(everything['throughput'])} | {cell(everything['latency_p10_ms'])} |")
    print(f"{holding} of {points} intervals of throughput hold 1; {times[0]:.0f} s shared, {times[1]:.0f} s apart; load average "
          f"{os.getloadavg()[0]:.2f} at the end")


if __name__ == "__main__":
    try:
        main()
    except duels.Failed as failure:
        sys.exit(str(failure))
