"""Tests `deepgap check --text`: perplexity of decoders, by a plain loop over the same tokens and between forms of one network.

Usage: text_check_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import math
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
SMALL = "smollm2_135m:layers=1,vocabulary=512"
CONTEXT, VOCABULARY, SIZE, HEADS, HEAD, INNER = 64, 32, 16, 2, 8, 24


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def weights(noise=0.0):
    """A Llama of one layer: by name, rows of numbers. `noise`: how far they are from those without."""
    made, changed = random.Random(1), random.Random(2)

    def matrix(rows, columns, size):
        return [[size * made.uniform(-1, 1) + noise * changed.uniform(-1, 1) for _ in range(columns)] for _ in range(rows)]

    return {"token_embd": matrix(VOCABULARY, SIZE, 1), "output": matrix(VOCABULARY, SIZE, 0.5), "blk.0.attn_q": matrix(SIZE, SIZE, 0.5),
            "blk.0.attn_k": matrix(HEAD, SIZE, 0.5), "blk.0.attn_v": matrix(HEAD, SIZE, 0.5), "blk.0.attn_output": matrix(SIZE, SIZE, 0.5),
            "blk.0.ffn_gate": matrix(INNER, SIZE, 0.5), "blk.0.ffn_up": matrix(INNER, SIZE, 0.5), "blk.0.ffn_down": matrix(SIZE, INNER, 0.5)}


def write_gguf(path, rows_by_name, tokens=None):
    """`tokens`: of a tokenizer of single characters; without it each word is a token."""
    numbers = {"block_count": 1, "context_length": CONTEXT, "embedding_length": SIZE, "feed_forward_length": INNER, "attention.head_count": HEADS,
               "attention.head_count_kv": 1}
    values = [string("general.architecture") + struct.pack("<I", 8) + string("llama"),
              string("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", 6, 1e-5)]
    values += [string(f"llama.{key}") + struct.pack("<II", 4, value) for key, value in numbers.items()]
    if tokens:
        values += [string("tokenizer.ggml.model") + struct.pack("<I", 8) + string("gpt2"), string("tokenizer.ggml.pre") + struct.pack("<I", 8) + string("gpt-2")]
        values += [string("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, len(tokens)) + b"".join(string(token) for token in tokens)]
    tensors = {f"{name}.weight": rows for name, rows in rows_by_name.items()}
    tensors.update({f"{name}.weight": [[1.0] * SIZE] for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm")})
    infos, data = b"", b""
    for name, rows in tensors.items():
        shape = [len(rows[0])] + ([len(rows)] if "norm" not in name else [])
        infos += string(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", 0, len(data))
        data += b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)
        data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)) + b"".join(values) + infos
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + data)


def token_of(word):
    value = 14695981039346656037
    for byte in word.encode():
        value = (value ^ byte) * 1099511628211 % 2**64
    return (value ^ value >> 32) % VOCABULARY


def times(rows, x):
    return [sum(a * b for a, b in zip(row, x)) for row in rows]


def norm(x):
    scale = 1 / math.sqrt(sum(v * v for v in x) / len(x) + 1e-5)
    return [v * scale for v in x]


def turned(x, position):
    y = list(x)
    for i in range(0, HEAD, 2):
        angle = position * 10000 ** (-i / HEAD)
        y[i], y[i + 1] = x[i] * math.cos(angle) - x[i + 1] * math.sin(angle), x[i] * math.sin(angle) + x[i + 1] * math.cos(angle)
    return y


def log_probabilities(w, tokens):
    """After each token: the logarithms of the next ones' probabilities."""
    keys, values, found = [], [], []
    for position, token in enumerate(tokens):
        x = w["token_embd"][token]
        y = norm(x)
        keys.append(turned(times(w["blk.0.attn_k"], y), position))
        values.append(times(w["blk.0.attn_v"], y))
        queries, attended = times(w["blk.0.attn_q"], y), []
        for head in range(HEADS):
            query = turned(queries[head * HEAD:(head + 1) * HEAD], position)
            shares = [math.exp(sum(a * b for a, b in zip(query, key)) / math.sqrt(HEAD)) for key in keys]
            attended += [sum(share * value[i] for share, value in zip(shares, values)) / sum(shares) for i in range(HEAD)]
        x = [a + b for a, b in zip(x, times(w["blk.0.attn_output"], attended))]
        y = norm(x)
        inner = [g / (1 + math.exp(-g)) * u for g, u in zip(times(w["blk.0.ffn_gate"], y), times(w["blk.0.ffn_up"], y))]
        x = [a + b for a, b in zip(x, times(w["blk.0.ffn_down"], inner))]
        scores = times(w["output"], norm(x))
        total = math.log(sum(math.exp(score) for score in scores))
        found.append([score - total for score in scores])
    return found


class TextCheckTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="deepgap-test-")
        cls.words = [f"w{random.Random(3 + i).randrange(60)}" for i in range(4 * CONTEXT + 10)]
        cls.text = cls.file("text.txt", " ".join(cls.words))
        cls.long = cls.file("long.txt", " ".join(cls.words * 12))
        cls.tiny, cls.noisy = os.path.join(cls.dir, "tiny.gguf"), os.path.join(cls.dir, "noisy.gguf")
        write_gguf(cls.tiny, weights())
        write_gguf(cls.noisy, weights(0.1))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    @classmethod
    def file(cls, name, content):
        path = os.path.join(cls.dir, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def command(self, *arguments):
        return [PROGRAM, "check", "--cache", self.dir, "--threads", "2", *arguments]

    def check(self, *arguments):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=300)

    def result(self, *arguments):
        done = self.check(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_models_names_the_kind_of_weights(self):
        done = subprocess.run([PROGRAM, "models", self.tiny, "--json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([row["weights"] for row in json.loads(done.stdout)], [["gguf"]])

    def test_a_plain_loop_finds_the_same(self):
        tokens = [token_of(word) for word in self.words]
        losses, reference_losses, same, divergence = [], [], 0, 0
        for begin in range(0, 4 * CONTEXT, CONTEXT):
            chunk = tokens[begin:begin + CONTEXT]
            noisy, plain = log_probabilities(weights(0.1), chunk), log_probabilities(weights(), chunk)
            for position in range(CONTEXT // 2, CONTEXT - 1):
                q, p = noisy[position], plain[position]
                losses.append(-q[chunk[position + 1]])
                reference_losses.append(-p[chunk[position + 1]])
                same += q.index(max(q)) == p.index(max(p))
                divergence += sum(math.exp(a) * (a - b) for a, b in zip(p, q))
        count = len(losses)
        result = self.result(self.noisy, "--against", self.tiny, "--text", self.text)
        self.assertEqual((result["tokens"], result["chunks"], result["chunk_tokens"]), (count, 4, CONTEXT))
        self.assertAlmostEqual(result["perplexity"], math.exp(sum(losses) / count), delta=0.01 * result["perplexity"])
        self.assertAlmostEqual(result["reference_perplexity"], math.exp(sum(reference_losses) / count), delta=0.01 * result["perplexity"])
        self.assertAlmostEqual(result["perplexity_ratio"], math.exp((sum(losses) - sum(reference_losses)) / count), delta=0.005)
        self.assertAlmostEqual(result["top1_agreement"], same / count, delta=0.02)  # scores may be nearly equal
        self.assertAlmostEqual(result["kl_divergence"], divergence / count, delta=0.05 * divergence / count)
        for name in ("perplexity", "reference_perplexity", "perplexity_ratio", "top1_agreement", "kl_divergence"):
            self.assertLess(result[f"{name}_ci_low"], result[name], name)
            self.assertGreater(result[f"{name}_ci_high"], result[name], name)

    def test_a_file_against_itself_has_the_ratio_1(self):
        result = self.result(self.tiny, "--against", self.tiny, "--text", self.text)
        self.assertEqual((result["perplexity_ratio"], result["perplexity_ratio_ci_low"], result["perplexity_ratio_ci_high"]), (1, 1, 1))
        self.assertEqual((result["top1_agreement"], result["kl_divergence"]), (1, 0))
        self.assertEqual(result["perplexity"], result["reference_perplexity"])

    def test_types_of_weights_of_a_network_without_a_file(self):
        ratios = {}
        for kind in ("q8_0", "q4_0"):
            result = self.result(f"{SMALL},type={kind}", "--against", SMALL, "--text", self.long)
            self.assertEqual((result["chunk_tokens"], result["tokens"]), (512, 255 * result["chunks"]))
            ratios[kind] = result["kl_divergence"]
        self.assertLess(ratios["q8_0"], ratios["q4_0"])
        rounded = self.result(SMALL, "-p", "bf16", "--against", SMALL, "--text", self.long, "--samples", "2")
        self.assertEqual((rounded["chunks"], rounded["precision"]), (2, "bf16"))
        self.assertGreater(rounded["kl_divergence"], 0)

    def test_the_table_for_people(self):
        both = self.check(self.noisy, "--against", self.tiny, "--text", self.text)
        self.assertEqual(both.returncode, 0, both.stderr)
        for words in ("perplexity of ", "4 chunks of 64 tokens, second half of each scored", "tokens scored       124", "of the reference", "ratio  ",
                      "top-1 agreement", "mean KL divergence", "95 % CI"):
            self.assertIn(words, both.stdout)
        alone = self.check(self.tiny, "--text", self.text, "--samples", "1")
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertIn("needs two chunks", alone.stdout)
        self.assertNotIn("ratio", alone.stdout)

    def test_what_cannot_be_is_one_line(self):
        other = os.path.join(self.dir, "other.gguf")
        letters = [chr(ord("a") + i) for i in range(VOCABULARY - 12)] + [chr(ord("0") + i) for i in range(10)] + ["w", "Ġ"]
        write_gguf(other, weights(), tokens=letters)
        not_utf8 = self.file("bytes.txt", b"good words \xff\xfe and more")
        wrong = [
            ((self.tiny, "--text", self.file("empty.txt", "")), 2, "the text is empty"),
            ((self.tiny, "--text", self.file("short.txt", "three short words")), 2, "has 3 tokens, fewer than a chunk of 64"),
            ((self.tiny, "--text", not_utf8), 2, "byte 11 is not UTF-8"),
            ((self.tiny, "--text", os.path.join(self.dir, "gone.txt")), 2, "gone.txt"),
            ((self.tiny, "--text", self.dir), 2, self.dir),
            ((os.path.join(self.dir, "gone.gguf"), "--text", self.text), 2, "gone.gguf"),
            ((self.tiny, "--against", os.path.join(self.dir, "gone.gguf"), "--text", self.text), 2, "gone.gguf"),
            ((self.tiny, "--against", other, "--text", self.text), 2, "the same tokenizer"),
            ((self.tiny, "--against", SMALL, "--text", self.text), 2, "the same tokenizer"),
            (("digits_cnn", "--text", self.text), 1, "needs a decoder"),
            ((self.tiny, "--against", "digits_cnn", "--text", self.text), 1, "needs a decoder"),
            ((self.tiny, "--text", self.text, "-e", "null"), 1, "does not score texts"),
            ((self.tiny, "--text", self.text, "-p", "int8"), 1, "quantized GGUF file"),
            ((self.tiny, "--text", self.text, "--nodes"), 2, "leave out --nodes"),
            ((self.tiny, "--text", self.text, "--samples", "0"), 2, "--samples"),
            ((self.tiny,), 2, "add --text FILE"),
        ]
        for arguments, code, words in wrong:
            done = self.check(*arguments)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (code, 1), (arguments, done.stdout, done.stderr))
            self.assertIn(words, done.stderr, arguments)

    def test_ctrl_c_ends_it_and_its_child(self):
        text = self.file("longest.txt", " ".join(self.words * 2000))
        process = subprocess.Popen(self.command("smollm2_135m:vocabulary=512", "--text", text), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        child = ""
        while not child and process.poll() is None:
            time.sleep(0.05)
            with open(children) as file:
                child = file.read().split(" ")[0]
        self.assertIsNone(process.poll())
        os.killpg(process.pid, signal.SIGINT)
        self.assertNotEqual(process.wait(timeout=60), 0)
        process.communicate()
        deadline = time.monotonic() + 60
        while os.path.exists(f"/proc/{child}/exe") and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertFalse(os.path.exists(f"/proc/{child}/exe"))


if __name__ == "__main__":
    unittest.main()
