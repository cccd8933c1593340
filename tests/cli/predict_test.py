"""`deepgap predict`: GPUs that are not here, foretold from what was measured elsewhere.

Usage: predict_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
H200 = os.path.abspath("docs/results/h200-native")
TRAINING = os.path.abspath("docs/results/training")


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
        precisions, batches = sorted({precision for precision, _ in measured}), sorted({batch for _, batch in measured})
        held = []
        for row in rows("resnet50", "--device", "h200", "--precision", ",".join(precisions), "--batch", ",".join(map(str, batches))):
            self.assertEqual(row["device"], "H200 SXM5")
            throughput = measured.get((row["precision"], row["batch"]))
            if throughput:
                held.append(row["low"] <= 1e3 * row["batch"] / throughput <= row["high"])
        self.assertEqual(len(held), len(measured))
        self.assertGreater(sum(held), 0.8 * len(held))

    def test_a_card_of_another_architecture_is_a_first_guess(self):
        done = predict("resnet50", "--device", "T4", "--precision", "int8")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("predicted, not measured", done.stdout)
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
            store = os.path.join(folder, "grid.db")
            with open(os.path.join(H200, "grid.db"), "rb") as source, open(store, "wb") as copy:
                copy.write(source.read())
            done = predict("resnet50", "--device", "h200", "--from", store)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("points of native on H100 SXM5, H200 SXM5", done.stdout)

    def trained(self):
        """Steps as CUDA graphs on an H200: of the study's protocol, which predict learns from, and of other batches, which it does not."""
        with open(os.path.join(TRAINING, "points.csv")) as file:
            steps = [row for row in csv.DictReader(file)
                     if "cuda_graph=on" in row["options"] and row["study"] == "training-intensity" and row["outcome"] == "ok"]
        return [row for row in steps if "samples=256" in row["options"]], [row for row in steps if "samples=256" not in row["options"]]

    def test_steps_that_were_not_learned_from_lie_in_their_bands(self):
        """But MobileNetV3-Large in FP32, of which one step was learned from: it takes up to twice as long as is foretold (docs/explanation/prediction-model.md)."""
        _, measured = self.trained()
        measured = [point for point in measured if point["batch"] != "64" and (point["model"], point["precision"]) != ("mobilenet_v3_large", "fp32")]
        self.assertGreater(len(measured), 60)
        misses, held = [], []
        for model in {point["model"] for point in measured}:
            asked = rows(model, "--task", "train", "--device", "h200", "--precision", "fp32,tf32,mixed", "--batch", "1..512*2")
            foretold = {(row["precision"], row["batch"]): row for row in asked}
            for point in measured:
                if point["model"] != model:
                    continue
                row, step = foretold[point["precision"], int(point["batch"])], float(point["step_ms"])
                misses.append(abs(row["time_ms"] / step - 1))
                held.append(row["low"] <= step <= row["high"])
        self.assertLess(statistics.median(misses), 0.15)
        self.assertGreater(sum(held), 0.9 * len(held))

    def test_of_a_network_that_was_trained_the_step_lies_in_its_band_mostly(self):
        measured, _ = self.trained()
        self.assertEqual(len(measured), 9)
        held = []
        asked = {model: rows(model, "--task", "train", "--device", "h200", "--precision", "fp32,tf32,mixed", "--batch", "64")
                 for model in {point["model"] for point in measured}}
        for point in measured:
            [row] = [row for row in asked[point["model"]] if row["precision"] == point["precision"]]
            self.assertAlmostEqual(row["measured_ms"], float(point["step_ms"]), delta=0.01 * float(point["step_ms"]))
            self.assertAlmostEqual(row["forward_ms"] + row["backward_ms"] + row["update_ms"], row["time_ms"], places=6)
            for kind in ("weights", "gradients", "optimizer_state"):
                self.assertAlmostEqual(row["memory_by_kind"][kind] / 2**20, float(point[kind + "_mib"]), delta=0.5)
            held.append(row["low"] <= float(point["step_ms"]) <= row["high"])
        self.assertGreater(sum(held), 0.8 * len(held))

    def test_a_step_that_runs_out_of_memory_is_said_with_the_batch_that_would_fit(self):
        large, small = rows("resnet50", "--task", "train", "--device", "l4", "--precision", "tf32", "--batch", "1024,8")
        self.assertFalse(large["fits"])
        self.assertTrue(small["fits"])
        self.assertTrue(8 < large["largest_batch"] < 1024)
        adam = rows("resnet50", "--task", "train", "--device", "l4", "--precision", "tf32", "--batch", "8", "--optimizer", "adamw")[0]
        self.assertAlmostEqual(adam["memory_by_kind"]["optimizer_state"], 2 * small["memory_by_kind"]["optimizer_state"])
        done = predict("resnet50", "--task", "train", "--device", "l4", "--batch", "1024")
        self.assertIn("out of memory", done.stdout)
        self.assertIn("a first guess: libtorch_cuda has not been tried on its architecture", done.stdout)

    def test_a_cpu_is_told_by_its_ceilings_and_has_no_band_that_nobody_tried(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "other.json")
            compute = [{"precision": precision, "kernel": precision, "flop_per_s": rate, "median_flop_per_s": rate, "sustained": None}
                       for precision, rate in [("fp32", 2e12), ("int8", 8e12)]]
            memory = [{"footprint_bytes": size, "read_bytes_per_s": rate, "triad_bytes_per_s": rate, "median_bytes_per_s": rate, "sustained": None}
                      for size, rate in [(1 << 18, 4e12), (1 << 26, 4e11), (1 << 30, 2e11)]]
            with open(file, "w") as out:
                json.dump({"device": "cpu", "ceilings": {"threads": 16, "seconds": 1, "compute": compute, "memory": memory}}, out)
            one, many, missing = rows("resnet50", "--device", file, "--precision", "int8,bf16", "--batch", "1,16")[:3]
            self.assertGreater(many["time_ms"], one["time_ms"])
            self.assertIsNone(one["low"])
            self.assertIsNone(one["memory_bytes"])
            self.assertIn("no units for bf16", missing["reason"])
            done = predict("resnet50", "--device", file, "--device", "h100")
            self.assertIn("the error of such a prediction is not known; native was measured on one of these CPUs alone", done.stdout)
            self.assertIn("H100 SXM5", done.stdout, "devices of both kinds in one call")
            refused = predict("resnet50", "--device", file, "--task", "train")
            self.assertEqual(refused.returncode, 2)
            self.assertIn("training on a CPU has not been measured", refused.stderr)
            with open(file, "w") as out:
                out.write("[]")
            self.assertIn("deepgap ceilings --json", predict("resnet50", "--device", file).stderr)

    def test_files_are_networks_too(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "net.onnx")
            subprocess.run([PROGRAM, "models", "resnet18", "--onnx", file], check=True, capture_output=True)
            one, other = rows(file, "resnet18", "--device", "h100", "--batch", "64")
            self.assertAlmostEqual(one["time_ms"] / other["time_ms"], 1, delta=0.02)

    def test_wrong_words_get_one_line(self):
        for arguments, word in [(("resnet50", "--device", "nothing"), "expected the name of a data sheet: P100"),
                                (("resnet5", "--device", "t4"), "resnet50"),
                                (("resnet50", "--device", "t4", "--batch", "0"), "--batch"),
                                (("resnet50", "--device", "t4", "--backend", "nobody"), "nobody"),
                                (("resnet50", "--device", "t4", "--from", "/nowhere.db"), "nowhere"),
                                (("resnet50", "--device", "/nowhere.json"), "nowhere"),
                                (("resnet50", "--device", "t4", "--task", "dream"), "infer or train"),
                                (("resnet50", "--device", "t4", "--task", "train", "--optimizer", "luck"), "adamw"),
                                (("no.onnx", "--device", "t4"), "no.onnx")]:
            done = predict(*arguments)
            self.assertEqual(done.returncode, 2, (arguments, done.stdout, done.stderr))
            self.assertIn(word, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
