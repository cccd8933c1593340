"""Tests `deepgap run --task generate --backend native`: decoders in the process, from the run to the export, and refusals.

Usage: generate_native_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import os
import struct
import subprocess
import unittest

from built_with import needs
from store_case import PROGRAM, StoreCase

SMALL = "smollm2_135m:layers=1,vocabulary=512"


class GenerateNativeTest(StoreCase):
    def generate(self, *flags, model=SMALL):
        command = [PROGRAM, "run", "--cache", self.dir, "--store", self.store, "--backend", "native", "--task", "generate", "--model", model, *flags]
        return subprocess.run(command, capture_output=True, text=True)

    def test_metrics_of_tokens(self):
        done = self.generate("--scenario", "single-stream", "--prompt-tokens", "32", "--output-tokens", "8", "--warmup", "1", "--iterations", "5")
        self.assertEqual(done.returncode, 0, done.stderr)
        row = self.rows()[0]
        self.assertEqual(row["outcome"], "ok", row["reason"])
        self.assertEqual((row["input_tokens"], row["output_tokens"], row["cached_tokens"]), (32, 8, 0))
        for metric in ("ttft_ms", "tpot_ms", "itl_p99_ms", "output_tokens_per_s", "prefill_tokens_per_s", "decode_tokens_per_s", "kv_cache_bytes"):
            self.assertGreater(row[metric], 0, metric)
        self.assertGreater(row["prefill_tokens_per_s"], row["input_tokens_per_s"])
        self.assertAlmostEqual(row["decode_tokens_per_s"] * row["tpot_ms"] / 1e3, 1, delta=0.5)

    def test_scenarios_with_several_requests_at_a_time(self):
        for scenario in (["concurrency", "--clients", "3"], ["offline"], ["server", "--rate", "20", "--duration", "1s"]):
            done = self.generate("--scenario", *scenario, "--streams", "3", "--prompt-tokens", "16", "--output-tokens", "4", "--warmup", "1",
                                 *(["--iterations", "12"] if scenario[0] != "server" else []))
            self.assertIn(done.returncode, (0, 1), (scenario, done.stderr))
        for row in self.rows():
            self.assertEqual(row["outcome"], "ok", row["reason"])
            self.assertEqual(row["output_tokens"], 4)

    def test_greedy_answers_are_the_same_and_weights_may_be_quantized(self):
        answers = []
        for kind in ("f32", "f32", "q8_0", "q4_0", "bf16"):
            path = os.path.join(self.dir, "answers")
            done = self.generate("--scenario", "single-stream", "--prompt-tokens", "16", "--output-tokens", "4", "--warmup", "0", "--iterations", "2",
                                 "--prompt-reuse", "on", "--threads", "1", "--axis", f"answers={path}", model=f"{SMALL},type={kind}")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path) as file:
                answers.append([json.loads(line)["tokens"] for line in file])
            os.unlink(self.store)
        self.assertEqual(answers[0], answers[1])

    @needs(PROGRAM, "run", "--mlperf", "v6.0")
    def test_an_mlperf_run_times_tokens(self):
        logs = os.path.join(self.dir, "logs")
        mlperf = ["--mlperf", "v6.0", "--axis", "mlperf_use_token_latencies=1", "--axis", "mlperf_min_duration=500", "--axis", "mlperf_min_query_count=5",
                  "--axis", "mlperf_samples=8", "--axis", "mlperf_ttft_latency=30000", "--axis", "mlperf_tpot_latency=30000", "--mlperf-log", logs]
        done = self.generate("--scenario", "server", "--rate", "20", "--prompt-tokens", "16", "--output-tokens", "4", *mlperf)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        row = self.rows()[0]
        self.assertEqual(row["outcome"], "ok", row["reason"])
        self.assertGreater(row["output_tokens_per_s"], 0)
        self.assertGreater(row["ttft_p50_ms"], 0)
        with open(os.path.join(logs, "mlperf_log_detail.txt")) as file:
            entries = {entry["key"]: entry["value"] for entry in (json.loads(line.split(" ", 1)[1]) for line in file)}
        self.assertEqual(entries["requested_server_ttft_latency"], 30_000_000_000)
        self.assertGreater(entries["result_first_token_50.00_percentile_latency_ns"], 0)
        self.assertGreater(entries["result_time_per_output_token_50.00_percentile_ns"], 0)
        self.assertLess(entries["result_first_token_max_latency_ns"], entries["result_max_latency_ns"])
        with open(os.path.join(logs, "mlperf_log_summary.txt")) as file:
            self.assertIn("Completed tokens per second", file.read())

    @needs(PROGRAM, "run", "--mlperf", "v6.0")
    def test_latencies_of_tokens_need_tokens(self):
        command = [PROGRAM, "run", "--cache", self.dir, "--store", self.store, "--backend", "null", "--model", "resnet18", "--scenario", "server",
                   "--rate", "100", "--mlperf", "v6.0", "--axis", "mlperf_use_token_latencies=1"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--task generate", done.stderr)

    def test_what_cannot_be_is_one_line(self):
        torn, other = os.path.join(self.dir, "torn.gguf"), os.path.join(self.dir, "other.gguf")
        with open(torn, "wb") as file:
            file.write(b"GGUF" + struct.pack("<IQQ", 3, 1 << 40, 0))
        with open(other, "wb") as file:
            key, value = b"general.architecture", b"mamba"
            file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", len(key)) + key + struct.pack("<IQ", 8, len(value)) + value)
        wrong = [
            ((), os.path.join(self.dir, "gone.gguf"), "gone.gguf"),
            ((), torn, "too short"),
            ((), other, "'mamba'"),
            (("--axis", "sampling_seed=3"), SMALL, "temperature"),
            (("--axis", "temperature=-1"), SMALL, "a number from 0 to 100"),
            ((), "smollm2_135m:type=q5_0", "expected f32, f16"),
            (("--precision", "int8"), SMALL, "quantized GGUF file"),
            (("--batch", "2"), SMALL, "one prompt"),
            ((), "digits_cnn", "needs a decoder"),
        ]
        for flags, model, words in wrong:
            done = self.generate("--scenario", "single-stream", "--iterations", "2", *flags, model=model)
            self.assertIn(done.returncode, (1, 2), (flags, done.stdout, done.stderr))
            self.assertIn(words, done.stderr + done.stdout, (flags, model))

    def test_a_prompt_beyond_the_context_is_refused(self):
        done = self.generate("--scenario", "single-stream", "--prompt-tokens", "8190", "--output-tokens", "8", "--iterations", "2")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("context", self.rows()[0]["reason"])

    def test_a_decoder_is_not_inferred(self):
        done = subprocess.run([PROGRAM, "run", "--cache", self.dir, "--store", self.store, "--backend", "native", "--model", SMALL], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--task generate", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=["generate_native_test", *__import__("sys").argv[2:]])
