#!/usr/bin/env python3
"""The native engine against OpenVINO and ONNX Runtime on the same model, weights and samples: a duel of each batch size.

    python3 bench/cpu_engine.py [--model resnet50] [--precision fp32] [--batches 1,16] [--peers openvino,onnxruntime] [--threads N]
        [--budget 2min] [--margin 2%] [--axis native.KEY=VALUE ...] [--build build]

`deepgap run --duel backend` (docs/duels.md): each engine in a worker of its own, checked against the reference, short turns in random order,
one query at a time on all threads. Printed: items a second of each engine in its turns, and native over each peer with its interval and what
the duel says. Peers that refuse are named with their reason. For int8 the model is quantized once, the same bytes for all. Waiting threads
that spin take the others' time: GOMP_SPINCOUNT is 10000 where nothing else is said.
Results: docs/results/cpu-engine.md."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="resnet50", help="zoo name or ONNX file")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--batches", default="1,16")
    parser.add_argument("--peers", default="openvino,onnxruntime")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--budget", default="2min")
    parser.add_argument("--margin", default="2%")
    parser.add_argument("--axis", action="append", default=[], help="NAME=VALUE, as for deepgap run")
    parser.add_argument("--build", default="build")
    return parser.parse_args()


class Bench:
    def __init__(self, arguments):
        self.a = arguments
        self.program = (ROOT / arguments.build).resolve() / "bin/deepgap"
        self.env = dict(os.environ, GOMP_SPINCOUNT=os.environ.get("GOMP_SPINCOUNT", "10000"))

    def run(self, *command):
        done = subprocess.run([str(self.program), *map(str, command)], cwd=ROOT, env=self.env, capture_output=True, text=True)
        if done.returncode not in (0, 1):  # 1: a Record says what went wrong
            sys.exit(done.stderr.strip() or f"cpu_engine: exit code {done.returncode}")
        return done.stdout

    def duel(self, batch, store):
        a = self.a
        flags = ["--model", a.model, "--duel", "backend", "--backend", "native," + a.peers, "--precision", a.precision, "--batch", batch,
                 "--threads", a.threads, "--scenario", "batch", "--budget", a.budget, "--margin", a.margin, "--store", store]
        for axis in a.axis:
            flags += ["--axis", axis]
        summary = json.loads(self.run("run", *flags, "--json"))
        rows = json.loads(self.run("export", store, "--format", "json"))
        return summary["duels"], {row["backend"]: row for row in rows}


def native_over(contender):
    """The duel is told of the peer over native."""
    if "ratio" not in contender:
        return "-"
    text = f"{1 / contender['ratio']:.3f}"
    if "low" in contender:
        text += f" ({1 / contender['high']:.3f} to {1 / contender['low']:.3f})"
    return text


def said(contender, row):
    if row.get("outcome") != "ok":
        return f"{row.get('outcome')}: {row.get('reason')}"
    words = {"faster": "native is slower", "slower": "native is faster", "same": "the same"}.get(contender["verdict"])
    return words or contender["text"]


def main():
    bench = Bench(parse())
    a = bench.a
    print(f"{cpu_name()}, {a.threads} threads, {a.precision} {a.model}; load average {os.getloadavg()[0]:.2f}")
    print("| batch | native, items/s | peer | peer, items/s | native over it | |\n| --- | --- | --- | --- | --- | --- |", flush=True)
    compared = False
    for batch in a.batches.split(","):
        with tempfile.TemporaryDirectory() as folder:
            duels, rows = bench.duel(batch, os.path.join(folder, "duel.db"))
        native = rows.get("native", {})
        for contender in duels[0]["contenders"] if duels else []:
            peer = rows.get(contender["contender"], {})
            compared = compared or "ratio" in contender
            rates = [f"{row['throughput']:.1f}" if row.get("throughput") else "-" for row in (native, peer)]
            print(f"| {batch} | {rates[0]} | {contender['contender']} | {rates[1]} | {native_over(contender)} | {said(contender, peer)} |",
                  flush=True)
        if not duels:
            print(f"| {batch} | - | | | | {native.get('outcome')}: {native.get('reason')} |", flush=True)
    return 0 if compared else 1


if __name__ == "__main__":
    sys.exit(main())
