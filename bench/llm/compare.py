#!/usr/bin/env python3
"""deepgap on a server whose times are known (timetable_server.py): what it reports of a load, and the truth.

    python3 bench/llm/compare.py [--build build] [--requests 60] [--only CASE]

The truth of a case comes from the server: when it wrote each chunk, against when the request was due. Requests of an open loop are due at equal
distances from the first one. Cases:

    plain     one user at a time, a token a chunk
    chunks    one user at a time, four tokens a chunk, as with speculative decoding
    queue     an open loop at 1.5 times what the server carries, by a client that may have only as many requests in flight as the server serves
              at once, so that requests wait at the client

Exit code 1 if deepgap is off by more than 10 %, and by more than 5 ms."""
import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKENS, PROMPT, FIRST, INTERVAL = 21, 32, 0.1, 0.02


class Case:
    def __init__(self, name, chunk=1, slots=1000, rate=None):
        self.name, self.chunk, self.slots, self.rate = name, chunk, slots, rate


# An answer of `queue` takes 0.5 s, so that two slots carry 4 a second.
CASES = [Case("plain"), Case("chunks", chunk=4), Case("queue", slots=2, rate=6)]


@contextlib.contextmanager
def served(case):
    command = [sys.executable, ROOT / "bench/llm/timetable_server.py", "--first", FIRST, "--interval", INTERVAL, "--chunk", case.chunk, "--slots", case.slots]
    server = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
    finally:
        server.terminate()
        server.wait()


def truth_of(url, case, requests):
    """Means in ms over the last `requests` answers, which are those that were measured."""
    with urllib.request.urlopen(f"{url}/truth") as answer:
        answers = sorted(json.load(answer), key=lambda one: one["came"])
    answers = [one for one in answers if sum(count for _, count in one["written"]) == TOKENS][-requests:]
    first = answers[0]["came"]
    due = [first + i / case.rate if case.rate else one["came"] for i, one in enumerate(answers)]
    ttft = [one["written"][0][0] - when for one, when in zip(answers, due)]
    tpot = [(one["written"][-1][0] - one["written"][0][0]) / (TOKENS - 1) for one in answers]
    return {"ttft": 1e3 * statistics.mean(ttft), "per_token": 1e3 * statistics.mean(tpot)}


def by_deepgap(url, case, requests, arguments):
    load = ["--scenario", "constant", "--rate", case.rate, "--axis", f"connections={case.slots}"] if case.rate else ["--scenario", "single-stream"]
    with tempfile.TemporaryDirectory() as folder:
        store, program = os.path.join(folder, "a.db"), (ROOT / arguments.build / "bin/deepgap").resolve()
        run = [program, "run", "--backend", "openai", "--device", url, "--model", "timetable", "--prompt-tokens", PROMPT, "--output-tokens", TOKENS,
               *load, "--warmup", 0, "--iterations", requests, "--store", store]
        done = subprocess.run([str(part) for part in run], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(done.stderr)
        row = json.loads(subprocess.run([program, "export", store, "--format", "json"], capture_output=True, text=True, check=True).stdout)[0]
    return {"ttft": row["ttft_ms"], "between_tokens": row["itl_ms"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--only", choices=[case.name for case in CASES])
    arguments = parser.parse_args()
    print("| case | TTFT ms | true | off | between tokens ms | true | off |\n| --- | --- | --- | --- | --- | --- | --- |")
    off_by_much = False
    for case in CASES:
        if arguments.only not in (None, case.name):
            continue
        with served(case) as url:
            measured = by_deepgap(url, case, arguments.requests, arguments)
            true = truth_of(url, case, arguments.requests)
        pairs = [(measured["ttft"], true["ttft"]), (measured["between_tokens"], true["per_token"])]
        cells = " | ".join(f"{a:.1f} | {b:.1f} | {100 * (a / b - 1):+.1f} %" for a, b in pairs)
        print(f"| {case.name} | {cells} |", flush=True)
        off_by_much |= any(abs(a / b - 1) > 0.1 and abs(a - b) > 5 for a, b in pairs)
    sys.exit(1 if off_by_much else 0)


if __name__ == "__main__":
    main()
