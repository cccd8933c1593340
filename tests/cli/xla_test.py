"""Tests that a missing or wrong plug-in of XLA, and a network or precision that it does not run, are one clear line. Usage: xla_test.py PROGRAM EMPTY_LIBRARY"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, EMPTY = sys.argv[1:3]
del sys.argv[1:3]


def run(*arguments, **environment):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=500, env={**os.environ, **environment})


def row(**environment):
    return {row["name"]: row for row in json.loads(run("backends", "--json", **environment).stdout)}["xla"]


class XlaTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="deepgap_xla_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def reason(self, named):
        found = row(DEEPGAP_XLA=str(named))
        self.assertFalse(found["available"])
        self.assertNotIn("\n", found["reason"])
        return found["reason"]

    def test_a_folder_without_one(self):
        self.assertIn(f"{self.folder} neither is a plug-in of XLA nor holds", self.reason(self.folder))

    def test_a_library_that_is_no_plug_in(self):
        self.assertIn("is not a plug-in of XLA: it has no function GetPjrtApi", self.reason(EMPTY))

    def test_a_file_that_is_no_library(self):
        (self.folder / "xla_cpu_pjrt.so").write_text("this is text, and long enough to be taken for the header of a library, which it is not")
        self.assertIn("invalid ELF header", self.reason(self.folder))

    def test_a_run_records_the_reason(self):
        done = run("run", "resnet18", "--backend", "xla", "--check", "off", "--store", str(self.folder / "r.db"), DEEPGAP_XLA=str(self.folder))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("neither is a plug-in of XLA", done.stdout + done.stderr)

    def test_one_that_does_not_load_leaves_the_other(self):
        if not row()["available"]:
            self.skipTest(row()["reason"])
        (self.folder / "xla_cuda_plugin.so").write_text("this is text, and long enough to be taken for the header of a library, which it is not")
        cpu = next(pathlib.Path(PROGRAM).resolve().parents[1].glob("lib/deepgap/deps/xla/xla_cpu_pjrt.so"))
        self.assertTrue(row(DEEPGAP_XLA=f"{self.folder}:{cpu}")["available"])

    def test_what_it_does_not_run_is_named(self):
        if not row()["available"]:
            self.skipTest(row()["reason"])
        wrong = [(("resnet18", "--precision", "int8"), "precision int8 is not supported"),
                 (("gnmt",), "operator LSTM has no translation (node 'encoder.bidirectional')")]
        for flags, words in wrong:
            done = run("run", *flags, "--backend", "xla", "--check", "off", "--store", str(self.folder / f"{flags[0]}.db"))
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn(words, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
