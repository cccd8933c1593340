"""Tests `deepgap tune`: it finds the better configuration, each run is a record, the budget is kept, and a search continues where it ended.

Usage: tune_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import unittest

from store_case import PROGRAM, TINY, StoreCase

NULL = [*TINY, "--backend", "null"]


class TuneCase(StoreCase):
    verb = "tune"
    backend = None

    def tuned(self, *flags):
        run = self.run_deepgap(*flags, "--json")
        self.assertEqual(run.returncode, 0, run.stderr + run.stdout)
        return json.loads(run.stdout)


class AnyPaceTest(TuneCase):
    """Tests in which the clock does not matter: they may run beside other work."""

    def test_the_fastest_configuration_on_null(self):
        # A query takes the same time whatever its batch, so that the largest is the fastest.
        flags = [*NULL, "--axis", "null.clock=virtual", "--axis", "null.latency=5ms", "--batch", "1,8,64", "--streams", "1", "--duration", "200ms"]
        result = self.tuned(*flags)
        best = result["finalists"][0]
        self.assertEqual(best["point"]["batch"], 64)
        self.assertTrue(best["confirmed"])
        self.assertEqual(best["runs"], 5)
        self.assertLessEqual(best["interval"][0], best["interval"][1])
        self.assertEqual((result["configurations"], result["tried"]), (3, 3))
        rows = self.rows()
        self.assertEqual(len(rows), result["records"])
        self.assertEqual({re.search("tune_run=(\\w+)", row["options"])[1] for row in rows}, {"search", "confirm"})
        again = self.tuned(*flags, "--resume")
        self.assertEqual((again["records"], again["done_before"]), (0, len(rows)))
        self.assertEqual(again["finalists"], result["finalists"])
        command = shlex.split(best["command"])
        self.assertEqual(command[0], "deepgap")
        run = subprocess.run([PROGRAM, *command[1:], "--cache", self.dir, "--store", self.store, "--duration", "100ms"], capture_output=True,
                             text=True, timeout=900)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_studies_in_one_store_search_for_themselves(self):
        flags = [*NULL, "--axis", "null.clock=virtual", "--batch", "1,8", "--streams", "1", "--duration", "200ms"]
        made = self.tuned(*flags, "--study", "before")["records"]
        other = self.tuned(*flags, "--study", "after", "--resume")
        self.assertEqual((other["records"], other["done_before"]), (made, 0))
        again = self.tuned(*flags, "--study", "before", "--resume")
        self.assertEqual((again["records"], again["done_before"]), (0, made))
        self.assertEqual({row["study"] for row in self.rows()}, {"before", "after"})

    def test_a_small_network_on_native(self):
        result = self.tuned(*TINY, "--batch", "1,8", "--threads", "1", "--streams", "1", "--duration", "300ms", "--budget", "10min")
        self.assertIn(result["finalists"][0]["point"]["batch"], (1, 8))
        self.assertGreater(result["finalists"][0]["value"], 0)
        self.assertEqual({row["verdict"] for row in self.rows()}, {"as_found"})

    def test_nothing_holds_the_bound(self):
        run = self.run_deepgap(*NULL, "--axis", "null.clock=virtual", "--axis", "null.latency=20ms", "--bound", "p90=5ms", "--duration", "300ms", "--streams", "1", "--max-batch", "1")
        self.assertEqual(run.returncode, 1)
        told = re.search("no answer: p90=5ms is met by none of the configurations tried; the last run: .*even the fastest query took ([0-9.]+) ms", run.stdout)
        self.assertIsNotNone(told, run.stdout)
        self.assertGreaterEqual(float(told[1]), 20)  # behind a queue that began before the window it takes longer

    def test_time_is_kept_and_it_goes_on(self):
        flags = [*NULL, "--axis", "null.latency=1ms", "--batch", "1,2,4,8", "--streams", "1", "--duration", "400ms"]
        run = self.run_deepgap(*flags, "--budget", "2s")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("not confirmed", run.stdout)
        before = len(self.rows())
        self.assertGreaterEqual(before, 1)
        process = subprocess.Popen(self.command(*flags, "--resume"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in process.stderr:  # until another one is finished
            if line.startswith("["):
                break
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
        process.stdout.read()
        self.assertEqual(process.wait(900), 130, err)
        self.assertIn("the same command with --resume continues", err)
        process.stdout.close()
        process.stderr.close()
        done = [row for row in self.rows() if row["outcome"] == "ok"]
        self.assertGreater(len(done), before)
        result = self.tuned(*flags, "--resume")
        self.assertGreaterEqual(result["done_before"], before)
        ids = [(row["point_id"], row["repeat"]) for row in self.rows() if row["outcome"] == "ok"]
        self.assertEqual(len(ids), len(set(ids)))

    def test_dry_run_and_bad_input(self):
        plan = self.run_deepgap(*NULL, "--threads", "1,2", "--streams", "1,2", "--batch", "1", "--dry-run")
        self.assertEqual(plan.returncode, 0, plan.stderr)
        self.assertEqual(plan.stdout, "threads 1, streams 1: tried\nthreads 2, streams 1: tried\nthreads 2, streams 2: tried\n"
                                      "3 configurations, 3 of them tried, in at most 10min\n")
        for flags, says in (([], "give --model"),
                            ([*NULL, "--max-batch", "4"], "give --slo, or tune --batch"),
                            ([*NULL, "--bound", "p99=5"], "invalid value 'p99=5' for "),
                            ([*NULL, "--bound", "p99=5ms", "--batch", "1,2"], "give one --batch"),
                            ([*NULL, "--model", "resnet18,resnet50"], "give one --model"),
                            ([*NULL, "--axis", "rate=5", "--bound", "p99=5ms"], "tune chooses rate itself"),
                            ([*NULL, "--threads", "1", "--streams", "2"], "each value of --streams is above all values of --threads"),
                            ([*NULL, "--budget", "0s"], "--budget: expected a time above 0"),
                            ([*NULL, "--budget", "soon"], "expected a time"),
                            ([*NULL, "--duration", "0s"], "--duration: expected a time above 0"),
                            ([*NULL, "--peak-ratio", "near", "--bound", "p99=5ms"], "expected a percentage or fraction"),
                            ([*NULL, "--threads", "two"], "threads"),
                            ([*NULL, "--stream", "2"], "did you mean '--streams'")):
            with self.subTest(flags):
                run = self.run_deepgap(*flags)
                self.assertEqual(run.returncode, 2, run.stderr + run.stdout)
                self.assertIn(says, run.stderr)
                self.assertEqual(len(run.stderr.strip().splitlines()), 1, run.stderr)
                self.assertFalse(os.path.exists(self.store))


class TuneTest(TuneCase):
    def test_the_highest_peak_on_null(self):
        flags = [*NULL, "--axis", "null.clock=virtual", "--axis", "null.latency=10ms", "--bound", "p90=50ms", "--duration", "200ms", "--streams", "1", "--max-batch", "1,16",
                 "--max-delay", "0", "--peak-ratio", "20%"]
        run = self.run_deepgap(*flags)
        self.assertEqual(run.returncode, 0, run.stderr + run.stdout)
        # One by one no more than 100 a second are answered; in batches up to 1600.
        self.assertRegex(run.stdout, r"(?m)^max_batch +max_delay +queries a second +held +one step above +held +result$")
        self.assertRegex(run.stdout, r"(?m)^best: max_batch 16, max_delay 0: .* meet p90=50ms in 5 of 5 runs")
        rate = float(re.search(r"use it: deepgap run .* --max-batch 16 .*--rate ([0-9.]+)", run.stdout)[1])
        self.assertGreater(rate, 100)
        self.assertEqual({re.search("peak=(\\w+)", row["options"])[1] for row in self.rows()}, {"search", "confirm"})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
