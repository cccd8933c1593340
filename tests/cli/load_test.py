"""Tests load of `deepgap run`: every scenario on null, verdicts with reasons, bad settings, ends in time.

Usage: load_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import os
import re
import resource
import subprocess
import sys
import unittest

from sanitized import sanitizer_of
from store_case import PROGRAM, TINY, StoreCase


class LoadTest(StoreCase):
    """In virtual time: what is offered and what is answered is the same on every machine."""
    flags = [*TINY, "--warmup", "5", "--axis", "null.clock=virtual"]

    def test_every_scenario_runs_on_null(self):
        trace = os.path.join(self.dir, "arrivals.txt")
        with open(trace, "w") as f:
            f.writelines(f"{i / 500}\n" for i in range(100))
        latency = ["--axis", "null.latency=100us"]
        rate = ["--rate", "500", "--duration", "300ms"]
        for scenario, flags, at_least in (
                ("batch", ["-n", "20"], 20), ("single-stream", ["-n", "20"], 20), ("multi-stream", ["-n", "20", "--batch", "4"], 20),
                ("server", rate, 100), ("constant", rate, 150), ("bursty", rate, 30),
                ("burst", ["--axis", "interval=50ms", "--axis", "size=20", "--duration", "300ms"], 120), ("trace", ["--trace", trace], 100),
                ("offline", ["--batch", "8", "--axis", "total_samples=1000"], 125),
                ("concurrency", ["--clients", "3", "--duration", "300ms", "--streams", "3"], 100)):
            with self.subTest(scenario):
                self.store = os.path.join(self.dir, scenario + ".db")
                row = self.one(0, "--scenario", scenario, *latency, *flags)
                self.assertEqual(row["verdict"], "as_found", row["reason"])
                self.assertGreaterEqual(row["timings"], at_least)
                scheduled = scenario in ("server", "constant", "bursty", "burst", "trace")
                self.assertEqual(row.get("offered_rate") is not None, scheduled)
                self.assertEqual(row.get("queue_wait_p99_ms") is not None, scheduled)

    def test_virtual_time_is_the_same_every_time(self):
        answers = []
        for name in ("first", "second"):
            self.store = os.path.join(self.dir, name + ".db")
            row = self.one(0, "--scenario", "server", "--rate", "100", "--duration", "600s", "--axis", "null.distribution=lognormal")
            answers.append((row["timings"], row["throughput"], row["latency_p99_ms"]))
        self.assertEqual(answers[0], answers[1])
        self.assertGreater(answers[0][0], 59_000)

    def test_an_overload_is_invalid_with_its_backlog_and_ends_in_time(self):
        row = self.one(1, "--scenario", "server", "--rate", "1e6", "--duration", "2s", "--axis", "null.latency=5ms")
        self.assertEqual(row["verdict"], "invalid")
        self.assertRegex(row["reason"], r"^overloaded: at the end \d+ of \d+ queries were waiting, the oldest for .*; [\d,]+ queries a second were offered and [\d,.]+ answered\. Lower the rate below that")
        self.assertLess(row["achieved_rate"], 220)
        if not sanitizer_of(PROGRAM):  # it takes memory of its own
            self.assertLess(row["host_memory_mib"], 300)

    def test_find_peak_confirms_a_rate(self):
        # Served one by one in 2 ms: no more than 500 a second.
        result = self.run_deepgap("--scenario", "server", "--axis", "null.latency=2ms", "--bound", "p90=20ms", "--duration", "400ms",
                                  "--find-peak", "--peak-from", "150", "--peak-ratio", "10%", "--json")
        summary = json.loads(result.stdout)
        self.assertEqual(result.returncode, 0, summary["failures"])
        peak, = summary["peaks"]
        self.assertTrue(peak["confirmed"], peak)
        self.assertEqual((peak["held"], peak["runs"]), (5, 5))
        self.assertGreaterEqual(peak["load"], 250)
        self.assertLess(peak["load"], 500)
        rows = self.rows()
        self.assertEqual(len(rows), summary["records"])
        self.assertEqual(peak["all_runs"], len(rows))
        self.assertEqual({re.search("peak=(\\w+)", row["options"])[1] for row in rows}, {"search", "confirm"})
        self.assertIn("invalid", {row["verdict"] for row in rows})  # and does not count for the exit code

    def test_find_peak_tells_where_the_bound_is_just_held(self):
        result = self.run_deepgap("--scenario", "server", "--axis", "null.latency=2ms", "--bound", "p90=6ms", "--duration", "2s", "--find-peak",
                                  "--peak-from", "100", "--peak-ratio", "5%", "--peak-interval", "5%", "--json")
        peak, = json.loads(result.stdout)["peaks"]
        self.assertTrue(peak["confirmed"], peak)
        # An M/D/1 queue: 10 % of its queries take more than three times the service at 0.587 of what it can do.
        self.assertLessEqual(peak["low"], peak["just_held"])
        self.assertLess(peak["high"] / peak["low"], 1.11)
        self.assertAlmostEqual(peak["just_held"], 293.5, delta=20)
        self.assertIn("by which it is just met at", peak["text"])
        self.assertIn("refine", {re.search("peak=(\\w+)", row["options"])[1] for row in self.rows()})

    def test_find_peak_of_samples_a_query_whatever_the_window(self):
        # 38 samples take 49.4 ms, 39 take 50.7. A window of half a second holds ten such queries, too few for p99: none is taken for a miss.
        for period in ([], ["--axis", "period=50ms"]):
            with self.subTest(period):
                self.store += ".search"
                result = self.run_deepgap("--scenario", "multi-stream", "--axis", "null.latency=0ns", "--axis", "null.per_sample=1300us",
                                          "--bound", "p99=50ms", "--duration", "500ms", *period, "--find-peak", "--json")
                summary = json.loads(result.stdout)
                self.assertEqual(result.returncode, 0, summary["failures"])
                self.assertEqual([(peak["confirmed"], peak["load"]) for peak in summary["peaks"]], [(True, 38)])
                self.assertNotIn("undecided", {row["verdict"] for row in self.rows()})

    def test_find_peak_goes_on_where_it_was_ended(self):
        search = ["--scenario", "server", "--axis", "null.latency=2ms", "--bound", "p90=20ms", "--duration", "200ms", "--find-peak",
                  "--peak-from", "150", "--peak-ratio", "20%"]
        plan = self.run_deepgap(*search, "--dry-run")
        self.assertEqual(plan.returncode, 0, plan.stderr)
        self.assertRegex(plan.stdout, r"searches from 150 queries a second \(bracket\); usually some 35 runs, about .*; at most 150, ")
        self.assertFalse(os.path.exists(self.store))
        refused = self.run_deepgap(*search, "--budget", "1ms")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--find-peak cannot answer within --budget 1 ms: its shortest runs alone take 2 s; give --budget 4s or more", refused.stderr)
        for budget in ("1ms", "250ms", "1s", "4s"):  # over after the first run; where it takes that long to begin, before it
            first = self.run_deepgap(*search, "--budget", budget, "--resume")
            self.assertEqual(first.returncode, 1, first.stderr)
            if "0 of 0 records" not in first.stdout:
                break
        self.assertRegex(first.stdout, "the time (allowed was over|left is too short to confirm a load)")
        before = {row["record_id"] for row in self.rows()}
        self.assertGreater(len(before), 0)
        if budget == "1ms":
            self.assertEqual(len(before), 1)
        self.assertRegex(self.run_deepgap(*search, "--dry-run", "--resume").stdout, f"{len(before)} already in the store, searches from ")
        rest = self.run_deepgap(*search, "--resume", "--json")
        summary = json.loads(rest.stdout)
        self.assertEqual(rest.returncode, 0, summary["failures"])
        self.assertEqual(summary["done_before"], len(before))
        rows = self.rows()
        self.assertEqual(len(rows), summary["done_before"] + summary["records"])
        ids = [(row["point_id"], row["repeat"]) for row in rows]
        self.assertEqual(len(ids), len(set(ids)))
        again = json.loads(self.run_deepgap(*search, "--resume", "--json").stdout)
        self.assertEqual((again["records"], again["peaks"]), (0, summary["peaks"]))
        self.assertIn("already in the store, peak: ", self.run_deepgap(*search, "--dry-run", "--resume").stdout)

    def test_find_peak_says_that_a_bound_is_out_of_reach(self):
        result = self.run_deepgap("--scenario", "concurrency", "--axis", "null.latency=5ms", "--bound", "p90=2ms", "--duration", "300ms",
                                  "--find-peak")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, "no peak: p90=2ms is not met even at the lowest load, 1 clients: .*even the fastest query took")

    def test_the_same_seed_offers_the_same_load_and_each_repeat_another(self):
        flags = ["--scenario", "server", "--rate", "500", "--duration", "400ms", "--axis", "null.latency=10us", "--repeats", "2"]
        offered = []
        for name in ("first", "second"):
            self.store = os.path.join(self.dir, f"seed_{name}.db")
            self.assertEqual(self.run_deepgap(*flags, "--axis", "seed=1,2").returncode, 0)
            offered.append({(row["options"], row["repeat"]): row["offered_rate"] for row in self.rows()})
        self.assertEqual(offered[0], offered[1])
        self.assertEqual(len(set(offered[0].values())), 4)

    def test_a_bound_decides_the_verdict(self):
        flags = ["--scenario", "constant", "--rate", "200", "--duration", "1s", "--axis", "null.latency=1ms"]
        self.assertEqual(self.one(0, *flags, "--bound", "p50=500ms")["verdict"], "valid")
        self.store += ".below"
        row = self.one(1, *flags, "--bound", "p99=200us")
        self.assertEqual(row["verdict"], "invalid")
        self.assertIn("is missed: even the fastest query took 1", row["reason"])
        self.store += ".few"
        row = self.one(1, *flags, "--bound", "p99.9=500ms", "--budget", "1s")
        self.assertEqual(row["verdict"], "undecided")
        self.assertRegex(row["reason"], r"^0 of 2\d\d queries missed the SLO p99.9=500ms: too few to decide; about 4\d\d\d more may be enough; measure longer")

    def test_repeats_decide_a_bound_together(self):
        flags = ["--scenario", "constant", "--rate", "200", "--duration", "300ms", "--axis", "null.latency=1ms",
                 "--bound", "p95=500ms", "--budget", "200ms"]
        row = self.one(1, *flags)
        self.assertEqual((row["verdict"], row["timings"]), ("undecided", 60), "p95 takes 90")
        self.store += ".three"
        result = self.run_deepgap(*flags, "--repeats", "3", "--json")
        self.assertEqual(result.returncode, 0, result.stdout)

    @unittest.skipIf(sanitizer_of(PROGRAM), "a sanitizer takes memory of its own")
    def test_a_bounded_memory_holds_whatever_the_rate(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
        command = self.command("--scenario", "server", "--rate", "1e9", "--duration", "1s", "--axis", "null.latency=1ms")
        result = subprocess.run(command, capture_output=True, text=True, timeout=900, preexec_fn=limit)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("at least 10000000 of", self.rows()[0]["reason"])


class AnyPaceTest(StoreCase):
    """In real time, where no figure depends on how fast the machine is."""
    flags = [*TINY, "--warmup", "5"]

    def test_an_engine_that_never_answers_is_timed_out(self):
        row = self.one(1, "--scenario", "server", "--rate", "1000", "--duration", "1s", "--axis", "null.latency=100us",
                       "--axis", "null.hang_at=200", "--timeout", "2s")
        self.assertEqual(row["outcome"], "timed_out")

    def test_ten_seconds_unless_asked_otherwise(self):
        row = self.one(0, "--scenario", "constant", "--rate", "20", "--axis", "null.latency=1ms")
        self.assertEqual((row["timings"], row["stopping"]), (200, "duration"))

    def test_bad_settings_are_one_line_and_nothing_is_run(self):
        trace = os.path.join(self.dir, "bad.txt")
        with open(trace, "w") as f:
            f.write("0\n1\n0.5\n")
        for flags, message in (
                (["--scenario", "server"], "give for example --rate 200"), (["--scenario", "server", "--rate=0"], "invalid value '0' for "),
                (["--scenario", "server", "--rate=-3"], "invalid value '-3' for "), (["--scenario", "constant", "--rate=inf"], "invalid value 'inf' for "),
                (["--scenario", "bursty", "--rate=nan"], "invalid value 'nan' for "),
                (["--rate", "5"], "'rate' is not an option of scenario batch; it belongs to bursty, constant, server"),
                (["--scenario", "server", "--rate", "5", "--clients", "2"], "'clients' is not an option of scenario server"),
                (["--scenario", "trace", "--trace", trace], "bad.txt:3: 0.5 goes back in time"),
                (["--scenario", "trace", "--trace", self.dir], "cannot read the trace"),
                (["--scenario", "multi-stream"], "give for example --batch 8"),
                (["--scenario", "server", "--rate", "5", "--bound", "p99<15ms"], "invalid value 'p99<15ms' for "),
                (["--scenario", "server", "--rate", "5", "--bound", "p99=15"], "invalid value 'p99=15' for "),
                (["--scenario", "server", "--rate", "1", "--duration", "500ms"], "rate of 1 a second makes 0.5 queries in a window of 500 ms"),
                (["--scenario", "sever", "--rate", "5"], "did you mean 'server'")):
            with self.subTest(message):
                result = self.run_deepgap(*flags)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(message, result.stderr)
                self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)

    def test_too_short_a_window_is_said_before_it_grows(self):
        flags = ["--scenario", "constant", "--rate", "100", "--duration", "200ms", "--bound", "p50=500ms", "--axis", "null.latency=1ms"]
        self.assertEqual(self.run_deepgap(*flags, "--dry-run").stderr, "", "7 queries are enough for p50")
        plan = self.run_deepgap(*flags[:6], "--bound", "p90=500ms", "--dry-run")
        few = "100 queries a second give about 20 in 200 ms, but the SLO p90=500ms needs at least 44: the window is 660 ms long"
        self.assertIn(few, plan.stderr)
        row = self.one(0, *flags[:6], "--bound", "p90=5s", *flags[8:])
        self.assertEqual((row["verdict"], row["timings"]), ("valid", 66))

    def test_a_study_may_search_in_some_of_its_grids(self):
        study = os.path.join(self.dir, "search.toml")
        grid = f"""[[grid]]
