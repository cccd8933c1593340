#!/usr/bin/env python3
"""Whether deepgap's figures are fair to the engines: each against the engine's own tool, or a plain loop over its own interface; and how
the engines stand to each other.

    python3 bench/peers/peers.py [--engine NAME,...] [--models NAME,...] [--precisions fp32,bf16,int8] [--batch 1] [--rounds 9]
        [--seconds 2] [--budget 2min] [--margin 2%] [--duels-only] [--threads N] [--build build]

openvino: benchmark_app of its package; onnxruntime, native, libtorch: build/bin/peer_ENGINE, a plain loop. Both sides get the same ONNX
file, threads, batch and precision. A round is one run of each, one after the other, the first changing with the round; deepgap's figure
is the throughput of `deepgap run`, a fresh process like the peer's. Printed: both medians, and median and quartiles of the rounds' ratios
deepgap / peer. The aim is 0.95. Exit code 1 when a median is below it. This is a loop of processes and no duel, since a peer is a program
that deepgap does not drive: what is asked is what deepgap adds to an engine.

The engines among each other are all deepgap's to drive: a duel of each model and precision, every engine against the first of --engine, on the
same files (--duels-only: nothing else). --budget 0 leaves them out."""
import argparse
import csv
import io
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import duels  # noqa: E402

AIM = 0.95


class Failed(Exception):
    pass


def run(command, env=None, good=(0,)):
    done = subprocess.run([str(part) for part in command], env=env, cwd=ROOT, capture_output=True, text=True)
    if done.returncode not in good:
        words = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise Failed(f"{pathlib.Path(str(command[0])).name}: {words[-1] if words else 'no words'}")
    return done.stdout


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.build = (ROOT / arguments.build).resolve()
        self.work = self.build / "peers"
        self.work.mkdir(parents=True, exist_ok=True)
        self.env = duels.quiet_threads()
        rows = json.loads(run([self.build / "bin/deepgap", "backends", "--json"]))
        self.backends = {row["name"]: row for row in rows}
        # Where deepgap keeps OpenVINO off an AMX that the machine only half shows, its own tool would end by SIGILL.
        if "without AMX" in self.backends.get("openvino", {}).get("version", ""):
            self.env.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")

    def model_file(self, model, precision):
        if precision == "int8":
            file = self.work / f"{model}-int8.onnx"
            if not file.exists():
                run([self.build / "bin/deepgap", "quantize", model, "-o", file])
        else:
            file = self.work / f"{model}.onnx"
            if not file.exists():
                run([self.build / "bin/deepgap", "models", model, "--onnx", file])
        return file

    def deepgap(self, engine, file, precision, batch):
        store = self.work / "peers.db"
        store.unlink(missing_ok=True)
        a = self.arguments
        command = [self.build / "bin/deepgap", "run", "--model", file, "--backend", engine, "--precision", precision, "--batch", batch,
                   "--threads", a.threads, "--scenario", "batch", "--warmup", 5, "--duration", f"{a.seconds}s", "--repeats", 1, "--check", "off",
                   "--store", store]
        if engine == "openvino":  # as its peer runs
            command += ["--axis", "openvino.hint=none", "--axis", "openvino.streams=1"]
        run(command, self.env, good=(0, 1))  # 1: its Record says why not
        text = run([self.build / "bin/deepgap", "export", store, "--format", "csv"])
        row = next(csv.DictReader(io.StringIO(text)))
        if row["outcome"] != "ok":
            raise Failed(row["reason"])
        return float(row["throughput"])

    def peer(self, engine, file, precision, batch):
        a = self.arguments
        if engine == "openvino":
            return self.benchmark_app(file, precision, batch)
        program = self.build / f"bin/peer_{engine}"
        if not program.exists():
            raise Failed(f"{program} is not there")
        return float(run([program, file, a.threads, batch, a.seconds], dict(self.env, PEER_PRECISION=precision)))

    def benchmark_app(self, file, precision, batch):
        a = self.arguments
        packages = self.work / "packages"
        if not packages.exists():
            run([sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes", "--target", packages, "-r",
                 ROOT / "bench/peers/requirements.txt"])
        # benchmark_app takes a number of threads only without a hint. One stream, one request at a time, threads and precision said.
        command = [ROOT / ".venv/bin/benchmark_app", "-m", file, "-d", "CPU", "-hint", "none", "-api", "sync", "-nireq", 1, "-nstreams", 1,
                   "-nthreads", a.threads, "-t", max(1, round(a.seconds)), "-shape", f"[{batch},3,224,224]", "-infer_precision",
                   "bf16" if precision == "bf16" else "f32", "-inference_only", "True"]
        text = run(command, dict(self.env, PYTHONPATH=str(packages)))
        found = re.search(r"Throughput:\s+([0-9.]+) FPS", text)
        if not found:
            raise Failed("benchmark_app printed no throughput")
        return float(found.group(1))

    def compare(self, engine, model, precision, batch):
        file = self.model_file(model, precision)
        ours, theirs = [], []
        for number in range(self.arguments.rounds):
            sides = [lambda: ours.append(self.deepgap(engine, file, precision, batch)),
                     lambda: theirs.append(self.peer(engine, file, precision, batch))]
            for side in sides if number % 2 == 0 else reversed(sides):
                side()
        return ours, theirs


    def duel(self, model, precision):
        a = self.arguments
        flags = ["--model", self.model_file(model, precision), "--precision", precision, "--batch", a.batch, "--threads", a.threads, "--budget",
                 a.budget, "--margin", a.margin]
        return duels.of_backends(self.build / "bin/deepgap", a.engine.split(","), flags, self.env)


