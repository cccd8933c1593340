"""Tests `deepgap cache`: it lists what is deepgap's, removes that and nothing else, and what was removed is made again.

Usage: cache_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
KINDS = {"references": "references/a.native.safetensors", "quantized": "quantized/b.onnx", "weights": "seeded-c.safetensors",
         "ceilings": "ceilings/d.json", "kernels": "native-cuda/e.cubin", "tuning": "native-cuda/tuned-f.txt"}


class CacheTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="deepgap-cache-test-")
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name) / "cache"
        self.outside = pathlib.Path(folder.name) / "outside.safetensors"
        for size, place in enumerate(KINDS.values(), 1):
            self.write(self.cache / place, size)
        self.write(self.outside, 7)
        self.foreign = [self.cache / name for name in ("thesis.onnx", "references/notes.txt", "quantized/mine/x.onnx", "seeded.safetensors")]
        for path in self.foreign:
            self.write(path, 9)
        (self.cache / "references" / "link.safetensors").symlink_to(self.outside)

    def write(self, path, size):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)

    def deepgap(self, *arguments):
        return subprocess.run([PROGRAM, "cache", "--cache", str(self.cache), *arguments], capture_output=True, text=True, timeout=300)

    def counts(self, *arguments):
        done = self.deepgap("--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["folder"], str(self.cache))
        return {row["kind"]: (row["files"], row["bytes"]) for row in answer["kinds"]}

    def test_kinds_with_files_and_bytes(self):
        self.assertEqual(self.counts(), {kind: (1, size) for size, kind in enumerate(KINDS, 1)})
        for kind in KINDS:
            self.assertRegex(self.deepgap().stdout, rf"(?m)^{kind} +1 ")

    def test_one_kind_is_cleared(self):
        self.assertEqual(self.counts("--clear", "quantized"), {"quantized": (1, 2)})
        self.assertEqual({kind: files for kind, (files, _) in self.counts().items()}, {kind: int(kind != "quantized") for kind in KINDS})

    def test_all_is_cleared_and_nothing_else(self):
        self.assertEqual(self.deepgap("--clear").returncode, 0)
        self.assertEqual(set(self.counts().values()), {(0, 0)})
        for path in [*self.foreign, self.outside, self.cache / "references" / "link.safetensors"]:
            self.assertTrue(path.exists(), path)

    def test_the_words_say_what_the_flag_says(self):
        everything = {kind: (1, size) for size, kind in enumerate(KINDS, 1)}
        self.assertEqual(self.counts("list"), everything)
        self.assertEqual(self.counts("list", "weights", "quantized"), {"quantized": (1, 2), "weights": (1, 3)})
        self.assertEqual(self.counts("tuning"), {"tuning": (1, 6)})
        self.assertEqual(self.counts(), everything, "listing removes nothing")
        self.assertEqual(self.counts("clear", "quantized", "weights"), {"quantized": (1, 2), "weights": (1, 3)})
        self.assertEqual({kind for kind, (files, _) in self.counts().items() if files == 0}, {"quantized", "weights"})
        self.assertIn("removed from", self.deepgap("clear").stdout)
        self.assertEqual(set(self.counts().values()), {(0, 0)})

    def test_words_that_are_none_clear_nothing(self):
        for words, part in ((["clean"], "did you mean 'clear'?"), (["list", "--clear"], "contradict each other"), (["clear", "reference"], "references"),
                            (["frobnicate"], "known: list, clear, references")):
            with self.subTest(words):
                done = self.deepgap(*words)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
                self.assertIn(part, done.stderr)
        self.assertEqual({files for files, _ in self.counts().values()}, {1})

    def test_a_folder_that_is_a_link_is_not_followed(self):
        other = self.cache.parent / "other"
        os.rename(self.cache / "quantized", other)
        (self.cache / "quantized").symlink_to(other)
        self.assertEqual(self.deepgap("--clear").returncode, 0)
        self.assertTrue((other / "b.onnx").exists())

    def test_an_unknown_kind_is_one_line(self):
        done = self.deepgap("--clear", "reference")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("references", done.stderr)

    def test_nothing_there_is_nothing_held(self):
        self.cache = self.cache / "nowhere"
        self.assertEqual(set(self.counts().values()), {(0, 0)})

    def test_what_a_run_keeps_is_listed(self):
        self.cache = self.cache.parent / "new"
        done = subprocess.run([PROGRAM, "run", "--model", "resnet18:width=0.125,classes=10,image=32", "--backend", "native", "--iterations", "1", "--warmup", "0",
                               "--cache", self.cache, "--store", self.cache.parent / "x.db"], capture_output=True, text=True, timeout=900)
        self.assertEqual(done.returncode, 0, done.stderr)
        kept = sum(1 for path in self.cache.rglob("*") if path.is_file())
        self.assertGreater(kept, 0)
        self.assertEqual(sum(files for files, _ in self.counts().values()), kept)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
