#!/usr/bin/env python3
"""Whether deepgap's figures for training on libtorch_cuda are fair: each beside a plain loop over PyTorch's Python interface on that GPU.

    python3 bench/peers/torch_train.py [--program build/bin/deepgap] [--models resnet50] [--precisions fp32,tf32,bf16,mixed] [--batches 64]
        [--modes eager,graph] [--layouts channels_last] [--rounds 3] [--seconds 2]

Both sides train the same layers from random weights with SGD with momentum (fused), cross-entropy and the same autocast, as eager calls or
as one CUDA graph of the whole step; `mixed` is float16 with scaled losses. The loop keeps one batch on the GPU; deepgap's samples lie there
too (inputs=device). The loop is timed twice: `each` waits for every step, as deepgap with one step in flight does, and is what the ratio is
of; `ahead` launches steps without waiting. A round is one process each, one after the other, the first changing with the round. Printed:
medians of images/s, and median and quartiles of the rounds' ratios deepgap / each. The aim is 0.97. Exit code 1 when a median is below it.
Needs Python's torch, of which torchvision is no part: the networks are torch_cuda.py's."""
import argparse
import csv
import io
import json
import sys
import tempfile

import torch_cuda

AIM = 0.97


def training_step(name, precision, batch, layout):
    """A function that trains one batch, which lies on the GPU."""
    import torch
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    form = torch.channels_last if layout == "channels_last" else torch.contiguous_format
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16, "mixed": torch.float16}.get(precision)
    net = torch_cuda.network(name).train().to("cuda", memory_format=form)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, fused=True)
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0, enabled=kind is torch.float16)
    x = torch.rand(batch, 3, 224, 224, device="cuda").contiguous(memory_format=form)
    labels = torch.randint(0, 1000, (batch,), device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=kind or torch.bfloat16, enabled=kind is not None):
            loss = torch.nn.functional.cross_entropy(net(x), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return step


def captured(step):
    import torch
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def loop(name, precision, batch, mode, layout, seconds):
    """Images/s of the loop, waiting for each step and not: the body of the child process."""
    import time
    import torch
    step = training_step(name, precision, batch, layout)
    if mode == "graph":
        step = captured(step)

    def rate(wait):
        begin, count = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            for _ in range(1 if wait else 10):
                step()
                count += 1
            torch.cuda.synchronize()
        return batch * count / (time.perf_counter() - begin)

    for _ in range(10):
        step()
    torch.cuda.synchronize()
    return {"each": rate(True), "ahead": rate(False), "memory_mib": torch.cuda.max_memory_allocated() / 2**20}


class Bench(torch_cuda.Bench):
    def deepgap(self, name, precision, batch, mode, layout):
        a, store = self.arguments, self.folder / "bench.db"
        store.unlink(missing_ok=True)
        torch_cuda.output_of([
            a.program, "run", "--task", "train", "--model", name, "--backend", "libtorch_cuda", "--device", "cuda:0", "--precision", precision,
            "--batch", batch, "--warmup", 10, "--duration", f"{a.seconds}s", "--repeats", 1, "--check", "off", "--store", store, "--axis",
            f"cuda_graph={'on' if mode == 'graph' else 'off'}", "--axis", f"channels_last={'on' if layout == 'channels_last' else 'off'}",
            "--axis", "inputs=device", "--axis", f"samples={batch}"])
        row = next(csv.DictReader(io.StringIO(torch_cuda.output_of([a.program, "export", store, "--format", "csv"]))))
        if row["outcome"] != "ok":
            sys.exit(f"torch_train.py: {row['reason']}")
        return float(row["throughput"])

    def torch(self, *what):
        text = torch_cuda.output_of([sys.executable, __file__, "--child", json.dumps([*what, self.arguments.seconds])])
        return json.loads(text.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=torch_cuda.ROOT / "build/bin/deepgap")
    parser.add_argument("--models", default="resnet50")
    parser.add_argument("--precisions", default="fp32,tf32,bf16,mixed")
    parser.add_argument("--batches", default="64")
    parser.add_argument("--modes", default="eager,graph")
    parser.add_argument("--layouts", default="channels_last")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(loop(*json.loads(arguments.child))))
        return 0
    print(f"training, {arguments.rounds} rounds of {arguments.seconds:g} s, images/s")
    print("| model | precision | batch | mode | layout | deepgap | each | ahead | ratio to each (quartiles) |\n|" + " --- |" * 9, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, folder)
        middles = [bench.compare(name, precision, int(batch), mode, layout) for name in arguments.models.split(",")
                   for precision in arguments.precisions.split(",") for mode in arguments.modes.split(",")
                   for layout in arguments.layouts.split(",") for batch in arguments.batches.split(",")]
    return 1 if min(middles) < AIM else 0


if __name__ == "__main__":
    sys.exit(main())