def quartiles(values):
    return statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="openvino,onnxruntime,native,libtorch")
    parser.add_argument("--models", default="resnet50,mobilenet_v2")
    parser.add_argument("--precisions", default="fp32,bf16,int8")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--budget", default="2min", help="of the turns of a duel; 0: none")
    parser.add_argument("--margin", default="2%", help="of a duel")
    parser.add_argument("--duels-only", action="store_true")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--build", default="build")
    return parser.parse_args()


def fairness(bench):
    """Returns whether a median is below the aim."""
    a = bench.arguments
    print(f"{cpu_name()}, {a.threads} threads, batch {a.batch}, {a.rounds} rounds of {a.seconds:g} s, items/s")
    print("| engine | model | precision | deepgap | peer | ratio (quartiles) |\n| --- | --- | --- | --- | --- | --- |")
    below = False
    for engine in a.engine.split(","):
        for model in a.models.split(","):
            for precision in a.precisions.split(","):
                line = f"| {engine} | {model} | {precision} |"
                try:
                    ours, theirs = bench.compare(engine, model, precision, a.batch)
                except Failed as failure:
                    print(f"{line} not compared: {failure} | | |", flush=True)
                    continue
                low, middle, high = quartiles([a / b for a, b in zip(ours, theirs)])
                below = below or middle < AIM
                print(f"{line} {statistics.median(ours):.2f} | {statistics.median(theirs):.2f} | {middle:.3f} ({low:.3f}-{high:.3f}) |",
                      flush=True)
    return below


def among_each_other(bench):
    a = bench.arguments
    first = a.engine.split(",")[0]
    print(f"\n{cpu_name()}, {a.threads} threads, batch {a.batch}, duels of at most {a.budget}, items/s in their turns")
    print(f"| model | precision | engine | its | {first}'s | over {first} | |\n| --- | --- | --- | --- | --- | --- | --- |")
    for model in a.models.split(","):
        for precision in a.precisions.split(","):
            try:
                contenders, rows = bench.duel(model, precision)
            except (Failed, duels.Failed) as failure:
                print(f"| {model} | {precision} | not compared: {failure} | | | | |", flush=True)
                continue
            for contender in contenders:
                name = contender["contender"]
                row = rows.get(name, {})
                print(f"| {model} | {precision} | {name} | {duels.rate(row)} | {duels.rate(rows.get(first, {}))} | {duels.over(contender)} | "
                      f"{duels.said(contender, row, first)} |", flush=True)
            if not contenders:
                print(f"| {model} | {precision} | no duel: {rows.get(first, {}).get('reason')} | | | | |", flush=True)


def main():
    arguments = parse()
    bench = Bench(arguments)
    below = False if arguments.duels_only else fairness(bench)
    if arguments.budget != "0" and "," in arguments.engine:
        among_each_other(bench)
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
