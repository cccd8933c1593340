#!/usr/bin/env python3
"""`deepgap check` as a user runs it. Argument: the program. Run from the tree's root."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from onnx_file import relu_model, tensor

DEEPGAP = sys.argv.pop(1)
CACHE = "build/test-cache"


def deepgap(*arguments):
    return subprocess.run([DEEPGAP, *arguments], capture_output=True, text=True, timeout=900)


class Check(unittest.TestCase):
    def test_engines_agree_with_the_reference(self):
        for backend in ("native", "onnxruntime"):
            run = deepgap("check", "resnet18:image=64", "--backend", backend, "--samples", "3", "--cache", CACHE, "--json")
            self.assertEqual(run.returncode, 0, run.stderr)
            result = json.loads(run.stdout)
            self.assertTrue(result["pass"])
            self.assertEqual(result["samples"], 3)
            self.assertGreater(result["sqnr_db"], 60)
            self.assertEqual(result["top1_agreement"], 1)
            self.assertLessEqual(result["mean_abs_error"], result["max_abs_error"])

    def test_what_the_engine_answered_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = pathlib.Path(folder) / "made" / "here"
            run = deepgap("check", "resnet18:width=0.25,classes=10,image=64", "--samples", "2", "--cache", CACHE, "--outputs", str(kept))
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(sorted(path.name for path in kept.iterdir()), ["sample0-output0.npy", "sample1-output0.npy"])
            content = (kept / "sample1-output0.npy").read_bytes()
            self.assertTrue(content.startswith(b"\x93NUMPY\x01\x00"))
            self.assertIn(b"'descr': '<f4', 'fortran_order': False, 'shape': (1, 10, )", content)
            (kept / "a_file").write_text("")
            wrong = deepgap("check", "resnet18", "--outputs", str(kept / "a_file"))
            self.assertEqual((wrong.returncode, len(wrong.stderr.splitlines())), (2, 1), wrong.stderr)

    def test_one_engine_against_another(self):
        run = deepgap("check", "mobilenet_v2:image=64", "--backend", "native", "--against", "onnxruntime", "--samples", "2", "--cache", CACHE)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("against onnxruntime", run.stdout)

    def test_engines_on_a_quantized_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = str(pathlib.Path(folder) / "q.onnx")
            made = deepgap("quantize", "resnet18:width=0.25,classes=10,image=64", "--output", file, "--cache", CACHE)
            self.assertEqual(made.returncode, 0, made.stderr)
            done = deepgap("check", file, "--precision", "int8", "--against", "onnxruntime", "--cache", CACHE)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_pictures_are_what_they_show(self):
        """Classes and probabilities that Pillow's preprocessing gives with these published weights."""
        for backend in ("native", "onnxruntime"):
            run = deepgap("check", "efficientnet_lite0", "--weights", "imagenet", "--dataset", "pictures", "--backend", backend)
            self.assertEqual(run.returncode, 0, run.stderr)
            for name, classes in {"chelsea.png": [(282, 0.386), (285, 0.356)], "motorcycle_right.png": [(665, 0.572)],
                                  "rocket.jpg": [(657, 0.296)]}.items():
                line = next(line for line in run.stdout.splitlines() if name in line)
                found = [(int(a), float(b)) for a, b in re.findall(r"(\d+) \(([\d.]+)\)", line)]
                for (want, probability), (got, measured) in zip(classes, found):
                    self.assertEqual(got, want, line)
                    self.assertAlmostEqual(measured, probability, delta=0.002, msg=line)

    def test_names_of_samples_command_no_terminal(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy("data/pictures/chelsea.png", os.path.join(folder, "a\x1b[31m\nb.png"))
            run = deepgap("check", "efficientnet_lite0", "--weights", "imagenet", "--dataset", folder, "--samples", "1")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("a [31m b.png", run.stdout)
        self.assertNotIn("\x1b", run.stdout)

    def test_an_onnx_test_folder(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "relu.onnx").write_bytes(relu_model(4))
            (folder / "input_0.pb").write_bytes(tensor([-1, 2, -3, 4]))
            (folder / "output_0.pb").write_bytes(tensor([0, 2, 0, 4]))
            right = deepgap("check", f"{folder}/relu.onnx", "--backend", "native", "--against", name)
            self.assertEqual(right.returncode, 0, right.stderr)
            (folder / "output_0.pb").write_bytes(tensor([0, 2, -3, 4]))
            wrong = deepgap("check", f"{folder}/relu.onnx", "--backend", "native", "--against", name, "--json")
            self.assertEqual(wrong.returncode, 1, wrong.stderr)
            self.assertEqual(json.loads(wrong.stdout)["max_abs_error"], 3)
            (folder / "output_0.pb").unlink()
            missing = deepgap("check", f"{folder}/relu.onnx", "--against", name)
            self.assertEqual(missing.returncode, 2)
            self.assertIn("output_0.pb", missing.stderr)

    def test_an_operator_nobody_has_is_named(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name, "odd.onnx")
            path.write_bytes(relu_model(4, op="Bernoulli"))
            run = deepgap("check", str(path), "--backend", "native")
            self.assertEqual(run.returncode, 1)
            self.assertIn("Bernoulli", run.stderr)
            self.assertEqual(len(run.stderr.strip().splitlines()), 1, run.stderr)

    def test_samples_larger_than_the_machine_are_one_line(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name, "huge.onnx")
            path.write_bytes(relu_model(1 << 39))
            run = deepgap("check", str(path))
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn("--samples", run.stderr)
            self.assertEqual(len(run.stderr.strip().splitlines()), 1, run.stderr)

    def test_outputs_without_elements_are_unchecked(self):
        """A size of 0 in the file is open; one that is given is taken."""
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name, "empty.onnx")
            path.write_bytes(relu_model(0))
            open_size = deepgap("check", str(path))
            self.assertEqual(open_size.returncode, 2, open_size.stderr + open_size.stdout)
            self.assertIn("input 'x', dimension 1", open_size.stderr)
            run = deepgap("check", str(path), "--shape", "x:1x0")
            self.assertEqual(run.returncode, 0, run.stderr + run.stdout)
            self.assertIn("unchecked: all outputs are empty", run.stdout)

    def test_a_reference_of_nan_is_none(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name, "roots.onnx")
            path.write_bytes(relu_model(64, op="Sqrt"))  # of seeded samples, of which half are below zero
            run = deepgap("check", str(path), "--cache", name)
            self.assertEqual(run.returncode, 2, run.stderr + run.stdout)
            self.assertIn("returns NaN for sample", run.stderr)
            self.assertEqual(len(run.stderr.strip().splitlines()), 1, run.stderr)
            run = deepgap("run", "--model", str(path), "-n", "5", "--repeats", "1", "--cache", name, "--store", str(pathlib.Path(name, "a.db")))
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("unchecked: no reference: the FP32 reference holds NaN", run.stdout)

    def test_a_quantized_file_is_judged_as_int8_in_any_precision(self):
        with tempfile.TemporaryDirectory() as folder:
            file = str(pathlib.Path(folder) / "q.onnx")
            made = deepgap("quantize", "resnet18:width=0.25,classes=10,image=64", "--output", file, "--cache", CACHE)
            self.assertEqual(made.returncode, 0, made.stderr)
            run = deepgap("check", file, "--precision", "fp32", "--cache", CACHE, "--json")
            self.assertEqual(run.returncode, 0, run.stderr + run.stdout)
            self.assertEqual(json.loads(run.stdout)["min_sqnr_db"], 10)

    def test_nodes_have_totals(self):
        run = deepgap("check", "resnet18:width=0.25,classes=10,image=64", "--nodes", "--samples", "1", "--cache", CACHE, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        result = json.loads(run.stdout)
        self.assertEqual(result["nodes_below"], 0)
        self.assertEqual(result["worst_sqnr_db"], min(node["sqnr_db"] for node in result["nodes"]))

    def test_wrong_names_are_one_line_and_exit_2(self):
        for arguments, expected in {("resnet5",): "resnet50", ("resnet18", "--backend", "natve"): "native",
                                    ("resnet18", "--against", "onxruntime"): "onnxruntime",
                                    ("resnet18", "--against", "no/such"): "--against: folder no/such", ("nowhere.onnx",): "nowhere.onnx",
                                    ("resnet18", "--samples", "0"): "--samples", ("resnet18", "--precision", "fp33"): "fp32",
                                    ("resnet18", "--nodes", "--margin", "0.1"): "leave it out with --nodes",
                                    ("resnet18", "--option", "stream=2"): "streams"}.items():
            run = deepgap("check", *arguments)
            self.assertEqual(run.returncode, 2, (arguments, run.stderr))
            self.assertIn(expected, run.stderr)
            self.assertEqual(len(run.stderr.strip().splitlines()), 1, run.stderr)


if __name__ == "__main__":
    unittest.main()
