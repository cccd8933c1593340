"""`deepgap predict`: GPUs that are not here, foretold from what was measured elsewhere.

Usage: predict_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
H200 = os.path.abspath("docs/results/h200-native")


def predict(*arguments):
    return subprocess.run([PROGRAM, "predict", *arguments], capture_output=True, text=True, timeout=100)


def rows(*arguments):
    done = predict(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class PredictTest(unittest.TestCase):
    def test_what_was_measured_lies_in_its_band_mostly(self):
        with open(os.path.join(H200, "points.csv")) as file:
            measured = {(row["precision"], int(row["batch"])): float(row["throughput"]) for row in csv.DictReader(file)
                        if row["model"] == "resnet50" and row["outcome"] == "ok"}
        held = []
        for (precision, batch), throughput in measured.items():
            row = rows("resnet50", "--device", "h200", "--precision", precision, "--batch", str(batch))[0]
            self.assertEqual(row["device"], "H200 SXM5")
            held.append(row["low"] <= 1e3 * batch / throughput <= row["high"])
        self.assertGreater(sum(held), 0.8 * len(held))

    def test_a_card_of_another_architecture_is_a_first_guess(self):
        done = predict("resnet50", "--device", "T4", "--precision", "int8")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("foretold, not measured", done.stdout)
        self.assertIn("first guess", done.stdout)
        self.assertNotIn("first guess", predict("resnet50", "--device", "h100").stdout)

    def test_memory_that_does_not_suffice_is_said(self):
        large, small = rows("resnet50", "--device", "t4", "--batch", "32768,1")
        self.assertFalse(large["fits"])
        self.assertTrue(small["fits"])
        self.assertGreater(large["memory_bytes"], 16 * 2**30)

    def test_a_precision_without_units_leaves_the_others(self):
        found = rows("resnet50", "--device", "v100", "--precision", "int8,fp16", "--batch", "8")
        self.assertIn("no units for int8", found[0]["reason"])
        self.assertGreater(found[1]["time_ms"], 0)
        self.assertEqual(predict("resnet50", "--device", "v100", "--precision", "int8").returncode, 1)

    def test_stores_count_with_what_is_packed(self):
        with tempfile.TemporaryDirectory() as folder:
            store = os.path.join(folder, "h200.db")
            with open(os.path.join(H200, "h200.db"), "rb") as source, open(store, "wb") as copy:
                copy.write(source.read())
            done = predict("resnet50", "--device", "h200", "--from", store)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("points of native on H100 SXM5, H200 SXM5", done.stdout)

    def test_files_are_networks_too(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "net.onnx")
            subprocess.run([PROGRAM, "models", "resnet18", "--onnx", file], check=True, capture_output=True)
            one, other = rows(file, "resnet18", "--device", "h100", "--batch", "64")
            self.assertAlmostEqual(one["time_ms"] / other["time_ms"], 1, delta=0.02)

    def test_wrong_words_get_one_line(self):
        for arguments, word in [(("resnet50", "--device", "nothing"), "known are"),
                                (("resnet5", "--device", "t4"), "resnet50"),
                                (("resnet50", "--device", "t4", "--batch", "0"), "--batch"),
                                (("resnet50", "--device", "t4", "--backend", "nobody"), "nobody"),
                                (("resnet50", "--device", "t4", "--from", "/nowhere.db"), "nowhere"),
                                (("no.onnx", "--device", "t4"), "no.onnx")]:
            done = predict(*arguments)
            self.assertEqual(done.returncode, 2, (arguments, done.stdout, done.stderr))
            self.assertIn(word, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
