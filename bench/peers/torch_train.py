#!/usr/bin/env python3
"""Whether deepgap's figures for training on libtorch_cuda are fair: each beside a plain loop over PyTorch's Python interface on that GPU.

    python3 bench/peers/torch_train.py [--program build/bin/deepgap] [--models resnet50] [--precisions fp32,tf32,bf16,mixed] [--batches 64]
        [--modes eager,graph,compile] [--layouts channels_last] [--rounds 3] [--seconds 2]

Both sides train the same layers from random weights with SGD with momentum (fused), cross-entropy and the same autocast, as eager calls or
as one CUDA graph of the whole step; `mixed` is float16 with scaled losses. `compile` sets deepgap's CUDA graph beside a loop whose network
went through torch.compile, which fuses what ours does not: it is told, and no aim is set for it. The loop keeps one batch on the GPU; deepgap's samples lie there
too (inputs=device). The loop is timed twice: `each` waits for every step, as deepgap with one step in flight does, and is what the ratio is
of; `ahead` launches steps without waiting. A round is one process each, one after the other, the first changing with the round. Printed:
medians of images/s, and median and quartiles of the rounds' ratios deepgap / each. The aim is 0.97. Exit code 1 when a median is below it.
Needs Python's torch, of which torchvision is no part: the networks are torch_cuda.py's."""
import sys

import torch_cuda

AIM = 0.97


def training_step(name, precision, batch, layout, compiled):
    """A function that trains one batch, which lies on the GPU."""
    import torch
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    form = torch.channels_last if layout == "channels_last" else torch.contiguous_format
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16, "mixed": torch.float16}.get(precision)
    net = torch_cuda.network(name).train().to("cuda", memory_format=form)
    if compiled:
        net = torch.compile(net)
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
    step = training_step(name, precision, batch, layout, mode == "compile")
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
    aimless = ("compile",)

    def flags(self, batch):
        return ["--task", "train", "--warmup", 10, "--axis", "inputs=device", "--axis", f"samples={batch}"]


def main():
    arguments = torch_cuda.flags_of(__doc__, models="resnet50", precisions="fp32,tf32,bf16,mixed", batches="64", modes="eager,graph",
                                    rounds=3).parse_args()
    return torch_cuda.run(arguments, f"training, {arguments.rounds} rounds of {arguments.seconds:g} s, images/s", Bench, loop, AIM)


if __name__ == "__main__":
    sys.exit(main())
