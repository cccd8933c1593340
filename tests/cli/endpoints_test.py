"""Tests `deepgap export --format mlperf-endpoints` on a curve of the null engine in virtual time, with MLPerf's own submission checker.

Usage: endpoints_test.py PATH_OF_DEEPGAP VENV [unittest arguments]     VENV: where requirements-llm.txt is installed
"""
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

VENV = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else ""
CHECKER = (glob.glob(f"{VENV}/lib/python3*/site-packages/submission_checker") or [None])[0]

from store_case import PROGRAM, TINY, StoreCase  # noqa: E402: it reads the arguments too

CLIENTS = [1, 2, 4, 8, 16, 32, 64]
# As a submitter would write it. The names are made up for the test: engine null measures nothing.
DISCLOSURE = {"system": {"system_name": "null-in-virtual-time", "shortened_system_name": "null"},
              "node": {"host_memory_configuration": "one module", "host_network_card_count": "1", "filesystem": "ext4"},
              "point": {"model_name": "llama3_1-8b", "model_precision": "FP16", "link_to_model": "https://example.com/model", "dataset_link": "https://example.com/data",
                        "seed_set": "A", "target_cohort": "2026-10-C1"}}
# What a curve of deepgap cannot satisfy: it scores no answers, and draws samples and pauses from one seed where a published set has several.
UNMET = {"accuracy-present", "accuracy-coverage", "seed-runtime-match"}
CHECK = """
import pathlib, sys
from submission_checker import SubmissionChecker
print(SubmissionChecker(pathlib.Path(sys.argv[1])).run().model_dump_json())
"""


NULL = ["--backend", "null", "--task", "generate", "--scenario", "concurrency", "--prompt-tokens", "64", "--output-tokens", "8",
        "--axis", "clock=virtual", "--axis", "latency=2s", "--axis", "token_interval=200ms", "--axis", "null.concurrency=64"]


