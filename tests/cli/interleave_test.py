"""`deepgap run` with several engines: they take turns in time slices, each is a result of its own, and --apart measures them one after the other.
By the engines null, whose latency is chosen and in virtual time, and native, whose speed is whatever the machine gives."""
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

from store_case import PROGRAM, TINY, StoreCase

SHORT = ["--duration", "600ms"]


class InterleaveTest(StoreCase):
    flags = [*TINY, "--threads", "1", "--axis", "null.latency=2ms", "--axis", "null.clock=virtual"]
    comparison = r"native: (throughput [\d.]+x|the same throughput|no significant difference in throughput)"
    backend = "null,native"

    def run_ok(self, *arguments, backend=None):
        result = self.run_deepgap(*arguments, backend=backend)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def facts(self, key):
        with contextlib.closing(sqlite3.connect(self.store)) as store:
            return sorted(value for (value,) in store.execute("select value from v1_facts where key = ?", [key]).fetchall())

    def test_several_engines_take_turns_and_are_compared(self):
        result = self.run_ok("--duration", "6s")
        self.assertRegex(result.stdout, "(?m)^" + self.comparison)
        self.assertEqual(result.stdout.count("null vs") + result.stdout.count("vs null"), 0, "it is said once")
        self.assertEqual(self.facts("interleaved.arms"), ["null + native"] * 2)
        null, native = sorted(self.rows(), key=lambda row: row["backend"], reverse=True)
        self.assertAlmostEqual(null["throughput"], 500, delta=1, msg="2 ms a query, wherever the slices were")
        self.assertAlmostEqual(null["steady_s"], 6, delta=0.1)
        self.assertAlmostEqual(null["latency_p50_ms"], 2, delta=0.01)
        self.assertGreater(native["cpus_used"], 0, "read over its own slices")
        self.assertGreater(native["steady_s"], 5.9)
        self.assertGreater(native["duel_ratio"], 0)

    def test_the_points_are_those_of_separate_processes(self):
        self.run_ok(*SHORT)
        self.run_ok(*SHORT, "--apart")
        self.assertEqual(self.facts("interleaved.arms"), ["null + native"] * 2, "those of the first run alone")
        by_point = subprocess.run([PROGRAM, "export", self.store, "--format", "json", "--by", "point"], capture_output=True, text=True, check=True)
        self.assertEqual([row["records"] for row in json.loads(by_point.stdout)], [2, 2])

    def test_a_count_is_a_count(self):
        self.run_ok("-n", "25", "--batch", "1,2")
        self.assertEqual([row["timings"] for row in self.rows()], [25] * 4)

    def test_every_batch_has_its_comparison(self):
        result = self.run_ok("--batch", "1,2", "--duration", "6s", "--json")
        duels = json.loads(result.stdout)["duels"]
        self.assertEqual([duel["first"] for duel in duels], ["null", "null"])
        self.assertEqual([len(duel["contenders"]) for duel in duels], [1, 1])
        for duel in duels:
            self.assertRegex(duel["contenders"][0]["text"], self.comparison)

    def test_repeats_are_starts_of_both(self):
        result = self.run_ok("--repeats", "3", "--duration", "500ms")
        self.assertEqual(len(self.rows()), 6)
        self.assertEqual(self.facts("interleaved.arm"), ["1/2"] * 3 + ["2/2"] * 3)
        # Windows that short have no ratio, so the repeats are compared, and that alone.
        self.assertRegex(result.stdout, "is the fastest|no significant difference")
        self.assertNotIn("pairs of time slices", result.stdout)

    def test_resume_measures_what_is_missing(self):
        self.run_ok(*SHORT, backend="null")
        self.run_ok(*SHORT, "--resume")
        self.assertEqual(sorted(row["backend"] for row in self.rows()), ["native", "null"])
        self.assertEqual(self.facts("interleaved.arms"), [], "one alone has nobody to take turns with")

    def test_one_that_fails_loses_no_other(self):
        result = self.run_deepgap(*SHORT, "--axis", "null.crash_at=3")
        self.assertEqual(result.returncode, 1, result.stdout)
        rows = {row["backend"]: row for row in self.rows()}
        self.assertEqual(rows["null"]["outcome"], "crashed")
        self.assertEqual(rows["native"]["outcome"], "ok", rows["native"])
        self.assertGreater(rows["native"]["throughput"], 0)

    def test_what_cannot_take_turns_is_measured_apart_and_said(self):
        for flags, why in ((["--scenario", "server", "--rate", "20"], "scenario server cannot pause"), (["--axis", "streams=2"], "streams=2"),
                           (["--processes", "2"], "several processes")):
            with self.subTest(flags):
                if os.path.exists(self.store):
                    os.remove(self.store)
                result = self.run_deepgap(*SHORT, *flags)
                self.assertIn("engines are measured one after the other, not interleaved: ", result.stderr)
                self.assertIn(why, result.stderr)
                self.assertEqual(self.facts("interleaved.arms"), [])
                apart = self.run_deepgap(*SHORT, *flags, "--apart")
                self.assertNotIn("not interleaved", apart.stderr, "it was asked for")

    def test_a_study_may_say_apart(self):
        study = os.path.join(self.dir, "apart.toml")
        for apart, arms in (("true", 0), ("false", 2)):
            with open(study, "w", encoding="utf-8") as file:
                file.write('[[grid]]\nmodel = "resnet18:width=0.125,classes=10"\nbackend = ["null", "native"]\nthreads = 1\nrepeats = 1\n'
                           f'duration = "500ms"\napart = {apart}\n[grid.options]\nshape = "input:Nx3x32x32"\n')
            done = subprocess.run([PROGRAM, "run", study, "--cache", self.dir, "--store", self.store], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(self.facts("interleaved.arms")), arms)

    def test_compare_reads_the_slices(self):
        self.flags = [*TINY, "--threads", "1"]  # options of null would be another difference
        self.run_ok("--duration", "6s")
        done = subprocess.run([PROGRAM, "compare", self.store, "--a", "backend=null", "--b", "backend=native", "--json"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        [found] = json.loads(done.stdout)["comparisons"]
        self.assertGreater(found["ratio"], 0, found)

    def test_rerun_interleaves_again(self):
        self.run_ok(*SHORT)
        again = os.path.join(self.dir, "again.db")
        done = subprocess.run([PROGRAM, "rerun", self.rows()[0]["record_id"], "--from", self.store, "--store", again, "--cache", self.dir], capture_output=True, text=True, timeout=300)
        self.assertIn(done.returncode, (0, 1, 4), done.stderr)
        self.store = again
        self.assertEqual(self.facts("interleaved.arms"), ["null + native"] * 2)

    def test_ctrl_c_loses_nothing_finished(self):
        with subprocess.Popen(self.command("--duration", "60s"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            while run.poll() is None and not os.path.exists(self.store):  # it is there before anything is timed
                time.sleep(0.1)
            time.sleep(2)  # whatever is under way then, nothing finished is lost
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=60)
            self.assertEqual(run.returncode, 130)
        self.assertTrue(all(row["outcome"] == "interrupted" for row in self.rows()), self.rows())
        self.run_ok(*SHORT, "--resume")
        self.assertEqual([row["outcome"] for row in self.rows()].count("ok"), 2)

    def test_bad_input_is_one_line(self):
        result = self.run_deepgap("--apart", "--duel", "backend")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        self.assertIn("leave out one of them", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
