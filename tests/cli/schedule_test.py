#!/usr/bin/env python3
"""`deepgap schedule` as a user runs it. Argument: the program. Run from the tree's root."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

DEEPGAP = sys.argv.pop(1)
RUNS = pathlib.Path("tests/data/loadgen")


def schedule(*arguments):
    return subprocess.run([DEEPGAP, "schedule", *map(str, arguments)], capture_output=True, text=True, timeout=900)


class Schedule(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def settings(self, **settings):
        path = pathlib.Path(self.folder.name, "run.json")
        path.write_text(json.dumps({"scenario": "Server", "total_sample_count": 100, **settings}))
        return path

    def test_rows_are_the_recorded_files_byte_for_byte(self):
        for version, run in (("v6.0.17", "server/v6.0"), ("v6.0.17", "submission_server/v5.1"), ("v5.1.1", "big_server/v5.1")):
            folder = RUNS / version / run
            recorded = (folder / "issued.csv").read_text()
            made = schedule("--settings", folder / "run.json", "--limit", recorded.count("\n") - 1)
            self.assertEqual((made.returncode, made.stderr), (0, ""))
            self.assertTrue(made.stdout == recorded, folder)
            sets = schedule("--settings", folder / "run.json", "--loaded-sets")
            self.assertTrue(sets.stdout == (folder / "loaded_sets.csv").read_text(), folder)

    def test_limit(self):
        path = self.settings(min_duration_ms=0)
        self.assertEqual(schedule("--settings", path).stdout.count("\n"), 101)
        self.assertEqual(schedule("--settings", path, "--limit", 7).stdout.count("\n"), 8)
        self.assertEqual(schedule("--settings", path, "--limit", 0).stdout.count("\n"), 1)
        self.assertEqual(schedule("--settings", path, "--loaded-sets", "--limit", 3).stdout.count("\n"), 4)

    def test_a_round_has_its_seeds(self):
        bare = self.settings(target_qps=1000, total_sample_count=1024)
        recorded = (RUNS / "v6.0.17/server/v6.0/issued.csv").read_text()
        self.assertEqual(schedule("--settings", bare, "--mlperf", "v6.0", "--limit", 1000).stdout, recorded)

    def test_an_endless_run_is_a_stream(self):
        path = self.settings(target_qps=1e6, min_duration_ms=10**10)
        made = subprocess.run(f"{DEEPGAP} schedule --settings {path} | head -1000 | tail -1", shell=True, capture_output=True, text=True, timeout=900)
        self.assertTrue(made.stdout.startswith("998,998,"), made.stdout)
        self.assertEqual(made.stderr, "")

    def test_what_is_wrong_is_one_line_and_exit_code_2(self):
        folder = pathlib.Path(self.folder.name)
        text = folder / "text.json"
        text.write_text("not\njson")
        cases = [(["--settings", folder / "none.json"], "none.json"), (["--settings", text], "not a JSON object"),
                 (["--settings", folder], ""), ([], "--settings"),
                 (["--settings", self.settings(), "--limit", "-1"], "--limit"), (["--settings", self.settings(), "--limit", "many"], "--limit"),
                 (["--settings", self.settings(), "--mlperf", "v9"], "invalid value 'v9' for --mlperf: expected v5.0")]
        for arguments, said in cases:
            self.refused(arguments, said)
        for settings, said in [({"target_qps": 0}, "target_qps is 0"), ({"target_qps": -5}, "target_qps is -5"),
                               ({"target_qps": 1e300}, "target_qps is 1e+300"), ({"target_qpz": 1}, "did you mean 'target_qps'"),
                               ({"scenario": "Serve"}, "'scenario'"), ({"loadgen": "3.0"}, "3.0"), ({"min_query_count": 10**30}, "whole number"),
                               ({"issue_same": 1, "issue_unique": 1}, "exclude each other"), ({"mode": "find_peak"}, "'mode'")]:
            self.refused(["--settings", self.settings(**settings)], said)

    def refused(self, arguments, said):
        made = schedule(*arguments)
        self.assertEqual(made.returncode, 2, (arguments, made.stderr))
        self.assertEqual(made.stderr.count("\n"), 1, made.stderr)
        self.assertIn(said, made.stderr)
        self.assertEqual(made.stdout, "")


if __name__ == "__main__":
    unittest.main()
