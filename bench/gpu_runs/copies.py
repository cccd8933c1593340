#!/usr/bin/env python3
"""Measures copies between host and GPUs, for each card alone and for every group of cards at once.

A card that shares its PCIe switch, its socket's memory or a root port with another one is slower beside it than alone; the table shows which
pairs do. Host memory that lies on another socket shows as buffers that are slow for some cards. Needs PyTorch.

    python3 bench/gpu_runs/copies.py --output copies.csv
"""
import argparse
import collections
import csv
import itertools
import os
import random
import statistics
import sys
import threading
import time

import torch

MIB = 1 << 20


def rates(moves, seconds):
    """Returns bytes per second of each (destination, source) that copies for `seconds`, all at the same time."""
    done, start = [0.0] * len(moves), threading.Barrier(len(moves))

    def work(index, to, source):
        card = to.device if to.is_cuda else source.device
        with torch.cuda.device(card):
            stream, waiting, moved = torch.cuda.Stream(), collections.deque(), 0
            with torch.cuda.stream(stream):
                to.copy_(source, non_blocking=True)
                stream.synchronize()
                start.wait()
                begin = time.perf_counter()
                while time.perf_counter() - begin < seconds:
                    to.copy_(source, non_blocking=True)
                    event = torch.cuda.Event()
                    event.record(stream)
                    waiting.append(event)
                    if len(waiting) > 2:
                        waiting.popleft().synchronize()
                        moved += to.numel()
                done[index] = moved / (time.perf_counter() - begin)  # the last copy counted has just ended
                stream.synchronize()

    threads = [threading.Thread(target=work, args=(i, to, source)) for i, (to, source) in enumerate(moves)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def pinned(size, cpus):
    """Returns a pinned buffer of the host for each CPU, first touched from there."""
    allowed, buffers = os.sched_getaffinity(0), []
    for cpu in cpus:
        os.sched_setaffinity(0, {cpu})
        buffers.append(torch.empty(size, dtype=torch.uint8, pin_memory=True).fill_(cpu % 251))
    os.sched_setaffinity(0, allowed)
    return buffers


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--output", default="copies.csv")
    arguments.add_argument("--seconds", type=float, default=0.4)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--mib", type=int, default=256)
    asked = arguments.parse_args()
    cards, size = torch.cuda.device_count(), asked.mib * MIB
    if cards == 0:
        sys.exit("copies.py: no GPU here")
    allowed = sorted(os.sched_getaffinity(0))
    cpus = [allowed[len(allowed) * i // 8] for i in range(8)]
    device = [[torch.empty(size, dtype=torch.uint8, device=f"cuda:{card}") for _ in range(2)] for card in range(cards)]
    host = pinned(size, cpus)
    found = collections.defaultdict(list)  # (kind, group, card) -> GB/s of each round

    def keep(kind, group, names, moves, seconds):
        for name, rate in zip(names, rates(moves, seconds)):
            found[(kind, group, name)].append(rate / 1e9)

    plan = []
    for count in range(1, cards + 1):
        for group in itertools.combinations(range(cards), count):
            name = "+".join(map(str, group))
            plan.append(("to_device", name, group, [(device[c][0], host[c % len(host)]) for c in group], asked.seconds))
            if count in (1, cards):
                plan.append(("to_host", name, group, [(host[c % len(host)], device[c][0]) for c in group], asked.seconds))
                if count > 1:
                    both = [(device[c][0], host[c % len(host)]) for c in group] + [(host[(c + cards) % len(host)], device[c][1]) for c in group]
                    plan.append(("both_ways", name, [f"{c} in" for c in group] + [f"{c} out" for c in group], both, asked.seconds))
    for one, other in itertools.permutations(range(cards), 2):
        plan.append(("peer", f"{one}>{other}", [other], [(device[other][0], device[one][0])], asked.seconds / 2))
    for number, cpu in enumerate(cpus):
        for card in range(cards):
            plan.append((f"buffer_of_cpu_{cpu}", str(card), [card], [(device[card][0], host[number])], 0.03))
    order = random.Random(1)
    try:
        for _ in range(asked.rounds):
            order.shuffle(plan)
            for kind, group, names, moves, seconds in plan:
                keep(kind, group, names, moves, seconds)
    except KeyboardInterrupt:
        print("copies.py: interrupted; the table has what was measured", file=sys.stderr)

    with open(asked.output, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["kind", "cards", "card", "median_gb_per_s", "least", "most", "rounds"])
        for (kind, group, card), values in sorted(found.items(), key=lambda row: (row[0][0], len(row[0][1]), row[0][1], str(row[0][2]))):
            table.writerow([kind, group, card] + [f"{v:.2f}" for v in (statistics.median(values), min(values), max(values))] + [len(values)])


main()
