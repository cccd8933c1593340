#!/usr/bin/env python3
"""Whether deepgap's figures for libtorch_cuda are fair: each beside a plain loop over PyTorch's Python interface on the same GPU.

    python3 bench/peers/torch_cuda.py [--program build/bin/deepgap] [--models resnet18,resnet50] [--precisions fp16] [--batches 1,32,256]
        [--modes graph,eager] [--layouts channels_last,channels_first] [--inputs ready] [--rounds 5] [--seconds 2]

Both sides run the same layers, random weights, as a CUDA graph or eagerly. The loop keeps one batch on the GPU in the
network's own type and layout; deepgap takes its samples as --inputs says. The loop is timed twice: `each` waits for every batch, as a
query does, and is what the ratio is of; `ahead` launches batches without waiting, which no caller who needs the answers can do. A round is
one process each, one after the other, the first changing with the round. Printed: medians of images/s, and median and quartiles of the
rounds' ratios deepgap / each. The aim is 0.95. Exit code 1 when a median is below it. Needs Python's torch."""
import argparse
import csv
import io
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

AIM = 0.95
SCRIPT = pathlib.Path(sys.argv[0]).name
ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = {"resnet18": (2, 2, 2, 2), "resnet50": (3, 4, 6, 3), "resnet101": (3, 4, 23, 3)}


def network(name):
    """The layers of torchvision's ResNets (v1.5). Batch normalisations are layers, as in deepgap's LibTorch engines."""
    from torch import nn

    def convolution(inputs, outputs, size, stride=1):
        return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs))

    class Block(nn.Module):
        def __init__(self, inputs, width, stride, bottleneck):
            super().__init__()
            outputs = width * 4 if bottleneck else width
            sizes = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)] if bottleneck else [
                (inputs, width, 3, stride), (width, outputs, 3, 1)]
            self.convolutions = nn.ModuleList(convolution(*size) for size in sizes)
            self.shortcut = convolution(inputs, outputs, 1, stride) if stride > 1 or inputs != outputs else None
            self.relu = nn.ReLU(inplace=True)
            self.outputs = outputs

        def forward(self, x):
            y = x
            for i, step in enumerate(self.convolutions):
                y = step(self.relu(y) if i else y)
            return self.relu(y + (x if self.shortcut is None else self.shortcut(x)))

    layers = [convolution(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, count in enumerate(LAYERS[name]):
        for block in range(count):
            layers.append(Block(channels, 64 << stage, 2 if stage and not block else 1, name != "resnet18"))
            channels = layers[-1].outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def mobilenet_v2():
    """The layers of torchvision's MobileNetV2."""
    from torch import nn

    def convolution(inputs, outputs, size, stride=1, groups=1):
        return [nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride, expansion):
            super().__init__()
            width = inputs * expansion
            layers = [] if expansion == 1 else [*convolution(inputs, width, 1), nn.ReLU6(inplace=True)]
            self.layers = nn.Sequential(*layers, *convolution(width, width, 3, stride, width), nn.ReLU6(inplace=True),
                                        *convolution(width, outputs, 1))
            self.adds = stride == 1 and inputs == outputs

        def forward(self, x):
            return x + self.layers(x) if self.adds else self.layers(x)

    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    layers, channels = [*convolution(3, 32, 3, 2), nn.ReLU6(inplace=True)], 32
    for expansion, outputs, count, stride in stages:
        for i in range(count):
            layers.append(Block(channels, outputs, 1 if i else stride, expansion))
            channels = outputs
    layers += [*convolution(channels, 1280, 1), nn.ReLU6(inplace=True)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000))


def loop(name, precision, batch, mode, layout, seconds):
    """Images/s of the loop, waiting for each batch and not: the body of the child process."""
    import torch
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    kind = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)
    form = torch.channels_last if layout == "channels_last" else torch.contiguous_format
    net = network(name).eval().to("cuda", kind, memory_format=form)
    x = torch.rand(batch, 3, 224, 224, device="cuda", dtype=kind).contiguous(memory_format=form)
    return rates(net, x, mode, batch, seconds)


def captured(net, x):
    """A function that replays net over x as one CUDA graph, without waiting for it."""
    import torch
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            net(x)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x)
    return graph.replay


def rates(net, x, mode, batch, seconds):
    """Items/s of net over x, as calls ('eager') or as one CUDA graph, waiting for each batch and launching ahead."""
    import time
    import torch
    with torch.inference_mode():
        step = lambda: net(x)
        if mode == "graph":
            step = captured(net, x)

        def rate(wait):
            begin, count = time.perf_counter(), 0
            while time.perf_counter() - begin < seconds:
                for _ in range(1 if wait else 20):
                    step()
                    count += 1
                torch.cuda.synchronize()
            return batch * count / (time.perf_counter() - begin)

        for _ in range(20):
            step()
        torch.cuda.synchronize()
        return {"each": rate(True), "ahead": rate(False)}


