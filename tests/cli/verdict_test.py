"""Tests verdicts in virtual time: windows long enough, judged whole, under every rule.

  python3 verdict_test.py build/bin/deepgap
"""
import json
import os
import sqlite3
import subprocess
import sys
import unittest

from store_case import PROGRAM, TINY, StoreCase


class VerdictTest(StoreCase):
    flags = [*TINY, "--axis", "null.clock=virtual", "--axis", "null.latency=5ms"]
    noise = ["--axis", "null.distribution=normal", "--axis", "null.sigma=0.05"]

    def steps(self, steps):
        return ["--axis", "null.distribution=steps", "--axis", f"null.steps={steps}"]

    def test_ten_seconds_are_shared_out_among_repeats(self):
        row = self.one(0, *self.noise)
        self.assertEqual(row["verdict"], "valid", row["reason"])
        self.assertGreaterEqual(row["timings"], 1900)
        self.store += ".repeats"
        done = self.run_deepgap(*self.noise, "--repeats", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = self.rows()
        self.assertEqual(len(rows), 4)
        for row in rows:
            self.assertGreaterEqual(row["timings"], 470)
            self.assertLess(row["timings"], 1900)

    def test_a_shorter_window_is_asked_for(self):
        row = self.one(0, *self.noise, "--min-duration", "500ms", "--interval", "2%")
        self.assertLess(row["timings"], 1000)

    def test_a_quick_look_says_that_it_is_one(self):
        done = self.run_deepgap(*self.noise, "--quick", "--interval", "2%")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(self.rows()[0]["timings"], 1000)
        self.assertIn("--quick measures for at least half a second", done.stderr)
        for flags in (["-n", "20"], ["--duration", "1s"], ["--energy"]):
            refused = self.run_deepgap("--quick", *flags)
            self.assertEqual(refused.returncode, 2, refused.stdout)
            self.assertIn("--quick sets the shortest window", refused.stderr)

    def test_a_window_that_grew_is_no_quick_look(self):
        done = self.run_deepgap("--scenario", "server", "--rate", "50", "--bound", "p99=20ms", "--quick")
        self.assertIn("the window is 13.8 s long", done.stderr)
        self.assertNotIn("--quick measures for at least half a second", done.stderr)

    def test_a_run_ends_with_what_its_repeats_say_together(self):
        done = self.run_deepgap("--bound", "p99=20ms", "-n", "100", "--repeats", "3")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("(3 records): inconclusive: over 3 repeats 0 of 300 queries missed the SLO", done.stdout)
        self.assertNotIn("of 100 queries", done.stdout)

    def points(self):
        text = subprocess.run([PROGRAM, "export", self.store, "--by", "point", "--format", "json"], capture_output=True, text=True, check=True).stdout
        return json.loads(text)

    def test_repeats_of_a_scripted_engine_are_processes_of_their_own(self):
        done = self.run_deepgap(*self.noise, "--repeats", "3", "-n", "50")
        self.assertEqual(done.returncode, 0, done.stderr)
        first = [row["throughput"] for row in self.rows()]
        self.assertEqual(len(set(first)), 3, "each draws its own stream")
        self.store += ".again"
        self.run_deepgap(*self.noise, "--repeats", "3", "-n", "50")
        self.assertEqual([row["throughput"] for row in self.rows()], first, "the same seed gives the same")

    def test_the_verdict_of_a_point_is_about_its_interval_over_repeats(self):
        apart = ["--axis", "null.process_sigma=0.05"]
        done = self.run_deepgap(*apart, "--repeats", "3", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([row["verdict"] for row in self.rows()], ["valid"] * 3, "each knows itself")
        [point] = self.points()
        self.assertEqual(point["verdict"], "unstable")
        self.assertRegex(point["reason"], r"^throughput CI ±[0-9.]+ % over 3 repeats \(target ±1 %\)$")
        self.assertGreater(point["throughput_ci_low"], 0)
        self.store += ".strict"
        strict = self.run_deepgap(*apart, "--repeats", "3", "--strict")
        self.assertEqual(strict.returncode, 1, strict.stdout)
        self.assertIn("over 3 repeats (target ±1 %)", strict.stdout + strict.stderr)

    def test_repeats_that_are_wide_alone_make_a_narrow_point(self):
        done = self.run_deepgap("--axis", "null.distribution=normal", "--axis", "null.sigma=0.2", "--repeats", "10", "--budget", "2s", "--interval", "2%")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("unstable", [row["verdict"] for row in self.rows()], "some of them alone")
        [point] = self.points()
        self.assertEqual(point["verdict"], "valid", point["reason"])

    def test_counts_and_extremes_of_a_point_are_those_of_all(self):
        done = self.run_deepgap(*self.noise, "--axis", "null.process_sigma=0.05", "--repeats", "3", "-n", "200")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows, [point] = self.rows(), self.points()
        self.assertEqual(point["timings"], sum(row["timings"] for row in rows))
        self.assertEqual(point["latency_max_ms"], max(row["latency_max_ms"] for row in rows))
        self.assertEqual(point["latency_min_ms"], min(row["latency_min_ms"] for row in rows))
        values = [point[f"latency_{name}_ms"] for name in ("min", "p10", "p50", "p90", "p99", "p999", "p9999", "max")]
        self.assertEqual(values, sorted(values))
        self.assertLessEqual(point["latency_p50_ms_ci_low"], point["latency_p50_ms"])
        self.assertGreaterEqual(point["latency_p50_ms_ci_high"], point["latency_p50_ms"])
        self.assertLessEqual(len(f"{point['latency_p50_ms']}"), 6, "four digits of a bucket of 0.5 %")

    def test_a_schedule_is_as_short_as_it_is_asked_to_be(self):
        rate = ["--scenario", "server", "--rate", "100"]
        for flags, most in ((["--quick"], 100), (["--budget", "3s"], 450), (["--quick", "--repeats", "3"], 100)):
            with self.subTest(flags):
                self.store = os.path.join(self.dir, "schedule" + "".join(flags) + ".db")
                done = self.run_deepgap(*rate, *flags)
                self.assertEqual(done.returncode, 0, done.stderr)
                for row in self.rows():
                    self.assertLess(row["timings"], most)

    def test_as_many_repeats_as_it_takes(self):
        done = self.run_deepgap(*self.noise, "--repeats", "auto")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.rows()), 5, "they are all alike")
        again = self.run_deepgap(*self.noise, "--repeats", "auto", "--resume")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(len(self.rows()), 5, "there are enough")
        for flags, words in ((["--repeats", "many"], "expected a whole number of at least 1, or auto"), (["--repeats", "0"], "invalid value '0' for --repeats"),
                             (["--repeats", "auto", "-n", "20"], "leave out --iterations"),
                             (["--repeats", "auto", "--duel", "null.seed", "--axis", "null.seed=1,2"], "measured alone")):
            with self.subTest(flags):
                refused = self.run_deepgap(*flags)
                self.assertEqual(refused.returncode, 2, refused.stdout)
                self.assertEqual(len(refused.stderr.strip().splitlines()), 1, refused.stderr)
                self.assertIn(words, refused.stderr)

    def test_what_was_ended_by_a_count_is_as_found(self):
        for number, rule in enumerate((["-n", "20"], ["-n", "2000"], ["--duration", "10s"])):
            with self.subTest(rule):
                self.store = os.path.join(self.dir, f"{self.id()}{number}.db")
                done = self.run_deepgap(*self.noise, *rule)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(", no target", done.stderr)
                self.assertEqual([row["verdict"] for row in self.rows()], ["as_found"])
        self.assertIn("1 point without a target", self.report())
        self.assertNotIn('id="sequences"', self.report(), "nothing speaks against it")

    def test_a_bound_that_is_held_is_valid_under_every_rule(self):
        row = self.one(0, *self.noise, "--duration", "10s", "--bound", "p90=50ms")
        self.assertEqual(row["verdict"], "valid", row["reason"])

    def test_those_of_older_stores_are_read_so(self):
        with open("tests/data/stores/schema-3.sql", encoding="utf-8") as file:
            sql = file.read()
        with sqlite3.connect(self.store) as database:
            database.executescript(sql)
        database.close()
        self.assertEqual([row["verdict"] for row in self.rows()], ["as_found", "as_found", None])
        verdicts = "SELECT verdict FROM records ORDER BY id"
        with sqlite3.connect(self.store) as database:
            self.assertEqual(list(database.execute(verdicts)), [("valid",), ("valid",), ("none",)], "reading changes nothing")
        database.close()
        subprocess.run([PROGRAM, "tag", self.store, "old"], check=True, capture_output=True, timeout=60)
        with sqlite3.connect(self.store) as database:
            self.assertEqual(list(database.execute(verdicts)), [("as_found",), ("as_found",), ("none",)])
        database.close()

    def test_a_step_and_a_drift_are_named_under_every_rule(self):
        for number, rule in enumerate(([], ["-n", "2000"], ["--duration", "10s"])):
            with self.subTest(rule):
                self.store = os.path.join(self.dir, f"{self.id()}{number}.db")
                row = self.one(0, *self.steps("1500:6ms"), *rule)
                self.assertEqual(row["verdict"], "unstable", row["reason"])
                self.assertRegex(row["reason"], r"20 % slower from [678]")
                self.store += ".drift"
                row = self.one(0, "--axis", "null.distribution=drift", "--axis", "null.drift=0.01", *rule)
                self.assertEqual(row["verdict"], "unstable", row["reason"])

    def report(self):
        page = self.store + ".html"
        done = subprocess.run([PROGRAM, "report", self.store, "--output", page], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(page, encoding="utf-8") as file:
            return file.read()

    def test_the_report_shows_what_is_not_valid_and_where(self):
        self.one(0, *self.noise)
        self.assertNotIn('id="sequences"', self.report(), "it is valid")
        self.store += ".step"
        row = self.one(0, *self.steps("1500:6ms"))
        html = self.report()
        self.assertIn('<section id="sequences"', html)
        self.assertIn('href="#sequences"', html)
        self.assertIn(row["reason"], html)
        self.assertIn("from here on", html)
        self.assertIn('class="found"', html)
        compact = self.store + ".compact.db"
        subprocess.run([PROGRAM, "export", self.store, "--compact", "--output", compact], check=True, capture_output=True, timeout=120)
        self.store = compact
        self.assertNotIn('class="found" d', self.report(), "there are no timings to draw")

    def test_a_window_that_was_still_warming_up_is_measured_anew(self):
        row = self.one(0, *self.steps("1:7ms/300:5ms"))
        self.assertEqual(row["verdict"], "valid", row["reason"])
        self.assertAlmostEqual(row["throughput"], 200, delta=0.5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