model = "{TINY[1]}"
scenario = "multi-stream"
duration = "100ms"
find_peak = true
[grid.options]
period = "50ms"
"""
        with open(study, "w") as f:
            f.write(f'[[grid]]\nmodel = "{TINY[1]}"\n{grid}bound = "p99=50ms"\n')
        plan = subprocess.run([PROGRAM, "run", study, "--cache", self.dir, "--store", self.store, *TINY[2:], "--backend", "null", "--dry-run"],
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(plan.returncode, 0, plan.stderr)
        self.assertRegex(plan.stdout, "(?s)batch 1 .*: 5 repeats, about .*searches from 2 samples a query \\(bracket\\)")
        with open(study, "w") as f:
            f.write(grid)
        wrong = subprocess.run([PROGRAM, "run", study, "--cache", self.dir, "--store", self.store, *TINY[2:]], capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 2)
        self.assertRegex(wrong.stderr, r"search.toml:1: --find-peak needs --slo")

    def test_find_peak_refuses_what_it_cannot_search(self):
        server = ["--scenario", "server", "--find-peak"]
        bound = ["--bound", "p99=15ms"]
        for flags, says in ((server, "needs --slo"),
                            ([*server, *bound, "--rate", "10,20"], "chooses rate itself"),
                            (["--find-peak", *bound], "needs --scenario"),
                            (["--find-peak", *bound, "--scenario", "offline"], "has no load to vary in scenario offline"),
                            ([*server, *bound, "--peak-from", "0"], "can test loads from 15 to"),
                            ([*server, *bound, "--peak-from", "nan"], "can test loads from 15 to"),
                            ([*server, *bound, "--peak-ratio", "0"], "invalid value '0' for --peak-ratio: expected a percentage or fraction above 0 %"),
                            ([*server, *bound, "--peak-ratio", "90%"], "--peak-ratio: expected 0.1 % to 50 %"),
                            ([*server, *bound, "--peak-ratio", "near"], "expected a percentage or fraction"),
                            ([*server, *bound, "--peak-interval", "0"], "invalid value '0' for --peak-interval"),
                            ([*server, *bound, "--peak-interval", "90%"], "--peak-interval: expected 0.1 % to 50 %"),
                            (["--scenario", "concurrency", "--find-peak", *bound, "--peak-interval", "3%"], "--peak-interval applies to rates"),
                            ([*server, *bound, "--iterations", "10"], "compares windows of one length"),
                            ([*server, *bound, "--repeats", "2"], "leave out --repeats"),
                            (["--scenario", "server", "--rate", "5", "--peak-from", "10"], "add --find-peak")):
            with self.subTest(flags):
                result = self.run_deepgap(*flags)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(says, result.stderr)
                self.assertFalse(os.path.exists(self.store))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