def output_of(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{SCRIPT}: {(done.stderr.strip() or done.stdout.strip() or 'no words').splitlines()[-1]}")
    return done.stdout


def quartiles(values):
    return statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3


class Bench:
    aimless = ()  # modes that are reported and not judged
    engine = "libtorch_cuda"

    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, pathlib.Path(folder)

    def flags(self, batch):
        """Returns deepgap's flags beside what is compared."""
        return ["--warmup", 20, "--axis", f"inputs={self.arguments.inputs}"]

    def options(self, mode, layout):
        """Returns the flags that give the loop's mode and layout to deepgap's engine."""
        return ["--axis", f"cuda_graph={'off' if mode == 'eager' else 'on'}", "--axis",
                f"channels_last={'on' if layout == 'channels_last' else 'off'}"]

    def model(self, name):
        """Returns deepgap's name for the loop's network."""
        return name

    def deepgap(self, name, precision, batch, mode, layout):
        a, store = self.arguments, self.folder / "bench.db"
        store.unlink(missing_ok=True)
        output_of([a.program, "run", "--model", self.model(name), "--backend", self.engine, "--device", "cuda:0", "--precision", precision, "--batch",
                   batch, "--duration", f"{a.seconds}s", "--repeats", 1, "--check", "off", "--store", store,
                   *self.options(mode, layout), *self.flags(batch)])
        row = next(csv.DictReader(io.StringIO(output_of([a.program, "export", store, "--format", "csv"]))))
        if row["outcome"] != "ok":
            sys.exit(f"{SCRIPT}: {row['reason']}")
        return float(row["throughput"])

    def torch(self, *what):
        text = output_of([sys.executable, sys.argv[0], "--child", json.dumps([*what, self.arguments.seconds])])
        return json.loads(text.splitlines()[-1])

    def compare(self, *what):
        ours, theirs = [], []
        for number in range(self.arguments.rounds):
            sides = [lambda: ours.append(self.deepgap(*what)), lambda: theirs.append(self.torch(*what))]
            for side in sides if number % 2 == 0 else reversed(sides):
                side()
        each = [value["each"] for value in theirs]
        low, middle, high = quartiles([a / b for a, b in zip(ours, each)])
        ahead = statistics.median(value["ahead"] for value in theirs)
        print(f"| {' | '.join(str(part) for part in what)} | {statistics.median(ours):.0f} | {statistics.median(each):.0f} | {ahead:.0f} | "
              f"{middle:.3f} ({low:.3f}-{high:.3f}) |", flush=True)
        return middle


def flags_of(description, **defaults):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/bin/deepgap")
    parser.add_argument("--models", default=defaults["models"])
    parser.add_argument("--precisions", default=defaults["precisions"])
    parser.add_argument("--batches", default=defaults["batches"])
    parser.add_argument("--modes", default=defaults["modes"])
    parser.add_argument("--layouts", default="channels_last")
    parser.add_argument("--rounds", type=int, default=defaults["rounds"])
    parser.add_argument("--seconds", type=float, default=defaults.get("seconds", 2))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser


def run(arguments, title, kind, body, aim):
    """Compares everything that is asked for by a Bench of this kind; in a child process the body of its loop. The exit code: 1 below the aim."""
    if arguments.child:
        print(json.dumps(body(*json.loads(arguments.child))))
        return 0
    print(title)
    print("| model | precision | batch | mode | layout | deepgap | each | ahead | ratio to each (quartiles) |\n|" + " --- |" * 9, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = kind(arguments, folder)
        middles = [(mode, bench.compare(name, precision, int(batch), mode, layout)) for name in arguments.models.split(",")
                   for precision in arguments.precisions.split(",") for mode in arguments.modes.split(",")
                   for layout in arguments.layouts.split(",") for batch in arguments.batches.split(",")]
    return 1 if any(middle < aim for mode, middle in middles if mode not in kind.aimless) else 0


def main():
    parser = flags_of(__doc__, models="resnet18,resnet50", precisions="fp16", batches="1,32,256", modes="graph,eager", rounds=5)
    parser.add_argument("--inputs", default="ready")
    arguments = parser.parse_args()
    return run(arguments, f"{arguments.rounds} rounds of {arguments.seconds:g} s, inputs={arguments.inputs}, images/s", Bench, loop, AIM)


if __name__ == "__main__":
    sys.exit(main())
