"""Tests `deepgap run --end-to-end`: the same answers as with inputs in memory, every stage's share, one line for what does not go.

Usage: end_to_end_test.py PATH_OF_DEEPGAP [unittest arguments]; in the tree's root, where data/ and tests/data are.
"""
import os
import shutil
import subprocess
import sys
import unittest

from store_case import PROGRAM, StoreCase

NETWORK = ["--model", "efficientnet_lite0", "--weights", "imagenet", "--dataset", "pictures"]
STAGES = ["wait_decode", "read", "decode", "preprocess", "wait_infer", "copy_in", "compute", "copy_out"]


class EndToEndTest(StoreCase):
    flags = ["--warmup", "2"]
    backend = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pictures = os.path.join(cls.dir, "pictures")
        os.mkdir(cls.pictures)
        for name in ("waves.png", "waves.jpg", "grey.png"):
            shutil.copy(os.path.join("tests/data/pictures", name), cls.pictures)
        cls.small = ["--model", "resnet18:width=0.125,classes=10", "--shape", "input:Nx3x32x32", "--dataset", cls.pictures]

    def measured(self, *flags):
        """The rows of a run that goes well."""
        result = self.run_deepgap(*flags)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return self.rows()

    def stages(self, row):
        return {stage: row[f"stage_{stage}_ms"] for stage in STAGES}

    def test_the_network_answers_as_it_does_with_inputs_in_memory(self):
        if not os.path.exists("data/pictures/done"):
            self.skipTest("the packaged pictures are not in data/pictures; ./quickstart puts them there")
        rows = self.measured(*NETWORK, "--backend", "native", "--threads", "1", "--batch", "4", "--end-to-end", "off,serial,overlapped", "-n", "6")
        off, overlapped, serial = sorted(rows, key=lambda row: row["options"])
        for row in (off, serial, overlapped):
            self.assertEqual(row["outcome"], "ok", row["reason"])
            self.assertTrue(row["check_pass"])
            self.assertEqual((row["check_max_abs_error"], row["check_top1_agreement"]),
                             (off["check_max_abs_error"], off["check_top1_agreement"]), "other inputs would have other errors")
        self.assertIsNone(off["stage_decode_ms"])
        for row in (serial, overlapped):
            self.assertGreater(row["stage_decode_ms"], 0)
            self.assertGreater(row["stage_preprocess_ms"], 0)
            self.assertGreater(row["stage_compute_ms"], 0)
            self.assertAlmostEqual(sum(row[f"stage_{stage}_share"] for stage in STAGES), 1, delta=1e-6)
        # Stage by stage is the whole latency of a query that nothing overlaps, but for what a busy machine lets it wait in between.
        whole = sum(self.stages(serial).values()) / serial["latency_mean_ms"]
        self.assertTrue(0.2 < whole < 1.001, whole)
        report = subprocess.run([PROGRAM, "report", self.store, "--output", "-"], capture_output=True, text=True, check=True).stdout
        self.assertIn("items/s end to end", report)
        self.assertIn('<section id="stages"', report)

    def test_every_kind_of_load(self):
        for load in (["--scenario", "single-stream"], ["--scenario", "offline", "--batch", "4"], ["--scenario", "batch", "--batch", "3"],
                     ["--scenario", "server", "--rate", "50"]):
            for mode in ("serial", "overlapped"):
                with self.subTest(load + [mode]):
                    row = self.measured(*self.small, "--backend", "native", "--threads", "1", "--decode-threads", "2", "--end-to-end", mode,
                                    "--duration", "300ms", *load)[-1]
                    self.assertIn(row["outcome"], "ok", row["reason"])
                    self.assertGreater(row["stage_decode_ms"], 0)

    def test_on_a_cpu_every_place_of_inputs_is_the_same(self):
        row = self.measured(*self.small, "--backend", "native", "--threads", "1", "--end-to-end", "serial", "--axis", "inputs=device", "-n", "3")[0]
        self.assertEqual(row["outcome"], "ok", row["reason"])

    def test_decoded_queries_are_joined_to_batches(self):
        row = self.measured(*self.small, "--backend", "native", "--threads", "2", "--end-to-end", "overlapped", "--scenario", "concurrency",
                        "--clients", "8", "--max-batch", "4", "--max-delay", "20ms", "--instances", "2", "--duration", "500ms")[0]
        self.assertEqual((row["outcome"], row["check_pass"]), ("ok", True), row["reason"])
        self.assertGreater(row["batch_size_mean"], 1)
        self.assertGreater(row["stage_decode_ms"], 0)

    def test_the_scripted_engine_is_overlapped(self):
        rows = self.measured(*self.small, "--backend", "null", "--axis", "null.latency=20ms", "--end-to-end", "off,serial,overlapped", "--duration",
                         "1s", "--threads", "1")
        # Queries a second times their latency are the queries in the stages at a time, however fast the machine is.
        at_a_time = {row["options"].split("end_to_end=")[1].split(";")[0]: row["throughput"] * row["latency_mean_ms"] / 1e3
                     for row in rows if "end_to_end=" in row["options"]}
        self.assertLess(at_a_time["serial"], 1.1)
        self.assertGreater(at_a_time["overlapped"], 1.1)

    def test_what_does_not_go_is_one_line_before_anything_runs(self):
        broken = os.path.join(self.dir, "broken")
        os.makedirs(broken, exist_ok=True)
        with open(os.path.join(self.pictures, "waves.png"), "rb") as whole, open(os.path.join(broken, "half.png"), "wb") as half:
            half.write(whole.read()[:200])
        end_to_end = ["--end-to-end", "serial"]
        for flags, words in ((["--dataset", "seeded", *end_to_end], "dataset 'seeded' has none: use --dataset pictures"),
                             (["--dataset", broken, *end_to_end], "half.png"),
                             (["--decode-threads", "0", *end_to_end], "invalid value '0' for --decode-threads: expected a whole number from 1 to 1024"),
                             (["--decode-threads", "1025", *end_to_end], "'1025' for --decode-threads"),
                             (["--decode-threads", "2"], "decode_threads applies to end-to-end queries"),
                             (["--end-to-end", "pipelined"], "'pipelined' for --end-to-end"),
                             (["--processes", "2", *end_to_end], "--end-to-end needs one process")):
            with self.subTest(flags):
                result = self.run_deepgap(*self.small, "--backend", "null", "-n", "5", *flags)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(words, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
