#!/usr/bin/env python3
"""Compares the time that DEEP-GAP's protocol takes with the time that deepgap takes to an interval as narrow, on the same points.

    python3 bench/deep_gap_time.py [--models resnet18,resnet50] [--backends native,onnxruntime] [--precisions fp32] [--batches 1,8]
        [--interval 1%] [--only-as-wide | --grid] [--warmup 20] [--iterations 100] [--repeats 3] [--sweeps 10] [--threads N] [--device cuda:0] [--build build]

The protocol (arXiv 2604.14552): 20 warm-up and 100 timed iterations, 3 repeats in each of 10 sweeps, each a process of its own: 30 runs.
Ours: `--repeats auto`, block after block until the interval over the processes is within what is asked. Each Point is measured by both, one
after the other, the first changing with the Point; both have their outputs checked once before, so that no time is for that. Ours is
asked twice: for --interval, and for what the protocol reached on this Point, unless the first answer is as tight; with --only-as-wide for the second alone,
so that the protocol is always the first. With --grid ours is one command for all batches of a model, engine and precision, which share processes,
and each batch is asked for the width that the protocol reached there. Printed: seconds of either from the command's beginning to its end, the mean
throughput over the processes with the half-width of its 95 % interval, and the share of the protocol's time. Times mean something on a machine with nothing else to do."""
import argparse
import json
import os
import pathlib
import sys
import time

import duels

ROOT = pathlib.Path(__file__).resolve().parents[1]


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.program = (ROOT / arguments.build).resolve() / "bin/deepgap"
        self.work = (ROOT / arguments.build).resolve() / "deep_gap_time"
        self.work.mkdir(parents=True, exist_ok=True)

    def run(self, *command):
        return duels.run(self.program, *command)

    def measure_all(self, *what):
        """Seconds of one command; by batch the half-width over the processes relative to the value, how many there were, and the value."""
        store = self.work / "time.db"
        store.unlink(missing_ok=True)
        begin = time.monotonic()
        self.run("run", *what, "--store", store)
        seconds = time.monotonic() - begin
        found = {}
        for row in json.loads(self.run("export", store, "--format", "json", "--by", "point")):
            if row["outcome"] != "ok":
                raise duels.Failed(row["reason"])
            if not row.get("throughput_ci_low") or not row.get("throughput_ci_high"):
                raise duels.Failed("no interval")
            width = (row["throughput_ci_high"] - row["throughput_ci_low"]) / 2 / row["throughput"]
            found[str(row["batch"])] = width, row["repeats"], row["throughput"]
        return seconds, found

    def measure(self, point, *how):
        seconds, found = self.measure_all(*point, *how)
        [one] = found.values()
        return seconds, *one

    def grid(self, flags, batches):
        """Returns what the protocol gives for each batch, then the seconds and results of one command for all of them."""
        self.run("run", *flags, "--batch", ",".join(batches), "--warmup", 1, "--iterations", 1, "--repeats", 1, "--store", self.work / "warm.db")
        theirs = {batch: self.protocol([*flags, "--batch", batch]) for batch in batches}
        study = self.work / "grid.toml"
        study.write_text("".join(f'[[grid]]\nbatch = {batch}\ninterval = "{theirs[batch][1] * 100:.3g}%"\n' for batch in batches))
        seconds, ours = self.measure_all(study, *flags, "--repeats", "auto", "--budget", self.arguments.budget)
        return theirs, seconds, ours

    def protocol(self, point):
        a = self.arguments
        return self.measure(point, "--warmup", a.warmup, "--iterations", a.iterations, "--repeats", a.repeats, "--sweeps", a.sweeps)

    def ours(self, point, interval):
        return self.measure(point, "--repeats", "auto", "--interval", f"{interval * 100:.3g}%", "--budget", self.arguments.budget)

    def compare(self, point, protocol_first):
        asked = float(self.arguments.interval.rstrip("%")) / 100
        self.run("run", *point, "--warmup", 1, "--iterations", 1, "--repeats", 1, "--store", self.work / "warm.db")  # weights, references
        if self.arguments.only_as_wide:
            theirs = self.protocol(point)
            return theirs, None, self.ours(point, theirs[1])
        if protocol_first:
            theirs = self.protocol(point)
            ours = self.ours(point, asked)
        else:
            ours = self.ours(point, asked)
            theirs = self.protocol(point)
        as_wide = ours if ours[1] <= theirs[1] <= asked else self.ours(point, theirs[1])
        return theirs, ours, as_wide


