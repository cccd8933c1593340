"""Tests that a missing or wrong TensorFlow, and a wrong setting or network, are one clear line. Usage: tensorflow_test.py PROGRAM FAKES"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from built_with import needs

PROGRAM, FAKES = sys.argv[1:3]
TRAINING = ["run", "--save-weights", "x.safetensors"]
del sys.argv[1:3]


def run(*arguments, **environment):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=500, env={**os.environ, **environment})


def row(**environment):
    return {row["name"]: row for row in json.loads(run("backends", "--json", **environment).stdout)}["tensorflow"]


class Missing(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="deepgap_tensorflow_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def reason(self, folder):
        found = row(DEEPGAP_TENSORFLOW=str(folder))
        self.assertFalse(found["available"])
        self.assertNotIn("\n", found["reason"])
        return found["reason"]

    def test_a_folder_without_it(self):
        self.assertIn(f"no libtensorflow_cc.so.2 at DEEPGAP_TENSORFLOW={self.folder}", self.reason(self.folder))

    def test_another_version(self):
        self.assertIn("it is version 2.10.1, expected 2.21 or a later 2.x", self.reason(f"{FAKES}/2.10.1"))

    def test_a_library_without_the_functions(self):
        self.assertIn("it has no function TF_NewStatus", self.reason(f"{FAKES}/2.21.0"))

    def test_another_library_of_that_name(self):
        self.assertIn("it has no function TF_Version", self.reason(f"{FAKES}/none"))

    def test_a_library_that_is_none(self):
        (self.folder / "libtensorflow_cc.so.2").write_text("this is text, and long enough to be taken for the header of a library, which it is not")
        self.assertIn("invalid ELF header", self.reason(self.folder))

    def test_a_run_records_the_reason(self):
        store = self.folder / "r.db"
        done = run("run", "resnet18", "--backend", "tensorflow", "--check", "off", "--store", str(store), DEEPGAP_TENSORFLOW=str(self.folder))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("no libtensorflow_cc.so.2", done.stdout + done.stderr)


class Settings(unittest.TestCase):
    def setUp(self):
        found = row()
        if not found["available"]:
            self.skipTest(found["reason"])
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="deepgap_tensorflow_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def test_int8_is_refused_by_name(self):
        done = run("run", "resnet18", "--backend", "tensorflow", "--precision", "int8", "--store", str(self.folder / "r.db"))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("precision int8 is not supported", done.stdout + done.stderr)

    def test_an_option_that_is_not_there(self):
        done = run("run", "resnet18", "--backend", "tensorflow", "--axis", "tensorflow.xla=perhaps", "--store", str(self.folder / "r.db"))
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("xla", done.stderr)

    def test_a_network_runs_and_is_right_in_each_precision(self):
        store = str(self.folder / "r.db")
        # Not MobileNetV3-Small: TensorFlow rounds after each operator, and there that leaves 15 to 21 dB.
        done = run("run", "mobilenet_v2", "--backend", "tensorflow", "--precision", "fp32,mixed", "--axis", "tensorflow.xla=off,on",
                   "--duration", "100ms", "--repeats", "1", "--store", store)
        rows = json.loads(run("export", store, "--format", "json").stdout)
        words = done.stdout + done.stderr
        self.assertEqual(len(rows), 4, words)
        for record in rows:
            refused = record["precision"] == "mixed" and "need AVX-512" in words
            self.assertEqual(record["outcome"], "refused" if refused else "ok", words)

    def train(self, *arguments, code=0):
        store = str(self.folder / f"{len(list(self.folder.iterdir()))}.db")
        done = run("run", "--task", "train", "--backend", "tensorflow", "--shape", "input:Nx3x32x32", "--batch", "8", "--threads", "1", "--warmup", "0",
                   "--iterations", "2", "--repeats", "1", "--store", store, *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(run("export", store, "--format", "json").stdout), done.stdout + done.stderr

    @needs(PROGRAM, *TRAINING)
    def test_networks_train_as_libtorch_trains_them(self):
        if not {found["name"]: found for found in json.loads(run("backends", "--json").stdout)}["libtorch"]["available"]:
            self.skipTest("LibTorch, which is the reference, is not here")
        for model in ("resnet50:width=0.0625,classes=10", "mobilenet_v3_small:width=0.25,classes=10,dropout=0"):
            rows, words = self.train("--model", model, "--optimizer", "momentum,adam")
            self.assertEqual([row["outcome"] for row in rows], ["ok", "ok"], words)
            for row in rows:
                self.assertEqual((row["check_against"], row["check_pass"]), ("libtorch fp32 on the CPU", 1), words)
                self.assertAlmostEqual(row["gradients_mib"] * 2**20, 4 * row["parameters"], delta=1)

    def test_sequences_shorter_than_their_places(self):
        store = str(self.folder / "r.db")
        done = run("run", "--model", "gnmt:width=0.03125,vocabulary=200,length=6", "--input", "lengths=4", "--backend", "tensorflow", "--threads", "1",
                   "--warmup", "0", "--iterations", "2", "--repeats", "1", "--store", store)
        rows = json.loads(run("export", store, "--format", "json").stdout)
        self.assertEqual([(row["outcome"], row["check_pass"]) for row in rows], [("ok", 1)], done.stdout + done.stderr)

    @needs(PROGRAM, *TRAINING)
    def test_what_does_not_train_is_refused_by_name(self):
        for arguments, reason in ((["--model", "resnet18:width=0.125", "--axis", "accumulation=2"], "accumulation is not computed"),
                                  (["--model", "mobilenet_v2:width=0.25"], "Dropout"),
                                  (["--model", "resnet18:width=0.125", "--processes", "2"], "one process and one device only")):
            self.assertIn(reason, self.train(*arguments, code=1)[1])

    def test_a_folder_that_is_no_saved_model(self):
        (self.folder / "saved_model.pb").write_text("this is text")
        done = run("run", "--model", str(self.folder), "--backend", "tensorflow", "--store", str(self.folder / "r.db"))
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("saved_model.pb: it is not a SavedModel", done.stderr)


if __name__ == "__main__":
    unittest.main()
