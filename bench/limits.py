#!/usr/bin/env python3
"""Limits of deepgap itself: `deepgap --help` under 20 ms, and the parent of a run under 40 MB.

    python3 bench/limits.py [PATH_TO_DEEPGAP]

Prints the median of many starts, and the parent's peak resident memory over a run of 200 null points. Limits are printed, not enforced."""
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

deepgap = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/bin/deepgap").resolve()


def help_milliseconds():
    times = []
    for _ in range(40):
        begin = time.perf_counter()
        subprocess.run([deepgap, "--help"], stdout=subprocess.DEVNULL, check=True)
        times.append((time.perf_counter() - begin) * 1e3)
    return times


def peak_mib(pid):
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0.0


def parent_mib(folder):
    command = [deepgap, "run", "--backend", "null", "--model", "resnet18,resnet152", "--batch", "1..100", "--iterations", "20", "--warmup", "1",
               "--axis", "latency=10us", "--store", f"{folder}/limits.db"]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0.0
    while run.poll() is None:
        peak = max(peak, peak_mib(run.pid))
        time.sleep(0.005)
    if run.returncode != 0:
        sys.exit(f"limits: the run ended with exit code {run.returncode}")
    return peak


def main():
    times = help_milliseconds()
    print(f"deepgap --help: median {statistics.median(times):.1f} ms, {min(times):.1f} to {max(times):.1f}, limit 20 ms")
    with tempfile.TemporaryDirectory() as folder:
        print(f"parent of a run of 200 points: peak {parent_mib(folder):.1f} MiB, limit 40 MB")


if __name__ == "__main__":
    main()
