"""Steps of training by LibTorch on the CPU, from the command line. Usage: training_test.py PROGRAM DATA_FOLDER"""
import json
import os
import struct
import subprocess
import sys
import unittest

from store_case import PROGRAM, TINY, StoreCase

DIGITS = os.path.join(os.path.abspath(sys.argv[2]), "digits")
del sys.argv[1:3]
STEPS = ["--task", "train", *TINY, "--batch", "8", "--threads", "1", "--warmup", "0", "--iterations", "4", "--repeats", "1"]


class TrainingTest(StoreCase):
    backend = "libtorch"

    def test_a_step_is_the_unit_of_work_and_has_its_parts(self):
        row = self.one(0, *STEPS)
        self.assertEqual((row["outcome"], row["unit"], row["task"], row["timings"]), ("ok", "step", "train", 4))
        self.assertEqual((row["check_against"], row["check_pass"], row["check_samples"]), ("libtorch fp32 on the CPU", 1, 24))
        parts = row["forward_ms"] + row["backward_ms"] + row["update_ms"]
        self.assertLessEqual(parts, row["step_ms"] * 1.001)
        self.assertGreater(min(row["forward_ms"], row["backward_ms"], row["update_ms"], row["final_loss"]), 0)
        self.assertAlmostEqual(row["steps_per_s"], 1e3 / row["step_ms"], delta=1e-6 * row["steps_per_s"])
        self.assertAlmostEqual(row["throughput"], 8 * row["steps_per_s"], delta=1e-3 * row["throughput"])
        self.assertAlmostEqual(row["gradients_mib"] * 2**20, 4 * row["parameters"], delta=1)
        self.assertEqual(row["optimizer_state_mib"], row["gradients_mib"])  # momentum
        self.assertGreater(row["weights_mib"], row["gradients_mib"])  # and running statistics
        self.assertGreater(row["activations_mib"], 0)
        for column in ("accuracy_top1", "allreduce_ms", "stage_compute_ms", "int8_mac_share"):
            self.assertIn(row.get(column), (None, ""), column)

    def test_work_is_of_the_whole_step(self):
        training = self.one(0, *STEPS)
        os.unlink(self.store)
        inference = self.one(0, *TINY, "--batch", "8", "--threads", "1", "--warmup", "0", "--iterations", "2", "--repeats", "1")
        ratio = training["macs_per_item"] / inference["macs_per_item"]
        self.assertTrue(2.5 < ratio < 3, ratio)  # the first layer, large here, passes nothing back
        self.assertGreater(training["flop_per_item"], 2 * training["macs_per_item"])
        for column in ("step_ms", "steps_per_s", "step_gflop", "final_loss"):
            self.assertIn(inference.get(column), (None, ""), column)

    def test_the_same_run_has_the_same_loss_and_task_is_an_axis(self):
        losses = [self.run_losses() for _ in range(2)]
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(len(set(losses[0].values())), 4, losses)

    def run_losses(self):
        if os.path.exists(self.store):
            os.unlink(self.store)
        done = self.run_deepgap("--task", "infer,train", *STEPS[2:], "--axis", "accuracy=off")
        self.assertEqual(done.returncode, 0, done.stderr)
        tasks = sorted(row["task"] for row in self.rows())
        self.assertEqual(tasks, ["infer", "train"])
        os.unlink(self.store)
        self.assertEqual(self.run_deepgap(*STEPS, "--optimizer", "sgd,momentum,adam,adamw").returncode, 0)
        return {row["point_id"]: row["final_loss"] for row in self.rows()}

    def test_what_cannot_be_trained_is_one_line(self):
        wrong = [
            (("--optimizer", "adamq"), "did you mean 'adam'"),
            (("--loss", "hinge"), "known: cross-entropy, mse"),
            (("--learning-rate", "fast"), "learning_rate='fast'"),
            (("--scenario", "server", "--rate", "5"), "scenario batch"),
            (("--processes", "2", "--device", "cuda:0"), "on the CPU alone"),
            (("--device", "cuda:0+cuda:1"), "for one device"),
            (("--axis", "samples=4"), "do not fill a batch of 8"),
            (("--axis", "instances=2"), "instances"),
            (("--end-to-end", "serial"), "end_to_end"),
        ]
        for flags, words in wrong:
            done = self.run_deepgap(*STEPS, *flags)
            self.assertEqual(done.returncode, 2, (flags, done.stderr))
            self.assertIn(words, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        done = self.run_deepgap(*STEPS[2:], "--optimizer", "sgd")
        self.assertEqual(done.returncode, 2)
        self.assertIn("add --task train", done.stderr)

    def test_other_engines_and_precisions_refuse_by_name(self):
        for backend, flags, words in (("native", [], "native does not do task train"),
                                      ("libtorch", ["--precision", "fp16"], "for a GPU"),
                                      ("libtorch", ["--accumulation", "3"], "cannot be cut into 3")):
            if os.path.exists(self.store):
                os.unlink(self.store)
            row = self.one(1, *STEPS, *flags, backend=backend)
            self.assertEqual((row["outcome"], row["refused_by"]), ("refused", backend))
            self.assertIn(words, row["reason"])

    def test_a_loss_that_is_no_number_is_incorrect(self):
        for flags in (["--check", "off"], []):
            if os.path.exists(self.store):
                os.unlink(self.store)
            row = self.one(1, *STEPS, "--iterations", "30", "--learning-rate", "1e6", *flags)
            self.assertEqual(row["outcome"], "incorrect", row["reason"])

    def test_processes_that_train_together_share_their_gradients(self):
        row = self.one(0, *STEPS, "--processes", "2")
        self.assertEqual((row["outcome"], row["check_pass"]), ("ok", 1))
        self.assertIn(row["timings"], (7, 8))  # one may end behind the window that both share
        self.assertGreater(row["allreduce_ms"], 0)
        self.assertAlmostEqual(row["throughput"], 16 * row["steps_per_s"], delta=0.02 * row["throughput"])
        self.assertEqual([name for name in os.listdir("/dev/shm") if row["run_id"] in name], [])
        os.unlink(self.store)
        unequal = self.one(1, *STEPS[:-6], "--warmup", "0", "--duration", "100ms", "--repeats", "1", "--processes", "2")
        self.assertIn("same number of steps", unequal["reason"])

    def test_labels_that_the_head_has_no_place_for(self):
        samples, labels = os.path.join(self.dir, "samples.npy"), os.path.join(self.dir, "labels.txt")
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 3, 32, 32), }".ljust(117) + "\n"
        with open(samples, "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(8 * 3 * 32 * 32 * 4))
        for last, code in ((9, 0), (10, 2)):
            with open(labels, "w") as file:
                file.write("\n".join(["3"] * 7 + [str(last)]) + "\n")
            done = self.run_deepgap(*STEPS, "--dataset", samples, "--labels", labels)
            self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn("10", done.stderr)


class DigitsTest(StoreCase):
    """Real pictures, held out ones among them: what was trained is right in every engine."""
    backend = "libtorch"

    def setUp(self):
        super().setUp()
        if not os.path.exists(os.path.join(DIGITS, "held_out_labels.npy")):
            self.skipTest(f"no digits in {DIGITS}: tools/setup --libtorch makes them")

    def digits(self, part):
        return ["--model", "digits_cnn", "--dataset", f"{DIGITS}/{part}.npy", "--labels", f"{DIGITS}/{part}_labels.npy", "--repeats", "1"]

    def trained(self, precision):
        weights = os.path.join(self.dir, f"{precision}.safetensors")
        row = self.one(0, "--task", "train", *self.digits("train"), "--axis", "samples=1438", "--batch", "32", "--learning-rate", "0.05",
                       "--warmup", "0", "--iterations", "450", "--precision", precision, "--save-weights", weights)
        self.assertLess(row["final_loss"], 0.2)
        os.unlink(self.store)
        return weights

    def accuracies(self, weights, backends):
        there = {row["name"]: row["available"] for row in json.loads(
            subprocess.run([PROGRAM, "backends", "--json"], capture_output=True, text=True, check=True).stdout)}
        use = [backend for backend in backends if there.get(backend)]
        for backend in set(backends) - set(use):
            print(f"{backend} is not here and was left out", file=sys.stderr)
        done = self.run_deepgap(*self.digits("held_out"), "--weights", weights, "--precision", "fp32,bf16,int8", "--batch", "16", "--warmup", "1",
                                "--iterations", "3", backend=",".join(use))
        self.assertIn(done.returncode, (0, 1), done.stderr)  # not every engine has every precision
        return {(row["backend"], row["precision"]): row["accuracy_top1"] for row in self.rows() if row["outcome"] == "ok"}

    def test_a_network_trained_in_fp32_is_right_in_every_engine(self):
        accuracy = self.accuracies(self.trained("fp32"), ["native", "onnxruntime", "openvino", "libtorch"])
        self.assertGreater(len(accuracy), 3)
        for where, share in accuracy.items():
            self.assertGreaterEqual(share, 0.97, where)

    def test_one_trained_in_bf16_too(self):
        for where, share in self.accuracies(self.trained("bf16"), ["native"]).items():
            self.assertGreaterEqual(share, 0.97, where)


if __name__ == "__main__":
    unittest.main()
