"""Tests `deepgap run --task generate` with ONNX decoders that have past key values: answers, several requests at a time, and refusals.

Usage: generate_onnx_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import glob
import json
import os
import subprocess
import unittest

from onnx_file import INT64, graph, model, node, tensor, value
from store_case import PROGRAM, StoreCase

WORDS = 23
# Written by tests/exporters/optimum_files.py.
DECODERS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "decoders")


def available():
    rows = json.loads(subprocess.run([PROGRAM, "backends", "--json"], capture_output=True, text=True, check=True).stdout)
    return [row["name"] for row in rows if row["available"] and row["name"] in ("libtorch", "onnxruntime", "openvino")]


def counting_decoder(left_out=""):
    """The token after N is N + 1. Its keys are an embedding that grows with the cache, as exporters write caches."""
    after = [1.0 if column == (row + 1) % WORDS else 0.0 for row in range(WORDS) for column in range(WORDS)]
    tokens, longer = ["batch_size", "sequence_length"], ["batch_size", 1, "past_sequence_length + sequence_length", 4]
    nodes = [node("Gather", "after input_ids", "logits", "scores"), node("Gather", "embedding input_ids", "embedded", "embed"),
             node("Unsqueeze", "embedded one", "current", "head")]
    inputs, outputs = [value("input_ids", tokens, INT64), value("attention_mask", ["batch_size", "total"], INT64)], []
    for kind in ("key", "value"):
        inputs.append(value(f"past_key_values.0.{kind}", ["batch_size", 1, "past_sequence_length", 4]))
        nodes.append(node("Concat", f"past_key_values.0.{kind} current", f"present.0.{kind}", kind, axis=2))
        outputs.append((f"present.0.{kind}", value(f"present.0.{kind}", longer)))
    outputs.insert(0, ("logits", value("logits", [*tokens, WORDS])))
    constants = [tensor(after, [WORDS, WORDS], name="after"), tensor([0.5], [WORDS, 4], name="embedding"), tensor([1], [1], INT64, "one")]
    return model(graph(nodes, inputs, [info for name, info in outputs if name != left_out], constants))


class GenerateOnnxTest(StoreCase):
    backend = None
    flags = ["--task", "generate", "--warmup", "0"]

    def write(self, name, content):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def test_answers_and_metrics(self):
        path, answers = self.write("model.onnx", counting_decoder()), os.path.join(self.dir, "answers")
        for engine in available():
            self.store = os.path.join(self.dir, f"{self.id()}.{engine}.db")
            row = self.one(0, "--model", path, "--scenario", "single-stream", "--prompt-tokens", "8", "--output-tokens", "6", "--iterations", "3",
                           "--axis", "tokenizer=words", "--axis", f"answers={answers}", backend=engine)
            self.assertEqual(row["outcome"], "ok", row["reason"])
            self.assertEqual((row["input_tokens"], row["output_tokens"]), (8, 6))
            self.assertEqual(row["kv_cache_bytes"] % (2 * 4 * 4), 0)
            for metric in ("ttft_ms", "tpot_ms", "prefill_tokens_per_s", "decode_tokens_per_s"):
                self.assertGreater(row[metric], 0, metric)
            with open(answers) as file:
                for line in map(json.loads, file):
                    last = line["prompt_tokens"][-1]
                    self.assertEqual(line["tokens"], [(last + 1 + i) % WORDS for i in range(6)])

    def test_files_of_exporters_answer_as_their_framework(self):
        for folder in sorted(glob.glob(os.path.join(DECODERS, "*"))):
            with open(os.path.join(folder, "answer.json")) as file:
                wanted = json.load(file)
            prompts, answers = self.write("prompts.txt", wanted["text"].encode()), os.path.join(self.dir, "answers")
            for engine in available():
                self.store = os.path.join(self.dir, f"{self.id()}.{engine}.{os.path.basename(folder)}.db")
                row = self.one(0, "--model", os.path.join(folder, "model.onnx"), "--prompts", prompts, "--prompt-reuse", "on", "--scenario", "single-stream",
                               "--output-tokens", str(len(wanted["tokens"])), "--iterations", "2", "--axis", f"answers={answers}", backend=engine)
                self.assertEqual(row["outcome"], "ok", row["reason"])
                with open(answers) as file:
                    for line in map(json.loads, file):
                        self.assertEqual((line["prompt_tokens"], line["tokens"]), (wanted["prompt"], wanted["tokens"]), (folder, engine))

    def test_several_requests_at_a_time(self):
        path = self.write("model.onnx", counting_decoder())
        for engine in available():
            self.store = os.path.join(self.dir, f"{self.id()}.{engine}.db")
            row = self.one(0, "--model", path, "--scenario", "concurrency", "--clients", "3", "--streams", "3", "--prompt-tokens", "uniform:2:9", "--output-tokens", "5",
                           "--iterations", "9", "--axis", "tokenizer=words", backend=engine)
            self.assertEqual((row["outcome"], row["output_tokens"]), ("ok", 5), row["reason"])

    def test_what_cannot_be_is_one_line(self):
        good = self.write("model.onnx", counting_decoder())
        wrong = [
            (2, (), self.write("scores.onnx", counting_decoder("logits")), "no output 'logits'"),
            (2, (), self.write("present.onnx", counting_decoder("present.0.value")), "no output 'present.0.value'"),
            (2, (), self.write("other.onnx", model(graph([node("Relu", "x", "y", "only")], [value("x", ["N", 3])], [value("y", ["N", 3])]))),
             "no input 'input_ids'"),
            (1, (), good, "no tokenizer.json beside"),
            (1, ("--precision", "fp16"), good, "fp16"),
            (2, ("--axis", "top_k=3"), good, "temperature"),
            (1, (), "smollm2_135m:layers=1,vocabulary=512", "--backend native"),
        ]
        for engine in available():
            for code, flags, path, words in wrong[:-1] if engine == "libtorch" else wrong:  # LibTorch runs the zoo's decoders, too
                self.store = os.path.join(self.dir, f"{self.id()}.{engine}.{words}.db".replace("/", ""))
                done = self.run_deepgap("--model", path, "--scenario", "single-stream", "--iterations", "2", *flags, backend=engine)
                self.assertEqual(done.returncode, code, (engine, words, done.stdout, done.stderr))
                self.assertIn(words, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=["generate_onnx_test", *__import__("sys").argv[2:]])
