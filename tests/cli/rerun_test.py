"""Tests `deepgap rerun`: the same point with the same settings, what differs, and one line for what cannot be had.

  python3 rerun_test.py build/bin/deepgap
"""
import json
import os
import subprocess
import sys
import unittest

from onnx_file import relu_model
from store_case import PROGRAM, TINY, StoreCase

H200 = os.path.abspath("docs/results/h200-libtorch/h200.db")


class RerunTest(StoreCase):
    flags = [*TINY, "--axis", "null.clock=virtual", "--warmup", "3", "-n", "40"]

    def measure(self, *flags):
        done = self.run_deepgap(*flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.rows()

    def rerun(self, record, *flags, store=None, code=0):
        self.again = self.store + ".again.db"
        done = subprocess.run([PROGRAM, "rerun", record, "--from", store or self.store, "--store", self.again, "--cache", self.dir, *flags],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def records_again(self):
        return json.loads(subprocess.run([PROGRAM, "export", self.again, "--format", "json"], capture_output=True, text=True, check=True).stdout)

    def test_measures_the_same_point_with_the_same_settings(self):
        rows = self.measure("--batch", "1,4", "--repeats", "2", "--axis", "null.distribution=normal", "--axis", "null.sigma=0.05")
        row = [row for row in rows if row["batch"] == 4 and row["repeat"] == 2][0]
        said = self.rerun(row["record_id"][:8])
        [new] = self.records_again()
        for column in ("point_id", "options", "batch", "repeat", "sweep", "stopping", "iterations", "warmup_iterations", "study", "outcome", "verdict"):
            self.assertEqual(new[column], row[column], column)
        self.assertNotEqual((new["record_id"], new["run_id"]), (row["record_id"], row["run_id"]))
        self.assertIn("not enough data: single run", said, "one repeat tells nothing")
        self.assertRegex(said, r"(?m)^then .*: 2 records of .*, [\d.]+ items/s, no target$")
        self.assertRegex(said, r"(?m)^now .*: 1 record of .*, [\d.]+ items/s, no target$")
        self.assertEqual(len(self.rows()), len(rows), "the Store that has it is left alone")

    def test_three_of_both_are_compared(self):
        row = self.measure("--repeats", "3", "--axis", "null.latency=5ms")[0]
        self.assertIn("not enough data: single run", self.rerun(row["record_id"]))
        said = self.rerun(row["record_id"], "--repeats", "2")
        self.assertIn("1.00 (1.00 to 1.00)  same within 2 %", said)
        self.assertEqual(len(self.records_again()), 3)
        os.remove(self.again)
        found = json.loads(self.rerun(row["record_id"], "--repeats", "3", "--json"))
        self.assertEqual([change["verdict"] for change in found["comparisons"]], ["same"])

    def test_arrivals_are_those_of_then(self):
        flags = ["--scenario", "server", "--rate", "200", "--duration", "2s", "--axis", "null.latency=2ms"]
        done = subprocess.run([PROGRAM, "run", *TINY, "--backend", "null", "--axis", "null.clock=virtual", "--cache", self.dir, "--store", self.store,
                               "--warmup", "3", *flags, "--repeats", "2"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        for row in self.rows():
            self.rerun(row["record_id"])
            [new] = self.records_again()
            self.assertEqual((new["timings"], new["latency_p99_ms"], new["queue_wait_p99_ms"]),
                             (row["timings"], row["latency_p99_ms"], row["queue_wait_p99_ms"]))
            os.remove(self.again)

    def test_a_duel_is_repeated_whole(self):
        done = subprocess.run([PROGRAM, "run", *TINY, "--backend", "null", "--cache", self.dir, "--store", self.store, "--duel", "null.latency",
                               "--axis", "null.latency=1ms,2ms", "--budget", "5s"], capture_output=True, text=True, timeout=300)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        rows = self.rows()
        self.assertEqual(len(rows), 2)
        self.again = self.store + ".again.db"
        done = subprocess.run([PROGRAM, "rerun", rows[1]["record_id"], "--from", self.store, "--store", self.again, "--cache", self.dir],
                              capture_output=True, text=True, timeout=300)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertEqual({row["point_id"] for row in self.records_again()}, {row["point_id"] for row in rows})

    def test_what_cannot_be_had_is_said_before_anything_runs(self):
        path = os.path.join(self.dir, "own.onnx")

        def write(size):
            with open(path, "wb") as file:
                file.write(relu_model(size))

        write(4)
        done = subprocess.run([PROGRAM, "run", path, "--backend", "null", "-n", "5", "--cache", self.dir, "--store", self.store],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        [row] = self.rows()
        self.rerun(row["record_id"])
        os.remove(self.again)
        write(8)
        card = json.loads(subprocess.run([PROGRAM, "export", H200, "--format", "json", "--outcome", "ok", "--device", "cuda:0", "--batch", "1"],
                                         capture_output=True, text=True, check=True).stdout)[0]
        for record, store, said in ((row["record_id"], self.store, "is not the file that"), (card["record_id"], H200, "cannot be repeated here"),
                                    ("zz", self.store, "no record_id begins with 'zz'"), (row["record_id"], "/nowhere.db", "/nowhere.db")):
            with self.subTest(said):
                error = self.rerun(record, store=store, code=2)
                self.assertEqual(len(error.strip().splitlines()), 1, error)
                self.assertIn(said, error)
                self.assertFalse(os.path.exists(self.again))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
