"""Steps of training by LibTorch on the CPU, from the command line. Usage: training_test.py PROGRAM DATA_FOLDER"""
import contextlib
import json
import os
import resource
import signal
import sqlite3
import struct
import subprocess
import sys
import time
import unittest

import onnx_file
from long_tests import long
from sanitized import sanitizer_of
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

    def test_a_profile_of_a_step_on_a_cpu_is_a_note(self):
        done = self.run_deepgap(*STEPS, "--profile")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("a training has no layers that are timed one by one", done.stderr)

    def test_the_same_run_has_the_same_loss(self):
        losses = [self.run_losses("sgd,momentum,adam,adamw"), self.run_losses("momentum,adamw")]
        self.assertEqual(losses[0], losses[0] | losses[1])
        self.assertEqual((len(set(losses[0].values())), len(losses[1])), (4, 2), losses)

    def run_losses(self, optimizers):
        if os.path.exists(self.store):
            os.unlink(self.store)
        self.assertEqual(self.run_deepgap(*STEPS, "--optimizer", optimizers).returncode, 0)
        return {row["point_id"]: row["final_loss"] for row in self.rows()}

    def test_task_is_an_axis(self):
        done = self.run_deepgap("--task", "infer,train", *STEPS[2:], "--axis", "accuracy=off")
        self.assertEqual(done.returncode, 0, done.stderr)
        tasks = sorted(row["task"] for row in self.rows())
        self.assertEqual(tasks, ["infer", "train"])

    def test_what_cannot_be_trained_is_one_line(self):
        wrong = [
            (("--optimizer", "adamq"), "did you mean 'adam'"),
            (("--loss", "hinge"), "expected cross-entropy or mse"),
            (("--learning-rate", "fast"), "invalid value 'fast' for "),
            (("--scenario", "server", "--rate", "5"), "scenario batch"),
            (("--processes", "2", "--device", "cuda:0"), "name 2 devices, as in cuda:0+cuda:1"),
            (("--device", "cuda:0+cuda:1"), "a process for each: --processes 2"),
            (("--processes", "2", "--device", "cpu+cuda:0"), "need equal devices, not cpu and cuda"),
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
            self.assertEqual((row.get("throughput"), row.get("throughput_per_device")), (None, None))

    def test_processes_that_train_together_share_their_gradients(self):
        row = self.one(0, *STEPS, "--processes", "2")
        self.assertEqual((row["outcome"], row["check_pass"]), ("ok", 1))
        self.assertIn(row["timings"], (7, 8))  # one may end behind the window that both share
        self.assertGreater(row["allreduce_ms"], 0)
        self.assertAlmostEqual(row["throughput"], 16 * row["steps_per_s"], delta=0.02 * row["throughput"])
        self.assertEqual([name for name in os.listdir("/dev/shm") if row["run_id"] in name], [])
        os.unlink(self.store)
        unequal = self.one(1, *STEPS[:-6], "--budget", "1s", "--repeats", "1", "--processes", "2")
        self.assertIn("same number of steps", unequal["reason"])

    def test_processes_agree_on_the_steps_that_fill_a_duration(self):
        row = self.one(0, *STEPS[:-6], "--duration", "500ms", "--repeats", "1", "--processes", "2")
        self.assertEqual((row["outcome"], row["check_pass"]), ("ok", 1), row["reason"])
        with contextlib.closing(sqlite3.connect(self.store)) as store:
            agreed = int(store.execute("select value from v1_facts where key = 'train.steps_agreed'").fetchone()[0])
        self.assertGreater(agreed, 2)
        self.assertIn(row["timings"], (2 * agreed - 1, 2 * agreed))  # of both; one may end behind the window that they share

    def test_dropout_is_in_the_training_form_with_the_same_masks_in_the_reference(self):
        model = "mobilenet_v3_small:width=0.25,image=32,classes=10"
        losses = {}
        for form, precision in ((model, "fp32"), (model, "bf16"), (model + ",dropout=0", "fp32")):
            row = self.one(0, "--task", "train", "--model", form, *STEPS[2 + len(TINY):], "--precision", precision)
            self.assertEqual((row["outcome"], row["check_pass"]), ("ok", 1), row["reason"])
            losses[form, precision] = row["final_loss"]
            os.unlink(self.store)
        self.assertNotEqual(losses[model, "fp32"], losses[model + ",dropout=0", "fp32"])

    def test_berts_dropout_is_in_its_training_form(self):
        losses = set()
        for form in ("bert_base:width=0.05,sequence=8", "bert_base:width=0.05,sequence=8,dropout=0"):
            row = self.one(0, "--task", "train", "--model", form, *STEPS[2 + len(TINY):], "--loss", "mse")
            self.assertEqual((row["outcome"], row["check_pass"]), ("ok", 1), row["reason"])
            losses.add(row["final_loss"])
            os.unlink(self.store)
        self.assertEqual(len(losses), 2)

    def test_gradients_in_buckets_are_the_same_gradients(self):
        losses = set()
        for flags in (["--axis", "libtorch.overlap=off"], ["--axis", "libtorch.bucket_mib=1"]):
            row = self.one(0, *STEPS, "--processes", "2", *flags)
            self.assertEqual((row["outcome"], row["check_pass"]), ("ok", 1), row["reason"])
            self.assertGreater(row["allreduce_alone_ms"], 0)
            self.assertTrue(0 <= row["allreduce_hidden_share"] <= 1, row["allreduce_hidden_share"])
            losses.add(row["final_loss"])
            os.unlink(self.store)
        self.assertEqual(len(losses), 1)

    @unittest.skipIf(sanitizer_of(PROGRAM), "a sanitizer takes memory of its own")
    def test_memory_that_ends_is_a_record_and_the_next_batch_goes_on(self):
        enough = 1 << 30  # for batch 1; what a forward pass of 256 leaves for its backward pass is more
        done = subprocess.run(self.command("--task", "train", "--model", "resnet18:width=0.25,classes=10", "--batch", "256,1", "--threads", "1",
                                           "--check", "off", "--warmup", "0", "--iterations", "1", "--repeats", "1"), capture_output=True,
                              text=True, timeout=900, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (enough, enough)))
        self.assertEqual(done.returncode, 1, done.stderr)
        rows = {row["batch"]: row for row in self.rows()}
        self.assertEqual((rows[1]["outcome"], rows[256]["outcome"]), ("ok", "out_of_memory"), rows[256]["reason"])
        self.assertEqual(len(rows[256]["reason"].splitlines()), 1)

    def test_a_network_without_weights(self):
        path = os.path.join(self.dir, "relu.onnx")
        with open(path, "wb") as file:
            file.write(onnx_file.relu_model_of(["N", 5]))
        row = self.one(1, "--task", "train", "--model", path, *STEPS[2 + len(TINY):])
        self.assertEqual((row["outcome"], row["refused_by"]), ("refused", "libtorch"))
        self.assertIn("has no weights that training could change", row["reason"])

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


