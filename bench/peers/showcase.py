#!/usr/bin/env python3
"""deepgap's native engine beside PyTorch on one GPU, interleaved: the data of the chart in README.

    python3 bench/peers/showcase.py --output FOLDER [--program build/bin/deepgap] [--model resnet50] [--precision fp16]
        [--batches 1,32,256] [--modes eager,graph,compile] [--rounds 5] [--seconds 3] [--budget 540] [--check on|off]

Every round measures every arm at every batch, in random order: the native engine in a process of its own, and PyTorch in one of its own for
each batch, where its modes alternate. All arms have the same layers, the same precision, and inputs that already lie on the GPU in channels
last. Each arm warms up for two seconds, so that a card at its power limit has reached it. PyTorch waits for every batch, as a caller
who needs the answers does. `compile` is torch.compile(mode="max-autotune"); a mode that does not work here is named and left out.

Writes FOLDER/NAME.csv, a row a measurement, and FOLDER/NAME.db, a compact, anonymous store of the native engine's records, where NAME is
MODEL-PRECISION-DEVICE, after each round. No round begins that would end after the budget. tools/charts.py draws the result. Needs Python's
torch, and for torch.compile a C compiler. Its first use takes minutes: `--rounds 1` fills its cache, so that the next call measures only."""
import argparse
import csv
import datetime
import importlib.metadata
import json
import pathlib
import random
import re
import subprocess
import sys
import time

import torch_cuda
import torch_transformers

TRANSFORMERS = ("bert_base", "vit_b_16")
WARM_S = 2
MODES = {"eager": "PyTorch eager", "graph": "PyTorch CUDA graph", "compile": "PyTorch torch.compile"}
COLUMNS = ("round", "engine", "model", "precision", "batch", "items_per_s", "verdict", "started")


def network(model, kind):
    """Returns the network of this type on the GPU, ready for inference."""
    import torch
    if model in TRANSFORMERS:
        return torch_transformers.network(model).eval().to("cuda", kind)
    net = torch_cuda.mobilenet_v2() if model == "mobilenet_v2" else torch_cuda.network(model)
    return net.eval().to("cuda", kind, memory_format=torch.channels_last)


def sample(model, batch, kind):
    import torch
    if model in TRANSFORMERS:
        return torch_transformers.sample(model, batch, kind)
    return torch.rand(batch, 3, 224, 224, device="cuda", dtype=kind).contiguous(memory_format=torch.channels_last)


def step_of(mode, net, x):
    """A function that computes net over x on the GPU once, without waiting for it."""
    import torch
    if mode == "graph":
        return torch_cuda.captured(net, x)
    if mode == "compile":
        compiled = torch.compile(net, mode="max-autotune")
        return lambda: compiled(x)
    return lambda: net(x)


def rate(step, batch, seconds):
    import torch
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        step()
        torch.cuda.synchronize()
        count += 1
    return batch * count / (time.perf_counter() - begin)


def child(model, precision, batch, modes, seconds):
    """Measures PyTorch's modes in this order. Prints a JSON line for each."""
    import torch
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    kind = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)
    net, x = network(model, kind), sample(model, batch, kind)
    with torch.inference_mode():
        for mode in modes:
            started = now()
            try:
                step = step_of(mode, net, x)
                for _ in range(3):
                    step()
                torch.cuda.synchronize()
                rate(step, batch, WARM_S)
                print(json.dumps({"mode": mode, "items_per_s": rate(step, batch, seconds), "started": started}), flush=True)
            except Exception as error:  # torch.compile and its compilers may raise anything; the other modes go on
                print(json.dumps({"mode": mode, "error": (str(error).strip() or type(error).__name__).splitlines()[0]}), flush=True)


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def output_of(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"showcase.py: {(done.stderr.strip() or done.stdout.strip() or 'no message').splitlines()[-1]}")
    return done.stdout


