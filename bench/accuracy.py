#!/usr/bin/env python3
"""Accuracy of reduced precision (long): EfficientNet-Lite0 with its ImageNet weights on crops of the packaged colour pictures.

    python3 bench/accuracy.py [PATH_TO_DEEPGAP] [--samples 1000] [--quantize method=entropy ...] [--engines openvino,onnxruntime,native]

Prints a Markdown table of each engine and precision against FP32 on the native engine: top-1 agreement on all crops, and on those whose best
class is in FP32 at least 0.1 more probable than the second; then the requirements of the project and whether they hold. Exit code 1 when one
does not. Every engine gets the same INT8 file. Crops are checked with seed 1 and calibrated with seed 2."""
import argparse
import json
import platform
import subprocess
import sys

MODEL = ["efficientnet_lite0", "--weights", "imagenet"]


def check(options, engine, precision):
    command = [options.deepgap, "check", *MODEL, "--backend", engine, "-p", precision, "--dataset", f"crops:seed=1,count={options.samples}",
               "--samples", str(options.samples), "--against", "native", "--margin", "0.1", "--json"]
    for setting in options.quantize:
        command += ["--quantize", setting]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode not in (0, 1) or not run.stdout:
        return {"refused": run.stderr.strip().splitlines()[-1] if run.stderr.strip() else f"exit code {run.returncode}"}
    return json.loads(run.stdout)


def cpu_name():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())


def percent(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("deepgap", nargs="?", default="build/bin/deepgap")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--quantize", action="append", default=None)
    parser.add_argument("--engines", default="native,openvino,onnxruntime")
    options = parser.parse_args()
    options.quantize = options.quantize or ["dataset=crops", "samples=256"]
    print(f"{options.samples} crops, {cpu_name()}, INT8 by {', '.join(options.quantize)}\n")
    print("| engine | precision | all crops | sure crops (margin 0.1) | of them | SQNR | engine's version or refusal |\n| --- | --- | --- | --- | --- | --- | --- |")
    results = {}
    for precision in ("bf16", "int8"):
        for engine in options.engines.split(","):
            result = results[engine, precision] = check(options, engine, precision)
            if "refused" in result:
                print(f"| {engine} | {precision} | - | - | - | - | {result['refused']} |", flush=True)
                continue
            print(f"| {engine} | {precision} | {percent(result['top1_agreement'])} | {percent(result['confident_top1_agreement'])} | "
                  f"{result['confident_samples']} | {result['sqnr_db']:.1f} dB | {result['backend']} |", flush=True)
    failures = 0
    print()
    for (engine, precision), result in results.items():
        if "refused" in result:
            continue
        least = {"bf16": 0.995, "int8": 0.98}[precision]
        good = result["confident_top1_agreement"] is not None and result["confident_top1_agreement"] >= least
        failures += not good
        print(f"{'holds' if good else 'FAILS'}: {engine} {precision} agrees on {percent(result['confident_top1_agreement'])} of the sure crops, {percent(least)} asked")
        other = results.get(("native", precision), {"refused": ""})
        if engine != "native" and "refused" not in other:
            good = other["top1_agreement"] >= result["top1_agreement"] - 0.01
            failures += not good
            print(f"{'holds' if good else 'FAILS'}: native {precision} on all crops is no more than 1 point under {engine}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
