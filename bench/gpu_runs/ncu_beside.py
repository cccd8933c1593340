#!/usr/bin/env python3
"""Bytes of DRAM of a batch: what `deepgap profile --json` counted, beside what Nsight Compute did.

    ncu_beside.py PROFILE.json NCU.csv

NCU.csv holds dram__bytes_read.sum and dram__bytes_write.sum of several batches of the same network, one row a metric, with --cache-control none.
Two metrics fit in one pass, so that ncu replays nothing and finds the caches as the kernel before left them. The first batch is the warm-up's."""
import csv
import json
import statistics
import sys

UNITS = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}
WAYS = {"read": ("dram__bytes_read.sum", "dram_read_bytes"), "written": ("dram__bytes_write.sum", "dram_written_bytes")}


def batches_of(path, kernels):
    """Per batch and kernel the bytes by metric, in the order of launch."""
    launches = {}
    with open(path) as lines:
        for row in csv.DictReader(line for line in lines if line.startswith('"')):
            if row["Metric Unit"] in UNITS:
                launches.setdefault(row["ID"], {})[row["Metric Name"]] = float(row["Metric Value"].replace(",", "")) * UNITS[row["Metric Unit"]]
    launches = list(launches.values())
    if not launches or len(launches) % kernels:
        sys.exit(f"{path}: {len(launches)} kernels are no whole number of batches of {kernels}")
    return [launches[first:first + kernels] for first in range(0, len(launches), kernels)]


def main(profile, counted):
    kernels = json.load(open(profile))["device_counters"]["kernels"]
    batches = batches_of(counted, len(kernels))[1:]
    for name, (metric, ours) in WAYS.items():
        theirs = [sum(kernel[metric] for kernel in batch) for batch in batches]
        mine = sum(kernel[ours] for kernel in kernels)
        middle = statistics.median(theirs)
        print(f"{name}: ours {mine / 1e9:.4f} GB, Nsight Compute {middle / 1e9:.4f} ({min(theirs) / 1e9:.4f} to {max(theirs) / 1e9:.4f}), {100 * (mine / middle - 1):+.2f} %")
    apart = []
    for place, kernel in enumerate(kernels):
        theirs = statistics.median(sum(batch[place][metric] for metric, _ in WAYS.values()) for batch in batches)
        apart.append(abs(sum(kernel[ours] for _, ours in WAYS.values()) / theirs - 1))
    print(f"of {len(kernels)} kernels: {100 * statistics.median(apart):.1f} % apart in the median, {100 * max(apart):.0f} % at most")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