class DyingRankTest(StoreCase):
    """Tests a training one of whose processes dies or hangs: one record says so, and no process is left."""
    backend = "libtorch"
    LONG = [*STEPS[:-3], "1000000", "--repeats", "1", "--check", "off", "--processes", "2"]

    def start(self, *flags):
        self.process = subprocess.Popen(self.command(*self.LONG, *flags), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def wait_until(self, what):
        """Returns the result of `what` as soon as it is true."""
        while self.process.poll() is None:
            if found := what():
                return found
            time.sleep(0.01)
        self.fail(f"the run ended first: {self.process.communicate()}")

    def workers(self):
        """Process ids of the run's children that measure, in the order in which they were started."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split() if b"__worker" in self.of_process(int(pid), "cmdline")]

    def ranks(self):
        # What inspects is a worker too, alone.
        return self.wait_until(lambda: len(pids := self.workers()) == 2 and pids)

    @staticmethod
    def of_process(pid, name):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                return file.read()
        except OSError:
            return b""

    def offers_memory(self, pid):
        """Whether it holds the descriptor by which the other ranks get to the memory that all share: it waits for them."""
        try:
            return any("deepgap-gradients" in os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            return False

    def have_met(self, pids):
        return all(b"deepgap-gradients" in self.of_process(pid, "maps") for pid in pids) and not self.offers_memory(pids[0])

    def seconds_of(self, pid):
        """Returns the seconds of CPU time that the process took."""
        fields = self.of_process(pid, "stat").rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if len(fields) > 12 else 0

    def train(self, pids):
        """Returns when all have trained for a while."""
        self.wait_until(lambda: self.have_met(pids))
        begin = {pid: self.seconds_of(pid) for pid in pids}
        self.wait_until(lambda: all(self.seconds_of(pid) > begin[pid] + 1 for pid in pids))

    def record(self, pids):
        self.process.communicate()
        self.assertEqual(self.process.returncode, 1)
        for pid in pids:
            state = self.of_process(pid, "stat").rpartition(b")")[2].split()[:1]
            self.assertIn(state, ([], [b"Z"]), "a rank outlives its run")
        rows = self.rows()
        self.assertEqual(len(rows), 1, rows)
        return rows[0]

    def test_one_that_is_killed_at_load(self):
        self.start()
        pids = self.ranks()
        os.kill(pids[1], signal.SIGKILL)
        row = self.record(pids)
        self.assertEqual(row["outcome"], "crashed")
        self.assertRegex(row["reason"], "process 2 of 2 on cpu: .*SIGKILL")

    def test_one_that_is_killed_where_the_others_wait_for_it(self):
        self.start()
        pids = self.ranks()
        os.kill(pids[1], signal.SIGSTOP)
        self.wait_until(lambda: self.offers_memory(pids[0]))
        os.kill(pids[1], signal.SIGKILL)
        row = self.record(pids)
        self.assertEqual(row["outcome"], "crashed")
        self.assertRegex(row["reason"], "process 2 of 2 on cpu: .*SIGKILL")

    def test_one_that_is_killed_in_mid_run(self):
        self.start()
        pids = self.ranks()
        self.train(pids)
        os.kill(pids[0], signal.SIGKILL)
        row = self.record(pids)
        self.assertEqual(row["outcome"], "crashed")
        self.assertRegex(row["reason"], "process 1 of 2 on cpu: .*in phase steady: .*SIGKILL")

    def test_one_that_hangs(self):
        self.start("--timeout", "10s")
        pids = self.ranks()
        self.train(pids)
        os.kill(pids[0], signal.SIGSTOP)
        row = self.record(pids)
        self.assertEqual(row["outcome"], "timed_out")
        self.assertRegex(row["reason"], "process [12] of 2 on cpu: no progress for 10 s")


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

    @long
    def test_one_trained_in_bf16_too(self):
        for where, share in self.accuracies(self.trained("bf16"), ["native"]).items():
            self.assertGreaterEqual(share, 0.97, where)


if __name__ == "__main__":
    unittest.main()
