#!/usr/bin/env python3
"""Checks the time that a run shows as left, and the time that --dry-run predicts.

    python3 bench/time_left.py [--program build/bin/deepgap]

Some runs of different kinds, each of a minute or more. Printed of each: what --dry-run said over what it took; and of the lines from the first tenth of the time to nine tenths of it
those that told one figure, as said over left (lowest to highest) and how many were within a factor of 1.5; and those that told a range, the upper over the lower end in the median, and
how many held what was left. Asked for are 2 of --dry-run, and after the first tenth 1.5 of a figure; ranges are to hold four in five."""
import argparse
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
RUNS = {
    "studies/quickstart.toml": ["studies/quickstart.toml"],
    "two networks, two engines, to 1 %": ["-m", "resnet18,mobilenet_v2", "-e", "native,onnxruntime", "-b", "1,8", "-r", "2"],
    "20 + 100 iterations, 3 repeats": ["-m", "resnet18,resnet50", "-e", "native,onnxruntime", "-b", "1,4", "--warmup", "20", "-n", "100", "-r", "3"],
    "server, windows of 5 s": ["-m", "resnet18", "--scenario", "server", "--rate", "10,20,40", "--duration", "5s", "-r", "4"],
}
AMOUNT = re.compile(r"(?:(\d+) h ?)?(?:(\d+) min ?)?(?:([\d.]+) s)?")


def seconds(text):
    hours, minutes, rest = AMOUNT.fullmatch(text.strip().removeprefix("about ")).groups()
    return 3600 * int(hours or 0) + 60 * int(minutes or 0) + float(rest or 0)


def span(text):
    """Returns the ends, in seconds, of "about 3 min 5 s", "2 to 6 min", "80 s to 5 min" or "up to 50 s", also as "about 3 min 5 s (2 to 6 min)"."""
    text = text.rpartition("(")[2].removesuffix(")")
    if text.startswith("about "):
        return seconds(text), seconds(text)
    low, high = text.removeprefix("up ").split("to ") if text.startswith("up ") else text.split(" to ")
    unit = "" if " " in low.strip() or not low else " " + high.split()[-1]
    return seconds(low + unit) if low else 0.0, seconds(high)


def foretold(program, flags):
    with tempfile.TemporaryDirectory() as folder:  # as empty a Store as the run's
        command = [program, "run", *flags, "--dry-run", "--store", folder + "/t.db"]
        last = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    text = last.split(";")[-1].strip()
    return seconds(text.partition(" (")[0]), span(text) if "(" in text else None


def told(program, flags):
    """Seconds that it took, and what each line said was left at its time."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        process = subprocess.Popen([program, "run", *flags, "--store", folder + "/t.db"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        lines = [(time.monotonic() - begin, line) for line in process.stderr]
        if process.wait() not in (0, 1):
            raise SystemExit("".join(line for _, line in lines))
        took = time.monotonic() - begin
    left = [(at, re.search(r", ([^,]*) left$", line.rstrip())) for at, line in lines]
    return took, [(at, span(found[1])) for at, found in left if found]


def whether(ends, took):
    return "" if ends is None else f" (told {ends[0]:.0f} to {ends[1]:.0f}: {'held' if ends[0] <= took <= ends[1] else 'not held'})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/bin/deepgap"))
    arguments = parser.parse_args()
    print("| run | took, s | --dry-run said, of it | one figure: said / left | within 1.5 | a range: high / low, median | held |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, flags in RUNS.items():
        said, ends = foretold(arguments.program, flags)
        took, lines = told(arguments.program, flags)
        lines = [(took - at, ends) for at, ends in lines if 0.1 * took <= at <= 0.9 * took]
        ratios = [low / left for left, (low, high) in lines if low == high]
        ranges = [(left, low, high) for left, (low, high) in lines if low < high]
        figure = f"{min(ratios):.2f} to {max(ratios):.2f} | {sum(1 / 1.5 <= ratio <= 1.5 for ratio in ratios)} of {len(ratios)}" if ratios else " | "
        widths = [high / max(low, 1) for _, low, high in ranges]
        spread = f"{statistics.median(widths):.1f} | {sum(low <= left <= high for left, low, high in ranges)} of {len(ranges)}" if ranges else " | "
        print(f"| {name} | {took:.0f} | {said / took:.2f}{whether(ends, took)} | {figure} | {spread} |", flush=True)


if __name__ == "__main__":
    main()
