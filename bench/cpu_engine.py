#!/usr/bin/env python3
"""The native engine against OpenVINO and ONNX Runtime on the same model, weights and samples: a duel of each batch size.

    python3 bench/cpu_engine.py [--model resnet50] [--precision fp32] [--batches 1,16] [--peers openvino,onnxruntime] [--threads N]
        [--budget 2min] [--margin 2%] [--axis native.KEY=VALUE ...] [--build build]

`deepgap run --duel backend` (docs/how-to/compare-engines.md): each engine in a worker of its own, checked against the reference, short turns in random order,
one query at a time on all threads. Printed: items a second of each engine in its turns, and native over each peer with its interval and what
the duel says. Peers that refuse are named with their reason. For int8 the model is quantized once, the same bytes for all. Waiting threads
that spin take the others' time: GOMP_SPINCOUNT is 10000 where nothing else is said.
Results: docs/results/xeon.md."""
import argparse
import os
import pathlib
import sys

import duels


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


def main():
    a = parse()
    program = (duels.ROOT / a.build).resolve() / "bin/deepgap"
    print(f"{cpu_name()}, {a.threads} threads, {a.precision} {a.model}; load average {os.getloadavg()[0]:.2f}")
    print("| batch | native, items/s | peer | peer, items/s | native over it | |\n| --- | --- | --- | --- | --- | --- |", flush=True)
    compared = False
    for batch in a.batches.split(","):
        flags = ["--model", a.model, "--precision", a.precision, "--batch", batch, "--threads", a.threads, "--budget", a.budget, "--margin",
                 a.margin]
        for axis in a.axis:
            flags += ["--axis", axis]
        try:
            contenders, rows = duels.of_backends(program, ["native", *a.peers.split(",")], flags, duels.quiet_threads())
        except duels.Failed as failure:
            sys.exit(str(failure))
        native = rows.get("native", {})
        for contender in contenders:
            peer = rows.get(contender["contender"], {})
            compared = compared or peer.get("outcome") == "ok"  # a short duel has no ratio
            print(f"| {batch} | {duels.rate(native)} | {contender['contender']} | {duels.rate(peer)} | {duels.over_it(contender)} | "
                  f"{duels.said(contender, peer, 'native')} |", flush=True)
        if not contenders:
            print(f"| {batch} | - | | | | {native.get('outcome')}: {native.get('reason')} |", flush=True)
    return 0 if compared else 1


if __name__ == "__main__":
    sys.exit(main())
