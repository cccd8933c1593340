"""Files that the exporters of TensorFlow, scikit-learn and Paddle made (tests/exporters), with the frameworks' own answers, on every engine of
this machine. Usage: exporters_test.py PROGRAM. Run from the tree's root."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
CASES = pathlib.Path("tests/data/exporters")
ENGINES = ("native", "onnxruntime", "openvino", "libtorch")
# What no engine gets: its values are no numbers.
NO_TENSORS = {"tensorflow_string": "element type STRING is not supported", "sklearn_string_labels": "'label' has element type STRING, which is not supported",
              "sklearn_zipmap": "'output_probability' is not a tensor: sequences, maps, optional and sparse values are not supported"}
# Refused by name, by all but the engines named first.
OF_SOME = {"sklearn_isolation": (["onnxruntime"], "ai.onnx.ml."), "sklearn_logistic": (["onnxruntime"], "ai.onnx.ml.LinearClassifier"),
           "tensorflow_mask": (["native", "onnxruntime", "openvino"], "NonZero")}


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=900)


def available():
    rows = {row["name"]: row["available"] for row in json.loads(run("backends", "--json").stdout)}
    return [engine for engine in ENGINES if rows.get(engine)]


class ExportersTest(unittest.TestCase):
    def check(self, case, engine, *arguments):
        return run("check", CASES / case / "model.onnx", "--backend", engine, "--against", CASES / case, *arguments)

    def one_line(self, done, code, words):
        self.assertEqual((done.returncode, len(done.stderr.strip().splitlines())), (code, 1), done.stderr)
        self.assertIn(words, done.stderr)

    def test_answers_are_the_frameworks(self):
        cases = sorted(folder.name for folder in CASES.iterdir())
        self.assertGreater(len(cases), 12)
        for engine in available():
            for case in cases:
                with self.subTest(case, engine=engine):
                    done = self.check(case, engine)
                    engines, words = OF_SOME.get(case, (ENGINES, ""))
                    if case in NO_TENSORS:
                        self.one_line(done, 2, NO_TENSORS[case])
                    elif engine not in engines:
                        self.one_line(done, 1, words)
                    elif case == "tensorflow_tflite_int8" and engine in ("onnxruntime", "openvino"):
                        self.one_line(done, 1, "the library computes it in int8, ask for that")
                        self.assertEqual(self.check(case, engine, "--precision", "int8").returncode, 0)
                    elif case == "tensorflow_tflite_int8" and engine == "libtorch":
                        self.assertLess(done.returncode, 2, done.stderr)
                    else:
                        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_they_run_on_their_own_data(self):
        """Queries after the first, too: outputs may be of another size each time, or of one that the engine did not expect."""
        with tempfile.TemporaryDirectory(prefix="deepgap-exporters-") as folder:
            for case in ("tensorflow_mask", "tensorflow_resize", "sklearn_isolation"):
                store = f"{folder}/{case}.db"
                done = run("run", CASES / case / "model.onnx", "--dataset", CASES / case, "--backend", ",".join(available()), "--threads", 1,
                           "--warmup", 1, "--iterations", 5, "--store", store, "--cache", folder)
                self.assertLess(done.returncode, 2, done.stderr)
                for row in json.loads(run("export", store, "--format", "json").stdout):
                    engines, words = OF_SOME.get(case, (ENGINES, ""))
                    with self.subTest(case, engine=row["backend"]):
                        self.assertEqual(row["outcome"], "ok" if row["backend"] in engines else "refused", row["reason"])
                        self.assertIn(words if row["backend"] not in engines else "", row["reason"] or "")


if __name__ == "__main__":
    unittest.main()
