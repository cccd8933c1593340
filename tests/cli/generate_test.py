"""Tests `deepgap run --task generate` on a scripted stream of tokens, in virtual time: from the run through the store to export and report.

Usage: generate_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import os
import re
import subprocess
import unittest

from store_case import PROGRAM, TINY, StoreCase

SCRIPT = ["--axis", "clock=virtual", "--axis", "latency=200ms", "--axis", "token_interval=20ms"]


class GenerateTest(StoreCase):
    flags = [*TINY, "--task", "generate", *SCRIPT, "--prompt-tokens", "64", "--output-tokens", "11"]

    def test_tokens_are_metrics_through_store_export_and_report(self):
        row = self.one(0, "--scenario", "single-stream", "--warmup", "2", "--iterations", "50")
        self.assertEqual(row["outcome"], "ok", row["reason"])
        self.assertAlmostEqual(row["ttft_ms"], 200)
        self.assertAlmostEqual(row["tpot_ms"], 20)
        self.assertAlmostEqual(row["itl_p99_ms"], 20)
        self.assertAlmostEqual(row["latency_p50_ms"], 400)
        self.assertAlmostEqual(row["requests_per_s"], 2.5)
        self.assertAlmostEqual(row["output_tokens_per_s"], 27.5)
        self.assertAlmostEqual(row["output_tokens_per_s_per_user"], 50)
        self.assertEqual((row["output_tokens"], row["cached_tokens"], row["split_token_share"]), (11, 0, 0))
        self.assertGreater(row["input_tokens"], 50)
        timings = subprocess.run([PROGRAM, "export", self.store, "--timings", "--format", "json"], capture_output=True, text=True, check=True).stdout
        first = json.loads(timings)[0]
        self.assertEqual((first["output_tokens"], first["ttft_ms"], first["tpot_ms"]), (11, 200, 20))
        page = os.path.join(self.dir, "report.html")
        subprocess.run([PROGRAM, "report", self.store, "-o", page], capture_output=True, text=True, check=True)
        with open(page) as file:
            self.assertIn("ttft", file.read())

    def test_time_to_the_first_token_counts_from_the_due_time(self):
        # A request takes 400 ms of the one server and comes each 500 ms or each 300 ms: the second rate makes a queue.
        row = self.one(0, "--scenario", "constant", "--rate", "2", "--duration", "20s")
        self.assertAlmostEqual(row["ttft_p99_ms"], 200)
        os.unlink(self.store)
        self.run_deepgap("--scenario", "constant", "--rate", "3", "--duration", "20s")
        self.assertGreater(self.rows()[0]["ttft_p99_ms"], 2000)

    def test_tokens_that_come_together_are_split_and_said_to_be(self):
        row = self.one(0, "--scenario", "single-stream", "--warmup", "1", "--iterations", "20", "--axis", "chunk_tokens=5")
        self.assertAlmostEqual(row["itl_ms"], 4, delta=3.5)
        self.assertGreater(row["split_token_share"], 0.8)

    def test_bounds_on_tokens_make_goodput_and_the_verdict(self):
        flags = ["--scenario", "single-stream", "--warmup", "1", "--iterations", "500"]
        row = self.one(0, *flags, "--bound", "ttft.p99=250ms,tpot.p99=30ms")
        self.assertEqual((row["verdict"], row["goodput_share"]), ("valid", 1))
        self.assertAlmostEqual(row["goodput"], 2.5)
        os.unlink(self.store)
        self.run_deepgap(*flags, "--bound", "ttft.p99=250ms,tpot.p99=10ms")
        row = self.rows()[0]
        self.assertEqual((row["verdict"], row["goodput_share"]), ("invalid", 0))
        self.assertIn("tpot.p99=10ms", row["reason"])

    def test_the_highest_load_that_holds_all_bounds_is_found(self):
        # An answer ends 200 ms after its first token, so that both bounds are the same one.
        found = []
        for bound in ("ttft.p99=1500ms,tpot.p99=50ms", "p99=1700ms"):
            done = self.run_deepgap("--scenario", "server", "--find-peak", "--bound", bound, "--duration", "500s")
            self.assertEqual(done.returncode, 0, done.stderr)
            found.append(float(re.search(r"peak: ([0-9.]+) queries a second meet " + re.escape(bound), done.stdout + done.stderr).group(1)))
            best = max((row for row in self.rows() if row["verdict"] == "valid"), key=lambda row: row["throughput"])
            if "ttft" in bound:
                self.assertGreaterEqual(best["goodput_share"], 0.98)
            os.unlink(self.store)
        self.assertAlmostEqual(found[0] / found[1], 1, delta=0.1)
        self.assertLess(found[0], 2.5, "400 ms a request")

    def test_counts_that_differ_are_a_verdict(self):
        self.run_deepgap("--scenario", "single-stream", "--warmup", "1", "--iterations", "20", "--axis", "counted_share=2")
        row = self.rows()[0]
        self.assertEqual(row["verdict"], "invalid")
        self.assertIn("token counts differ", row["reason"])

    def test_a_warm_cache_that_nobody_asked_for_is_a_verdict(self):
        flags = ["--scenario", "single-stream", "--warmup", "1", "--iterations", "20", "--axis", "cached_tokens=60"]
        self.run_deepgap(*flags)
        row = self.rows()[0]
        self.assertEqual(row["verdict"], "invalid")
        self.assertIn("prefix cache", row["reason"])
        os.unlink(self.store)
        row = self.one(0, *flags, "--prompt-reuse", "on")
        self.assertNotEqual(row["verdict"], "invalid")
        self.assertEqual(row["cached_tokens"], 20 * 60 if row["input_tokens"] >= 60 else row["cached_tokens"])

    def test_reasoning_counts_for_the_first_token_and_not_for_the_answer(self):
        row = self.one(0, "--scenario", "single-stream", "--warmup", "1", "--iterations", "20", "--axis", "reasoning_tokens=4")
        self.assertAlmostEqual(row["ttft_ms"], 200)
        self.assertAlmostEqual(row["time_to_answer_ms"], 280)

    def test_prompts_of_files(self):
        paths = {}
        for name, text in {"lines.txt": "one two three\nfour\n",
                           "chat.jsonl": json.dumps({"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "x" * 40},
                                                                       {"from": "human", "value": "And?"}]}) + "\n",
                           "burst.csv": "Timestamp,Model,Request tokens,Response tokens\n0.1,GPT-4,40,6\n0.9,GPT-4,80,6\n"}.items():
            paths[name] = os.path.join(self.dir, name)
            with open(paths[name], "w") as file:
                file.write(text)
        run = ["--scenario", "single-stream", "--warmup", "1", "--iterations", "20"]
        plain = [PROGRAM, "run", "--cache", self.dir, "--store", self.store, "--backend", "null", *TINY, "--task", "generate", *SCRIPT, *run]
        for name in paths:
            done = subprocess.run([*plain, "--prompts", paths[name]], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, (name, done.stderr))
        self.assertEqual([row["output_tokens"] for row in self.rows() if "burst" in row["dataset"]], [6])

    def test_a_long_conversation_takes_no_more_than_the_samples_asked_for(self):
        # All turns together would be 20 GB of text.
        path = os.path.join(self.dir, "turns.jsonl")
        with open(path, "w") as file:
            turns = [{"from": who, "value": "x" * 40} for _ in range(20_000) for who in ("human", "gpt")]
            file.write(json.dumps({"conversations": turns}) + "\n")
        self.run_deepgap("--scenario", "single-stream", "--warmup", "1", "--iterations", "5", "--prompts", path, "--axis", "samples=7")
        row = self.rows()[0]
        self.assertEqual(row["outcome"], "ok", row["reason"])
        self.assertIn("7 samples", row["dataset_description"])

    def test_what_cannot_be_is_one_line(self):
        files = {"torn.jsonl": '{"prompt":"a"}\n{"prompt":\n', "empty.txt": "", "deep.jsonl": '{"messages":' + "[" * 300_000 + "]" * 300_000 + "}\n",
                 "long.jsonl": '{"prompt":"a","output_tokens":9223372036854775807}\n', "long.csv": "Request tokens,Response tokens\n9000000000000,5\n"}
        for name, text in files.items():
            with open(os.path.join(self.dir, name), "w") as file:
                file.write(text)
        prompts = lambda name: ("--prompts", os.path.join(self.dir, name))
        wrong = [
            (prompts("torn.jsonl"), "torn.jsonl:2: invalid JSON"),
            (prompts("deep.jsonl"), "deep.jsonl:1: invalid JSON"),
            (prompts("long.jsonl"), 'long.jsonl:1: expected "output_tokens" to be a number of tokens from 1 to'),
            (prompts("long.csv"), "long.csv:2: expected a number of tokens from 1 to"),
            (prompts("empty.txt"), "no prompt is in it"),
            (("--prompts", os.path.join(self.dir, "gone.txt")), "there is no file of prompts"),
            (("--axis", "shared_prefix_tokens=-1"), "expected a whole number from 0 to"),
            (("--prompt-reuse", "maybe"), "expected off or on"),
            (("--batch", "4"), "one prompt"),
            (("--bound", "ttft.p99"), "expected a percentile and its limit"),
            (("--bound", "wait.p99=1s"), "expected a percentile and its limit"),
        ]
        for flags, words in wrong:
            done = self.run_deepgap("--scenario", "single-stream", *flags)
            self.assertEqual(done.returncode, 2, (flags, done.stdout, done.stderr))
            self.assertIn(words, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        for flags, words in (("--prompt-tokens", "0"), "expected a number of tokens"), (("--output-tokens", "uniform:9:2"), "expected a number of tokens"):
            done = subprocess.run([PROGRAM, "run", "--store", self.store, "--backend", "null", *TINY, "--task", "generate", *flags], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, (flags, done.stderr))
            self.assertIn(words, done.stderr)

    def test_options_of_generation_want_the_task(self):
        done = subprocess.run([PROGRAM, "run", "--store", self.store, "--backend", "null", *TINY, "--prompt-tokens", "5"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("add --task generate", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=["generate_test", *__import__("sys").argv[2:]])