class Showcase:
    def __init__(self, arguments):
        self.arguments = arguments
        self.folder = pathlib.Path(arguments.output)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.store = self.folder / "measured.db"
        self.store.unlink(missing_ok=True)
        self.warmup = {}  # queries for two seconds, by batch
        self.broken = {}  # mode: why

    def deepgap(self, store, batch, *flags):
        a = self.arguments
        return output_of([a.program, "run", "-m", torch_transformers.model(a.model), "--backend", "native", "--device", "cuda:0", "-p", a.precision, "-b", batch, "-r", 1,
                          "--axis", "native.tune=off", "--axis", "inputs=ready", "--cache", self.folder / "cache", "--store", store, *flags])

    def native(self, number, batch):
        started = now()
        if batch not in self.warmup:
            trial = self.folder / "trial.db"
            trial.unlink(missing_ok=True)
            self.deepgap(trial, batch, "--duration", "500ms", "--check", "off")
            self.warmup[batch] = max(20, round(WARM_S * float(self.rows(trial)[-1]["throughput"]) / batch))
            trial.unlink()
        seconds = self.arguments.seconds
        self.deepgap(self.store, batch, "--warmup", self.warmup[batch], "--min-duration", f"{seconds:g}s", "--budget", f"{3 * seconds:g}s", "--check", self.arguments.check)
        row = self.rows(self.store)[-1]
        if row["outcome"] != "ok":
            sys.exit(f"showcase.py: {row['outcome']}: {row['reason']}")
        return [self.row(number, "deepgap native", batch, float(row["throughput"]), row["verdict"], started)]

    def rows(self, store):
        return list(csv.DictReader(output_of([self.arguments.program, "export", store, "--format", "csv"]).splitlines()))

    def pytorch(self, number, batch):
        modes = [mode for mode in self.arguments.modes.split(",") if mode not in self.broken]
        random.shuffle(modes)
        text = output_of([sys.executable, __file__, "--child", json.dumps([self.arguments.model, self.arguments.precision, batch, modes,
                                                                        self.arguments.seconds])])
        found = []
        for line in text.splitlines():
            if not line.startswith("{"):
                continue
            said = json.loads(line)
            if "error" in said:
                self.broken[said["mode"]] = said["error"]
                print(f"{MODES[said['mode']]} does not work here: {said['error']}", file=sys.stderr)
            else:
                found.append(self.row(number, MODES[said["mode"]], batch, said["items_per_s"], "", said["started"]))
        return found

    def row(self, number, engine, batch, items_per_s, verdict, started):
        print(f"round {number}: {engine}, batch {batch}: {items_per_s:.0f} items/s {verdict}", flush=True)
        a = self.arguments
        return dict(zip(COLUMNS, (number, engine, a.model, a.precision, batch, f"{items_per_s:.2f}", verdict, started)))

    def measure(self):
        """Measures and writes, round by round."""
        begin, rows, longest = time.monotonic(), [], 0.0
        batches = [int(batch) for batch in self.arguments.batches.split(",")]
        for number in range(1, self.arguments.rounds + 1):
            start = time.monotonic()
            if number > 2 and start - begin + longest > self.arguments.budget:  # the first round compiles, so the later ones count
                print(f"the budget ends after {number - 1} rounds", flush=True)
                break
            arms = [(side, batch) for batch in batches for side in (self.native, self.pytorch)]
            random.shuffle(arms)
            for side, batch in arms:
                rows += side(number, batch)
            self.write(self.complete(rows))  # so that a later round that is cut off loses nothing
            longest = max(longest if number > 2 else 0.0, time.monotonic() - start)

    def complete(self, rows):
        return [row for row in rows if row["engine"] not in {MODES[mode] for mode in self.broken}]

    def head(self, rows):
        # Not by torch, which would hold a context on the card while others are measured.
        text = output_of(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
        card, driver = text.splitlines()[0].split(", ")
        version = output_of([self.arguments.program, "--version"]).splitlines()[0]
        return {"device": card, "driver": driver, "pytorch": importlib.metadata.version("torch"), "deepgap": version, "date": rows[0]["started"][:10],
                "command": "python3 bench/peers/showcase.py " + " ".join(sys.argv[1:])}

    def write(self, rows):
        head = self.head(rows)
        name = f"{self.arguments.model}-{self.arguments.precision}-{re.sub('[^a-z0-9]+', '-', head['device'].lower().replace('nvidia ', '')).strip('-')}"
        with open(self.folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            for key, value in head.items():
                file.write(f"# {key}: {value}\n")
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        copy = self.folder / f"{name}.db"
        copy.unlink(missing_ok=True)
        output_of([self.arguments.program, "export", self.store, "--compact", "--anonymous", "-o", copy])
        print(f"wrote {self.folder / name}.csv and .db")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=torch_cuda.ROOT / "build/bin/deepgap")
    parser.add_argument("--output", required=False)
    parser.add_argument("--model", default="resnet50", choices=sorted([*torch_cuda.LAYERS, "mobilenet_v2", *TRANSFORMERS]))
    parser.add_argument("--precision", default="fp16", choices=["fp16", "bf16", "tf32", "fp32"])
    parser.add_argument("--batches", default="1,32,256")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--budget", type=float, default=540)
    parser.add_argument("--check", default="on", choices=["on", "off"], help="as of deepgap run")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*json.loads(arguments.child))
        return 0
    if not arguments.output:
        parser.error("--output FOLDER is missing")
    unknown = [mode for mode in arguments.modes.split(",") if mode not in MODES]
    if unknown:
        parser.error(f"invalid value '{unknown[0]}' for --modes: expected {', '.join(MODES)}")
    showcase = Showcase(arguments)
    showcase.measure()
    return 0


if __name__ == "__main__":
    sys.exit(main())