def add_flags(parser):
    """The flags of flags_of(), and where the program is."""
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--axis", action="append", default=[], help="NAME=VALUE, as for deepgap run")
    parser.add_argument("--no-check", action="store_true", help="outputs are not checked: no reference need be made first")
    parser.add_argument("--build", default="build")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="resnet18,resnet50")
    parser.add_argument("--backends", default="native,onnxruntime")
    parser.add_argument("--precisions", default="fp32")
    parser.add_argument("--batches", default="1,8")
    parser.add_argument("--interval", default="1%")
    parser.add_argument("--only-as-wide", action="store_true", help="ask ours for the protocol's interval alone")
    parser.add_argument("--grid", action="store_true", help="ours is one command for all batches, asked for the protocol's intervals")
    parser.add_argument("--budget", default="5min", help="of ours, for all repeats of a Point")
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=10)
    add_flags(parser)
    return parser.parse_args()


def cell(found, of=None):
    if found is None:
        return "not asked | "
    seconds, width, repeats, value = found
    share = f", {seconds / of:.2f} of it" if of else ""
    return f"{seconds:.0f} s{share} | {value:.4g} +- {width * 100:.2f} % of {repeats} "


def flags_of(a, model, backend, precision):
    flags = ["--model", model, "--backend", backend, "--device", a.device, "--precision", precision, "--scenario", "batch"]
    flags += ["--threads", a.threads] if a.device == "cpu" else []
    flags += ["--check", "off"] if a.no_check else []
    for axis in a.axis:
        flags += ["--axis", axis]
    return flags


def compare_grids(bench):
    a, failed = bench.arguments, False
    print("| Point | protocol takes | items/s | ours, items/s |")
    print("| --- | --- | --- | --- |")
    for model, backend, precision in [(m, b, p) for m in a.models.split(",") for b in a.backends.split(",") for p in a.precisions.split(",")]:
        try:
            theirs, seconds, ours = bench.grid(flags_of(a, model, backend, precision), a.batches.split(","))
        except duels.Failed as failure:
            print(f"| {model} {backend} {precision} | not measured: {failure} | | |", flush=True)
            failed = True
            continue
        for batch, found in theirs.items():
            print(f"| {model} {backend} {precision} batch {batch} | {cell(found)}| {cell((seconds, *ours[batch])).split(' | ')[1]}|")
        whole = sum(found[0] for found in theirs.values())
        print(f"| all batches | {whole:.0f} s | | {seconds:.0f} s, {seconds / whole:.2f} of it |", flush=True)
    print(f"load average {os.getloadavg()[0]:.2f} at the end")
    return 1 if failed else 0


def main():
    arguments = parse()
    bench = Bench(arguments)
    a = arguments
    print(f"{a.device}, {a.threads} threads; the protocol: {a.warmup} + {a.iterations} iterations, {a.repeats} repeats, {a.sweeps} sweeps; load average "
          f"{os.getloadavg()[0]:.2f} at the beginning")
    if a.grid:
        return compare_grids(bench)
    print(f"| Point | protocol takes | items/s | ours to {a.interval} takes | items/s | ours to the protocol's takes | items/s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    sums, failed = [0.0, 0.0, 0.0], False
    points = [(m, b, p, n) for m in a.models.split(",") for b in a.backends.split(",") for p in a.precisions.split(",")
              for n in a.batches.split(",")]
    for number, (model, backend, precision, batch) in enumerate(points):
        name = f"{model} {backend} {precision} batch {batch}"
        flags = [*flags_of(a, model, backend, precision), "--batch", batch]
        try:
            theirs, ours, as_wide = bench.compare(flags, number % 2 == 0)
        except duels.Failed as failure:
            print(f"| {name} | not measured: {failure} | | | | | |", flush=True)
            failed = True
            continue
        for place, found in enumerate((theirs, ours, as_wide)):
            sums[place] += found[0] if found else 0
        print(f"| {name} | {cell(theirs)}| {cell(ours, theirs[0])}| {cell(as_wide, theirs[0])}|", flush=True)
    if sums[0] > 0:
        asked = "" if a.only_as_wide else f" ours {sums[1]:.0f} s ({sums[1] / sums[0]:.2f} of it),"
        print(f"together: {sums[0]:.0f} s,{asked} ours to the protocol's widths {sums[2]:.0f} s ({sums[2] / sums[0]:.2f} of it); "
              f"load average {os.getloadavg()[0]:.2f} at the end")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
