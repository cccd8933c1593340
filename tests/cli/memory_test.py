"""Tests every engine here with too little memory: one record says so, and the run goes on.

Usage: memory_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

from sanitized import sanitizer_of

PROGRAM = os.path.abspath(sys.argv[1])
ENOUGH = 2 << 30  # for every engine with a batch of 1; a batch of 2048 has 2.8 GB in its first layers' activations alone
MODEL = "resnet18:width=0.25,classes=10"


def engines():
    listed = json.loads(subprocess.run([PROGRAM, "backends", "--json"], capture_output=True, text=True, check=True).stdout)
    return [b["name"] for b in listed if b["available"] and b["name"] != "null" and any(d["device"] == "cpu" for d in b["devices"])]


def limit():
    resource.setrlimit(resource.RLIMIT_DATA, (ENOUGH, ENOUGH))


class MemoryTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="deepgap-memory-test-")
        self.addCleanup(shutil.rmtree, self.dir)

    @unittest.skipIf(sanitizer_of(PROGRAM), "a sanitizer takes memory of its own")
    def test_a_batch_that_does_not_fit(self):
        names = engines()
        self.assertIn("native", names)
        for name in names:
            with self.subTest(name):
                store = os.path.join(self.dir, name + ".db")
                # Threads that take samples through all layers one at a time need little memory at any batch.
                axes = ["--axis", "native.share=layers"] if name == "native" else []
                run = subprocess.run([PROGRAM, "run", "--model", MODEL, "--backend", name, "--batch", "2048,1", "--check", "off", "-n", "1",
                                      "--warmup", "0", "--repeats", "1", "--cache", self.dir, "--store", store, *axes],
                                     capture_output=True, text=True, timeout=900, preexec_fn=limit)
                self.assertEqual(run.returncode, 1, run.stderr)
                exported = subprocess.run([PROGRAM, "export", store, "--format", "json"], capture_output=True, text=True, check=True)
                rows = {row["batch"]: row for row in json.loads(exported.stdout)}
                self.assertEqual(rows[1]["outcome"], "ok", rows[1]["reason"])
                self.assertEqual(rows[2048]["outcome"], "out_of_memory", rows[2048]["reason"])
                self.assertEqual(len(rows[2048]["reason"].splitlines()), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
