"""Tests `deepgap run --duel`: arms in alternating time slices, each against the first. On null, except for one test on real engines.

Usage: duel_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import unittest

from store_case import PROGRAM, TINY, StoreCase


def latencies(*times, clock="virtual", sigma="0.05"):
    return ["--duel", "null.latency", "--axis", "null.latency=" + ",".join(times), "--axis", f"null.clock={clock}", "--axis",
            "null.distribution=normal", "--axis", f"null.sigma={sigma}"]


class DuelCase(StoreCase):
    flags = TINY

    def contenders(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        [duel] = json.loads(result.stdout)["duels"]
        return duel["contenders"]


class DuelTest(DuelCase):
    def test_says_by_how_much(self):
        result = self.run_deepgap(*latencies("10.7ms", "10ms"), "--min-duration", "110s", "--json")
        [other] = self.contenders(result)
        self.assertEqual(other["verdict"], "faster")
        self.assertTrue(other["low"] < 1.07 < other["high"], other)
        self.assertLess(other["high"] / other["low"], 1.045)
        self.assertRegex(other["text"], r"^10ms: throughput 1\.0\d+x \(1\.0\d+ to 1\.\d+\) that of 10.7ms$")
        rows = self.rows()
        self.assertEqual([row["outcome"] for row in rows], ["ok", "ok"])
        self.assertIn("contender=1/2;duel=null.latency: 10.7ms + 10ms", rows[0]["options"])
        self.assertGreater(rows[0]["throughput"], 0)
        self.assertIsNone(rows[0]["duel_ratio"])
        self.assertAlmostEqual(rows[1]["duel_ratio"], other["ratio"])
        self.assertIsNone(rows[0].get("power_w"), "a turn is too short for what is told of a whole window")

    def test_the_larger_the_difference_the_sooner_it_ends(self):
        [clear] = self.contenders(self.run_deepgap(*latencies("20ms", "10ms"), "--json"))
        self.assertEqual(clear["verdict"], "faster")
        self.assertTrue(1 < clear["low"] < 2 < clear["high"], clear)
        self.assertLess(clear["pairs"], 50, "some 0.2 s each")

    def test_says_the_same(self):
        self.flags = [*TINY, "--axis", "null.latency=5ms", "--axis", "null.clock=virtual", "--axis", "null.distribution=normal"]
        [other] = self.contenders(self.run_deepgap("--duel", "null.seed", "--axis", "null.seed=1,2", "--margin", "5%", "--json"))
        self.assertEqual(other["verdict"], "same", other)
        self.assertIn("the same throughput as 1 within 5 %", other["text"])

    def test_says_how_much_longer_it_takes(self):
        result = self.run_deepgap(*latencies("5ms", "5.1ms", clock="real", sigma="0.3"), "--budget", "3s")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"5\.1ms: no significant difference in throughput from 5ms after \d+ pairs? of time slices \([\d.]+x so far\); its budget is spent; "
                                        r"needs about .* more")
        strict = self.run_deepgap(*latencies("5ms", "5.1ms", clock="real", sigma="0.3"), "--budget", "1s", "--strict")
        self.assertEqual(strict.returncode, 1, "not settled")

    def test_two_builds_are_two_folders_of_plugins(self):
        folders = [os.path.join(self.dir, name) for name in ("old", "new")]
        plugin = os.path.join(os.path.dirname(PROGRAM), "..", "lib", "deepgap", "deepgap_null.so")
        for folder, tail in zip(folders, (b"", b" ")):  # two files with one meaning
            os.makedirs(folder)
            with open(plugin, "rb") as file, open(os.path.join(folder, "deepgap_null.so"), "wb") as copy:
                copy.write(file.read() + tail)
        flags = ["--axis", "null.latency=5ms", "--axis", "null.clock=virtual", "--axis", "null.distribution=normal", "--duel", "env.DEEPGAP_PLUGINS"]
        [other] = self.contenders(self.run_deepgap(*flags, "--axis", "env.DEEPGAP_PLUGINS=" + ",".join(folders), "--json"))
        self.assertEqual(other["verdict"], "same", other)
        with contextlib.closing(sqlite3.connect(self.store)) as store:
            told = store.execute("select key, value from v1_facts where key like 'backend.plugin%'").fetchall()
        self.assertEqual(sorted(os.path.dirname(value) for key, value in told if key == "backend.plugin"), sorted(folders))
        self.assertEqual(len({value for key, value in told if key == "backend.plugin_hash"}), 2, told)
        wrong = self.run_deepgap(*flags, "--axis", f"env.DEEPGAP_PLUGINS={folders[0]},{self.dir}/none")
        self.assertEqual(wrong.returncode, 2, wrong.stdout)
        self.assertIn("none: no plug-in of null is there", wrong.stderr)

    def test_three_against_the_first_and_several_duels(self):
        result = self.run_deepgap(*latencies("10ms", "8ms", "14ms"), "--batch", "1,2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.rows()), 6)
        self.assertEqual(result.stdout.count("8ms: throughput 1."), 2, result.stdout)
        self.assertEqual(result.stdout.count("14ms: throughput 0."), 2, result.stdout)

    def test_results_are_not_mixed_with_those_measured_alone(self):
        self.assertEqual(self.run_deepgap("--axis", "null.latency=10ms", "--axis", "null.clock=virtual", "-n", "20").returncode, 0)
        self.assertEqual(self.run_deepgap(*latencies("10ms", "8ms")).returncode, 0)
        by_point = subprocess.run([PROGRAM, "export", self.store, "--format", "json", "--by", "point"], capture_output=True, text=True, check=True)
        self.assertEqual(len(json.loads(by_point.stdout)), 3)
        page, text = self.store + ".html", self.store + ".md"
        for path in page, text:
            subprocess.run([PROGRAM, "report", self.store, "--output", path], check=True, capture_output=True)
        with open(page, encoding="utf-8") as file:
            self.assertIn("<h2>Interleaved comparisons</h2>", file.read())

    def test_starts_of_their_own_are_repeats(self):
        [other] = self.contenders(self.run_deepgap(*latencies("10.7ms", "10ms"), "--repeats", "3", "--json"))
        self.assertIn("over 3 starts", other["text"])
        self.assertEqual(len(self.rows()), 6)

    def test_compare_reads_a_duel(self):
        self.assertEqual(self.run_deepgap(*latencies("10.7ms", "10ms"), "--min-duration", "110s").returncode, 0)
        done = subprocess.run([PROGRAM, "compare", self.store, "--a", "null.latency=10.7ms", "--b", "null.latency=10ms", "--json"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        [found] = json.loads(done.stdout)["comparisons"]
        self.assertEqual(found["verdict"], "faster", found)
        self.assertLess(found["high"] / found["low"], 1.045)

    def test_real_engines_have_their_answers_checked(self):
        result = self.run_deepgap("--duel", "backend", "--budget", "2s", backend="null,native")
        self.assertEqual(result.returncode, 0, result.stderr)
        other = self.run_deepgap("--duel", "native.isa", "--axis", "native.isa=auto,avx2", "--budget", "2s", backend="native")
        self.assertEqual(other.returncode, 0, other.stderr)
        models = self.run_deepgap("--duel", "model", "--model", "resnet18:width=0.125,classes=10,resnet34:width=0.125,classes=10", "--budget",
                                  "2s", backend="native")
        self.assertEqual(models.returncode, 1, models.stderr)
        self.assertIn("gives other answers than", models.stdout + models.stderr)


class AnyPaceTest(DuelCase):
    """Tests in which the clock does not matter: they may run beside other work."""

    def test_one_that_fails_ends_it_with_its_record_kept(self):
        # A turn has at most 110 queries of 2 ms, and two are there to get going. What hangs does so in real time alone.
        for option, outcome, clock in (("crash_at=600", "crashed", "virtual"), ("hang_at=600", "timed_out", "real")):
            with self.subTest(option):
                if os.path.exists(self.store):
                    os.remove(self.store)
                name, value = option.split("=")
                result = self.run_deepgap("--duel", "null." + name, "--axis", f"null.{name}=9999999,{value}", "--axis", "null.latency=2ms",
                                          "--axis", f"null.clock={clock}", "--warmup", "5", "--timeout", "10s")
                self.assertEqual(result.returncode, 1, result.stderr)
                first, second = self.rows()
                self.assertEqual(second["outcome"], outcome)
                self.assertEqual(first["outcome"], "ok")
                self.assertIn(f"arm {value}: {outcome}", first["reason"])

    def test_ctrl_c_keeps_what_there_is(self):
        command = self.command(*latencies("5ms", "5.05ms", clock="real"), "--progress", "json")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            self.assertTrue(any("pairs of time slices" in line for line in run.stderr), "ended before its first pair")
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=60)
            self.assertEqual(run.returncode, 130)
        rows = self.rows()
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertIn("interrupted by the user", row["reason"])

    def test_bad_input_is_one_line(self):
        for flags, words in ((["--duel", "backend"], "one value, null; a comparison needs two or more"),
                             (["--duel", "colour"], "give it two values with --axis colour=A,B"),
                             (["--duel", "modl"], "did you mean 'model'?"), (["--duel", "precision"], "the axis has no value"),
                             (["--duel", "batch", "--duel", "threads", "--batch", "1,2", "--threads", "1,2"], "--duel batch,threads: compare along one axis"),
                             (["--duel", "batch,threads", "--batch", "1,2", "--threads", "1,2"], "compare along one axis"),
                             (["--duel", "batch", "--batch", "1,2", "--scenario", "server", "--rate", "5"], "batch or single-stream, not server"),
                             (["--duel", "batch", "--batch", "1,2", "-n", "20"], "--duel ends when the difference is clear"),
                             (["--duel", "batch", "--batch", "1,2", "--interval", "0.5%"], "--duel ends when the difference is clear"),
                             (["--duel", "batch", "--batch", "1,2", "--energy"], "leave out --energy or --duel"),
                             (["--duel", "batch", "--batch", "1,2", "--processes", "2"], "one process"),
                             (["--duel", "batch", "--batch", "1,2", "--margin", "2"], "--margin"), (["--margin", "2%"], "add --duel"),
                             (["--duel", "batch", "--batch", "1,2", "--tenant", "seed=1", "--tenant", "seed=2"], "leave out one of them"),
                             (["--axis", "contender=1/2"], "cannot be set")):
            with self.subTest(flags):
                result = self.run_deepgap(*flags)
                self.assertEqual(result.returncode, 2, result.stdout)
                self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
                self.assertIn(words, result.stderr)
        self.assertFalse(os.path.exists(self.store))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
