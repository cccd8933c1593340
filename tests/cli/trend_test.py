"""Tests `deepgap trend`: changes from run to run, by machine, with a control; one line for what is wrong.

  python3 trend_test.py build/bin/deepgap
"""
import json
import sqlite3
import subprocess
import sys
import unittest

from store_case import PROGRAM, TINY, StoreCase

RUNS = 12


class TrendTest(StoreCase):
    flags = [*TINY, "--axis", "null.clock=virtual", "--axis", "null.distribution=normal", "--warmup", "1", "-n", "20"]

    def nights(self, factor_of, *flags):
        """Writes one run a night into one store; its results are multiplied by factor_of(night) for each batch."""
        for _ in range(RUNS):
            done = self.run_deepgap(*flags)
            self.assertEqual(done.returncode, 0, done.stderr)
        with sqlite3.connect(self.store) as db:
            [(metric,)] = db.execute("SELECT id FROM metric_names WHERE name = 'throughput'")
            runs = [run for (run,) in db.execute("SELECT DISTINCT run FROM records ORDER BY started_unix_ns")]
            for night, run in enumerate(runs):
                for batch, factor in factor_of(night).items():
                    db.execute("UPDATE metric_values SET value = value * ? WHERE metric = ? AND record IN (SELECT r.id FROM records r JOIN points p"
                               " ON p.id = r.point WHERE r.run = ? AND p.batch = ?)", (factor, metric, run, batch))

    def trend(self, *flags):
        return subprocess.run([PROGRAM, "trend", self.store, *flags], capture_output=True, text=True, timeout=120)

    def test_says_when_and_by_how_much(self):
        self.nights(lambda night: {1: 1 if night < 6 else 0.5})
        done = self.trend()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"worse: 0\.5\d from 20\d\d-\d\d-\d\d \d\d:\d\d UTC")
        self.assertIn("1 of 1 series changed", done.stdout)
        page = self.store + ".html"
        self.assertEqual(self.trend("--output", page).stdout, done.stdout)
        with open(page, encoding="utf-8") as file:
            html = file.read()
        self.assertEqual(html.count("<circle"), RUNS)
        self.assertEqual(html.count('class="found" d'), 2)
        self.assertIn("1 of 1 series changed", html)
        [series] = json.loads(self.trend("--json").stdout)["series"]
        self.assertEqual(len(series["runs"]), RUNS)
        [change] = series["changes"]
        self.assertEqual(change["at"], 6)
        self.assertEqual(change["direction"], "worse")

    def test_a_small_change_is_seen_in_the_numbers(self):
        """Each night is the first one's copy, so that a change of 0.03 % is one."""
        self.nights(lambda night: {1: 1})
        with sqlite3.connect(self.store) as db:
            [(metric,)] = db.execute("SELECT id FROM metric_names WHERE name = 'throughput'")
            runs = [run for (run,) in db.execute("SELECT DISTINCT run FROM records ORDER BY started_unix_ns")]
            for night, run in enumerate(runs):
                value = (1000 if night < 6 else 1000.3) + 0.001 * (night % 3)
                db.execute("UPDATE metric_values SET value = ? WHERE metric = ? AND record IN (SELECT id FROM records WHERE run = ?)", (value, metric, run))
        self.assertRegex(self.trend().stdout, r"better: 1\.0003 from .*, 1,?000\.0 before and 1,?000\.3 since")

    def test_a_control_takes_the_machine_out(self):
        self.nights(lambda night: {1: 1 if night < 6 else 0.5, 2: 1 if night < 6 else 0.5}, "--batch", "1,2")
        self.assertIn("2 of 2 series changed", self.trend().stdout)
        done = self.trend("--control", "batch=2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no change found", done.stdout)
        self.assertIn("0 of 1 series changed", done.stdout)

    def test_what_is_wrong_is_one_line(self):
        self.assertEqual(self.run_deepgap().returncode, 0)
        shown = self.trend().stdout
        self.assertIn("too few runs", shown)
        self.assertIn("no series has enough runs", shown)
        for flags, words in ((["--metric", "speed"], "invalid value 'speed' for --metric"), (["--select", "batch=7"], "unknown batch '7'"),
                             (["--control", "batch=7"], "no record of the control"), (["--format", "xml"], "xml"), (["/nowhere.db"], "/nowhere.db"),
                             (["--output", "/nowhere/p.html"], "does not exist"), (["--output", "p.png"], "expected a page, such as NAME.html")):
            with self.subTest(flags):
                done = self.trend(*flags)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
