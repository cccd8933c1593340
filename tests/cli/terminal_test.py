"""Tests what a person sees at a terminal: a first table soon, the time left, the fastest; and what pipes do not get.

Usage: terminal_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import threading
import time
import unittest

from store_case import PROGRAM, TINY, StoreCase


class TerminalTest(StoreCase):
    flags = TINY
    backend = "null"

    def at_terminal(self, *arguments, **how):
        return self.shown_of(self.command(*arguments), **how)

    def shown_of(self, command, columns=80, until=None, then=None, after=0):
        """(exit code, what was shown); `after` seconds after `until` is shown, the signal `then` is sent."""
        parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        run = subprocess.Popen(command, stdout=child, stderr=child, stdin=child)
        os.close(child)
        shown = b""
        end = time.time() + 200
        while time.time() < end:
            if not select.select([parent], [], [], 0.5)[0]:
                continue
            try:
                part = os.read(parent, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
            if until and until in shown:
                threading.Timer(after, run.send_signal, [then]).start()
                until = None
        os.close(parent)
        return run.wait(30), shown.decode().replace("\r\n", "\n")

    def test_a_first_table_comes_before_anything_is_decided(self):
        code, shown = self.at_terminal("--batch", "1,2", "--axis", "distribution=normal", "--budget", "1s")
        self.assertEqual(code, 0, shown)
        first, on = shown.index("provisional"), shown.index("measuring until")
        self.assertEqual(re.findall(r"(?m)^resnet18\S* +null +(\d) .* no target$", shown[first:on]), ["1", "2"])
        self.assertNotIn("items/s (", shown[:on], "no Record yet")
        self.assertEqual(len(re.findall(r"\[[12]/2\] resnet18[^\[]*?\sitems/s\s+\((?:±|\+/-)", shown[on:])), 2)
        self.assertIn(" left] first look: ", shown)
        self.assertEqual(len(self.rows()), 2, "the first look is in no Store")

    def test_ctrl_c_after_the_first_table_ends_it(self):
        code, shown = self.at_terminal("--axis", "distribution=lognormal", "--interval", "0.001%", "--budget", "60s", until=b"measuring until", then=signal.SIGINT)
        self.assertEqual(code, 130, shown)
        self.assertIn("provisional", shown)

    def test_ctrl_c_keeps_what_was_measured_by_then(self):
        code, shown = self.at_terminal("--axis", "latency=5ms", "--axis", "distribution=lognormal", "--interval", "0.001%", "--budget", "60s",
                                       until=b"measuring until", then=signal.SIGINT, after=6)
        self.assertEqual(code, 130, shown)
        row = self.rows()[0]
        self.assertEqual((row["outcome"], row["verdict"]), ("ok", "unstable"), shown)
        self.assertGreater(row["timings"], 100)
        self.assertIn("ended by the user after", row["reason"])
        self.assertIn("1 record is in", shown)
        self.assertNotIn("--resume", shown)

    def test_a_study_of_many_points_is_looked_at_in_part(self):
        study = os.path.join(self.dir, "many.toml")
        with open(study, "w") as file:
            file.write('[defaults]\nmodel = "resnet18"\nbackend = "null"\nrepeats = 1\nbudget = "300ms"\n[[grid]]\nbatch = "1..20"\n'
                       '[grid.options]\nclock = "virtual"\nlatency = "5ms"\ndistribution = "normal"\n')
        code, shown = self.shown_of([PROGRAM, "run", study, "--cache", self.dir, "--store", self.store])
        self.assertEqual(code, 0, shown)
        self.assertRegex(shown, r"(?s)provisional, \d+ of 20\s+points, from windows of .*?\sand\s+unchecked")
        self.assertEqual(len(self.rows()), 20)

    def test_a_dry_run_tells_the_time_within_a_factor_of_two(self):
        # In virtual time, of which the Records' windows tell; what goes around them is this machine's and small beside them.
        for sigma, seeds in ((0.15, "1..8"), (0.8, "1..20")):
            with self.subTest(sigma):
                self.store = os.path.join(self.dir, f"dry{sigma}.db")
                noise = ["--axis", "clock=virtual", "--axis", "distribution=lognormal", "--axis", f"sigma={sigma}", "--axis", "latency=5ms",
                         "--axis", f"null.seed={seeds}"]
                code, shown = self.at_terminal("--dry-run", *noise)
                self.assertEqual(code, 0, shown)
                self.assertNotIn("provisional", shown)
                self.assertFalse(os.path.exists(self.store), "nothing is kept")
                told = re.search(r"0 skipped; about ([^(\r\n]*)", shown)[1]  # behind it its range, where it has one
                predicted = sum(float(number) * {"ms": 1e-3, "s": 1, "min": 60, "h": 3600}[unit]
                                for number, unit in re.findall(r"([\d.]+) ?(ms|s|min|h)\b", told))
                self.assertEqual(self.run_deepgap(*noise).returncode, 0)
                with contextlib.closing(sqlite3.connect(self.store)) as database:
                    windows = [line.split() for (text,) in database.execute("SELECT windows FROM records") for line in text.splitlines()]
                taken = sum(int(end) - int(begin) for begin, end, name in windows if name in ("warm_up", "steady")) / 1e9
                print(f"sigma {sigma}, seeds {seeds}: told {told}, taken {taken:.1f} s")
                self.assertTrue(taken / 2 < predicted < 2 * taken, (told, taken))

    def test_where_the_length_is_given_there_is_no_first_look(self):
        code, shown = self.at_terminal("--warmup", "0", "--iterations", "3")
        self.assertEqual(code, 0, shown)
        self.assertNotIn("provisional", shown)

    def test_a_pipe_gets_no_first_look_and_the_whole_table(self):
        done = self.run_deepgap("--budget", "300ms", "--batch", "1,2")
        self.assertNotIn("provisional", done.stdout + done.stderr)
        self.assertIn("95 % CI", done.stdout)

    def test_a_table_fits_the_terminal_or_says_what_was_cut(self):
        code, shown = self.at_terminal("--warmup", "0", "--iterations", "3", "--axis", "latency=1ms,2ms", "--axis", "sigma=0.1")
        table = shown[shown.index("model ") :]
        table = table[: table.index("records are in")].splitlines()[:-1]
        for line in table:
            self.assertLessEqual(len(line), 80, line)
        self.assertTrue(any("--json has all" in line for line in table), table)

    def test_other_tables_fit_too(self):
        self.assertEqual(self.run_deepgap("--warmup", "0", "--iterations", "3", "--batch", "1,2").returncode, 0)
        for command in (["models"], ["compare", self.store, "--a", "batch=1", "--b", "batch=2"]):
            code, shown = self.shown_of([PROGRAM, *command])
            self.assertEqual(code, 0, shown)
            rows = [line for line in shown.splitlines() if not line.startswith(("note:", "throughput,", "("))]
            self.assertGreater(len(rows), 1)
            for line in rows:
                self.assertLessEqual(len(line), 80, shown)
            self.assertRegex(shown, "--json has all|use --json")
        self.assertIn(" not enough data", shown, "the verdict of compare is never cut away")

    def test_names_and_verdicts_come_before_the_values_of_a_comparison(self):
        store = pathlib.Path(__file__).resolve().parents[2] / "docs" / "results" / "quickstart-xeon-16" / "store.db"
        _, shown = self.shown_of([PROGRAM, "compare", str(store), "--a", "backend=onnxruntime", "--b", "backend=native"])
        self.assertRegex(shown, r"(?m)^efficientnet_lite0 · batch 16 +1\.21 \(1\.05 to 1\.40\) +not enough data$")

    def test_lines_of_text_fit_too(self):
        code, shown = self.at_terminal("--warmup", "0", "--iterations", "3", "--axis", "fail_at=1", "--batch", "1,2")
        self.assertEqual(code, 1, shown)
        for line in shown.split("\n"):
            if self.store not in line:  # one word
                self.assertLessEqual(len(line.rpartition("\x1b[K")[2]), 80, shown)  # behind the last live line
        self.assertEqual(re.sub(r"\s+", " ", shown).count("failed as scripted"), 2, "each reason once, below the table: " + shown)
        for flag in ("-h", "--help"):
            code, shown = self.shown_of([PROGRAM, "run", flag])
            self.assertLessEqual(max(map(len, shown.splitlines())), 80, shown)

    def test_a_search_shows_its_phase_and_the_time_left(self):
        code, shown = self.at_terminal("--axis", "latency=100us", "-s", "server", "--bound", "p99=200ms", "--find-peak", "--peak-from", "400",
                                       "--duration", "500ms", until=b" left] ", then=signal.SIGINT)
        self.assertEqual(code, 130, shown)
        self.assertRegex(shown, r"\[\d+(, about \d+ s left)?\] \w+: resnet18")
        self.assertRegex(shown, r"about \d+ (s|min)")

    def test_percentiles_are_columns(self):
        done = self.run_deepgap("--warmup", "0", "--iterations", "50", "--percentile=90,95,99,99.9")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"p50 ms +p90 ms +p95 ms +p99 ms +p99.9 ms")
        odd = self.run_deepgap("--percentile", "90,91")
        self.assertEqual(odd.returncode, 2)
        self.assertIn("deepgap export --percentile 91", odd.stderr)

    def test_the_last_line_says_who_won(self):
        done = self.run_deepgap("--warmup", "0", "--iterations", "50", "--repeats", "3", "--axis", "clock=virtual", "--axis", "latency=1ms,4ms")
        last = done.stdout.strip().splitlines()[-1]
        self.assertIn("is the fastest", last)
        self.assertRegex(last, r"[34]\.\d")

    def test_a_suggested_command_is_quoted(self):
        self.store = os.path.join(self.dir, "my store.db")
        done = self.run_deepgap("--warmup", "0", "--iterations", "3")
        self.assertIn(f"deepgap report '{self.store}'", done.stdout)

    def test_studies_are_kept_apart_in_one_store(self):
        few = ["--warmup", "0", "--iterations", "3"]
        self.assertEqual(self.run_deepgap(*few, "--study", "a").returncode, 0)
        again = self.run_deepgap(*few, "--study", "b", "--resume")
        self.assertEqual(again.returncode, 0)
        self.assertEqual(sorted(row["study"] for row in self.rows()), ["a", "b"], "another study's record is none of this one")
        same = self.run_deepgap(*few, "--study", "b", "--resume")
        self.assertIn("1 record is in", same.stderr)
        for format in ("csv", "json"):
            rows = subprocess.run([PROGRAM, "export", self.store, "--study", "b", "--format", format], capture_output=True, text=True, check=True).stdout
            self.assertEqual(len(json.loads(rows)) if format == "json" else rows.count("\n") - 1, 1)
        unknown = subprocess.run([PROGRAM, "report", self.store, "--study", "c"], capture_output=True, text=True)
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("unknown study 'c'", unknown.stderr)

    def test_repeats_count_from_one(self):
        done = self.run_deepgap("--warmup", "0", "--iterations", "3", "--repeats", "2", "--axis", "fail_at=1", "--json")
        self.assertEqual(sorted(row["repeat"] for row in self.rows()), [1, 2])
        self.assertEqual(sorted(failure["repeat"] for failure in json.loads(done.stdout)["failures"]), [1, 2])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
