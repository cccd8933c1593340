"""Custom operators of ONNX Runtime. Usage: custom_ops_test.py PROGRAM LIBRARY NO_LIBRARY_OF_OPERATORS. Run from the tree's root."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from onnx_file import graph, model, node, number, block, tensor, value

NO_OPERATORS, LIBRARY, PROGRAM = sys.argv.pop(), sys.argv.pop(), sys.argv.pop()


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300)


class CustomOps(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="deepgap-custom-ops-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.path = self.folder / "twice.onnx"
        content = graph([node("Twice", "x", "y", "mine", domain="com.example")], [value("x", ["N", 2])], [value("y", ["N", 2])])
        self.path.write_bytes(model(content) + block(8, block(1, "com.example") + number(2, 1)))

    def measure(self, *arguments):
        store = self.folder / "store.db"
        done = run("run", "--model", self.path, "-n", "5", "--repeats", "1", "--warmup", "1", "--cache", self.folder, "--store", store,
                   "--backend", "onnxruntime", *arguments)
        return done, json.loads(run("export", store, "--format", "json").stdout)

    def test_of_a_library_are_computed(self):
        (self.folder / "input_0.pb").write_bytes(tensor([1, 2, 3, 4], [2, 2]))
        (self.folder / "output_0.pb").write_bytes(tensor([2, 4, 6, 8], [2, 2]))
        done = run("check", self.path, "--backend", "onnxruntime", "--option", f"custom_ops={LIBRARY}", "--against", self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_have_no_reference_in_the_engine_that_is_checked(self):
        done, (row,) = self.measure("--axis", f"onnxruntime.custom_ops={LIBRARY}", "--batch", "2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual((row["outcome"], row["unchecked"], row["check_pass"]), ("ok", True, None), row)
        self.assertIn("onnxruntime is not a reference for itself", row["reason"])
        done = run("check", self.path, "--backend", "onnxruntime", "--option", f"custom_ops={LIBRARY}")
        self.assertEqual((done.returncode, len(done.stderr.strip().splitlines())), (1, 1), done.stdout + done.stderr)
        self.assertIn("onnxruntime is not a reference for itself", done.stderr)

    def test_without_a_library_are_refused_by_name(self):
        done, (row,) = self.measure()
        self.assertEqual(row["outcome"], "refused", row)
        self.assertIn("Twice", row["reason"])

    def test_of_what_is_no_such_library_are_one_line(self):
        done = run("run", "--model", self.path, "--backend", "onnxruntime", "--axis", "onnxruntime.custom_ops=/nowhere/ops.so", "--cache", self.folder)
        self.assertEqual((done.returncode, len(done.stderr.strip().splitlines())), (2, 1), done.stdout + done.stderr)
        self.assertIn("/nowhere/ops.so", done.stderr)
        done, (row,) = self.measure("--axis", f"onnxruntime.custom_ops={NO_OPERATORS}")
        self.assertEqual(row["outcome"], "refused", row)
        self.assertIn("is not a usable library of custom operators", row["reason"])


if __name__ == "__main__":
    unittest.main()