class Curve(StoreCase):
    """A curve that was measured once, for all tests."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.curve = os.path.join(cls.dir, "curve.db")
        cls.measure(cls.curve, CLIENTS)
        cls.disclosure = os.path.join(cls.dir, "disclosure.json")
        with open(cls.disclosure, "w") as file:
            json.dump(DISCLOSURE, file)

    @classmethod
    def measure(cls, store, clients, *flags, model=TINY, streams=64):
        command = [PROGRAM, "run", "--cache", cls.dir, "--store", store, *model, *NULL, "--streams", str(streams), "--warmup", "100", "--duration", "1300s", *flags]
        done = subprocess.run([*command, "--clients", ",".join(map(str, clients))], capture_output=True, text=True, timeout=600)
        if done.returncode not in (0, 1):
            raise AssertionError(done.stderr)

    def setUp(self):
        super().setUp()
        self.tree = os.path.join(self.dir, self.id())

    def export(self, *arguments, store=None, code=0):
        done = subprocess.run([PROGRAM, "export", store or self.curve, "--format", "mlperf-endpoints", "-o", self.tree, *arguments],
                              capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def refused(self, *arguments, store=None):
        words = self.export(*arguments, store=store, code=2)
        self.assertEqual(len(words.strip().splitlines()), 1, words)
        self.assertFalse(os.path.exists(self.tree))
        return words

    def point(self, concurrency, name):
        (path,) = glob.glob(os.path.join(self.tree, "results", "*", "*", f"r{concurrency}", name))
        return path

    def read(self, concurrency, name):
        with open(self.point(concurrency, name)) as file:
            return json.load(file)


class ExportTest(Curve):
    def test_figures_are_those_of_the_records(self):
        self.export("--disclosure", self.disclosure)
        rows = json.loads(subprocess.run([PROGRAM, "export", self.curve, "--format", "json"], capture_output=True, text=True, check=True).stdout)
        self.assertEqual(len(rows), len(CLIENTS))
        for row in rows:
            summary = self.read(int(re.search(r"clients=(\d+)", row["options"]).group(1)), "result_summary.json")
            self.assertEqual(summary["n_samples_completed"], row["timings"])
            self.assertAlmostEqual(summary["system_tps"] / row["output_tokens_per_s"], 1)
            self.assertAlmostEqual(summary["ttft"]["percentiles"]["90"] / 1e6, row["ttft_p90_ms"], places=3)
            self.assertAlmostEqual(summary["tpot"]["percentiles"]["90"] / 1e6, row["tpot_p90_ms"], places=3)

    def test_what_no_record_knows_is_named(self):
        words = self.export()
        for name in ("times are virtual", "point.model_precision, point.link_to_model, point.dataset_link, point.seed_set, point.target_cohort", "node.filesystem", "accuracy_results.json"):
            self.assertIn(name, words)
        shutil.rmtree(self.tree)
        words = self.export("--disclosure", self.disclosure)
        self.assertNotIn("not known", words)
        self.assertIn("not those of the disclosed seed set", words)

    def test_what_is_not_a_curve_is_refused_in_a_line(self):
        self.measure(self.store, [1, 40])
        copy = os.path.join(self.dir, "compact.db")
        subprocess.run([PROGRAM, "export", self.store, "--compact", "-o", copy], check=True, capture_output=True)
        self.assertIn("concurrency 1 has no usable record: it has no timings", self.refused(store=copy))
        self.measure(self.store, [4], "--axis", "reasoning_tokens=1")
        self.assertIn("differs in the number of clients alone", self.refused(store=self.store))

    def test_bands_and_models(self):
        self.measure(self.store, [1, 16])
        self.assertIn("16 is the highest: measure more clients", self.refused(store=self.store))
        self.measure(self.store, [40], model=["--model", "resnet18:width=0.25,classes=10", *TINY[2:]])
        self.assertIn("a curve is of one model on one system, and these records are of 2", self.refused(store=self.store))
        low = os.path.join(self.dir, "low.json")
        with open(low, "w") as file:
            json.dump({"system": {"max_supported_concurrency": 40}}, file)
        self.assertIn("concurrency 64 is above the bands, which end at 44", self.refused("--disclosure", low))

    def test_clients_that_wait_for_each_other_are_no_concurrency(self):
        self.measure(self.store, [1, 40], streams=8)
        self.assertIn("concurrency 40 has no usable record: its requests in flight reach 8 at most", self.refused(store=self.store))

    def test_invalid_records_are_refused(self):
        self.measure(self.store, [1, 40], "--axis", "cached_tokens=60")
        self.assertIn("has no usable record: invalid: ", self.refused(store=self.store))

    def test_flags_that_do_not_fit_are_refused(self):
        for flags, words in ((["--format", "csv", "--disclosure", self.disclosure], "--disclosure goes with --format mlperf-endpoints"),
                             (["--format", "mlperf-endpoints"], "add --output DIR"),
                             (["--format", "mlperf-endpoints", "-o", self.tree, "--anonymous"], "leave out --anonymous"),
                             (["--format", "mlperf-endpoints", "-o", self.tree, "--disclosure", "nowhere.json"], "nowhere.json")):
            done = subprocess.run([PROGRAM, "export", self.curve, *flags], capture_output=True, text=True, timeout=600)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)


class CheckerTest(Curve):
    def setUp(self):
        super().setUp()
        self.export("--disclosure", self.disclosure)

    def check(self):
        """Returns the rules that the checker found broken, with the number of findings, and those that it found kept."""
        done = subprocess.run([f"{VENV}/bin/python", "-c", CHECK, self.tree], capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        results = json.loads(done.stdout)["results"]
        of = lambda severity: collections.Counter(result["rule"] for result in results if result["severity"] == severity)  # noqa: E731
        return of("error"), of("warning"), of("info")

    def change(self, concurrency, name, key, value):
        content = self.read(concurrency, name)
        content[key] = value
        with open(self.point(concurrency, name), "w") as file:
            json.dump(content, file)

    def test_all_rules_hold_that_a_curve_can_satisfy(self):
        errors, warnings, kept = self.check()
        self.assertEqual(set(errors), UNMET)
        self.assertEqual(dict(warnings), {"steady-state-basis": len(CLIENTS), "warmup-logs-retained": len(CLIENTS)})
        for rule in ("region-basis", "low-concurrency-coverage", "point-count", "offline-point-present", "tps-utilization", "point-duration",
                     "metric-consistency-system-tps", "system-description-valid", "point-disclosure-complete", "model-name-valid"):
            self.assertIn(rule, kept)

    def test_a_curve_without_a_disclosure_lacks_what_the_export_said(self):
        shutil.rmtree(self.tree)
        words = self.export()
        errors, _, _ = self.check()
        self.assertIn("point.seed_set", words)
        self.assertEqual(set(errors), {"accuracy-present", "accuracy-coverage", "point-disclosure-complete", "model-name-valid", "seed-config-legacy"})

    def test_damage_is_found(self):
        damages = {"metric-consistency-system-tps": lambda: self.change(8, "result_summary.json", "system_tps", 1),
                   "metric-consistency-accounting": lambda: self.change(8, "result_summary.json", "n_samples_completed", 1),
                   "tps-utilization": lambda: self.change(64, "system_desc.json", "tps_utilization", 0.5),
                   "result-summary-present": lambda: os.unlink(self.point(4, "result_summary.json")),
                   "config-file-present": lambda: os.unlink(self.point(4, "config.yaml")),
                   "shared-path-resolution": lambda: shutil.rmtree(os.path.join(self.tree, "src")),
                   "high-concurrency-coverage": lambda: [shutil.rmtree(os.path.dirname(self.point(n, "point.yaml"))) for n in (32, 64)]}
        for rule, damage in damages.items():
            with self.subTest(rule):
                shutil.rmtree(self.tree)
                self.export("--disclosure", self.disclosure)
                damage()
                self.assertIn(rule, self.check()[0])


if __name__ == "__main__":
    if "CheckerTest" in sys.argv[3:] and CHECKER is None:
        print(f"endpoints_test: left out: no submission checker in {VENV}; `./check --full` fetches it")
        sys.exit(77)
    unittest.main(argv=["endpoints_test", *sys.argv[3:]])
