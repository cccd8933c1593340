"""Tests `deepgap run --tenant`: models that are measured together, each beside itself alone. On null, except for one test on native.

Usage: tenants_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

from store_case import PROGRAM, TINY, StoreCase

TENANTS = ["--tenant", "null.latency=5ms", "--tenant", "null.latency=10ms,batch=2"]


class TenantsCase(StoreCase):
    flags = [*TINY, "--warmup", "5"]

    def together(self):
        return sorted((row for row in self.rows() if row["tenant"]), key=lambda row: row["tenant"])


class TenantsTest(TenantsCase):
    def test_each_is_measured_alone_and_beside_the_other(self):
        result = self.run_deepgap(*TENANTS, "--duration", "500ms", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.rows()), 4)
        self.assertEqual([row["tenant"] for row in self.together()], ["1/2", "2/2"])
        options = self.together()[0]["options"]
        self.assertIn("tenants=resnet18:width=0.125,classes=10 batch=1 null.latency=5ms + resnet18:width=0.125,classes=10 batch=2", options)
        self.assertIn("tenant_cpus=share", options)
        [tenants] = json.loads(result.stdout)["tenants"]
        self.assertIn("beside", tenants["set"])
        for tenant in tenants["tenants"]:
            # Scripted waits do not get in each other's way; a busy machine may.
            self.assertGreater(tenant["throughput"]["ratio"], 0)
            self.assertGreater(tenant["latency_p99"]["ratio"], 0)
        self.assertGreater(tenants["work"], 0)

    def test_the_report_sets_them_beside_each_other(self):
        result = self.run_deepgap(*TENANTS, "--duration", "500ms")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"keeps [\d.]+ .*of its throughput alone; its p99 latency is")
        page, text = self.store + ".html", self.store + ".md"
        for path in page, text:
            subprocess.run([PROGRAM, "report", self.store, "--output", path], check=True, capture_output=True)
        with open(page, encoding="utf-8") as file:
            self.assertIn("<h2>Tenants</h2>", file.read())
        with open(text, encoding="utf-8") as file:
            self.assertIn("of their throughput alone", file.read())

    def test_identical_tenants_of_a_study_file(self):
        study = self.store + ".toml"
        with open(study, "w", encoding="utf-8") as file:
            file.write('[[grid]]\nduration = "300ms"\ntenant_cpus = "x"\n')
        result = self.run_deepgap(study)
        self.assertEqual(result.returncode, 2)
        with open(study, "w", encoding="utf-8") as file:
            file.write('[[grid]]\nrepeats = 1\nduration = "300ms"\n[grid.axis]\ntenant_cpus = ["share", "split"]\n[[grid.tenant]]\n[[grid.tenant]]\n'
                       '[grid.tenant.options]\nseed = 1\n[[grid.skip]]\nseed = 7\n')
        result = self.run_deepgap(study)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.rows()), 6, "two alone, since one says its seed, and twice two together")

    def test_a_real_engine_is_checked_and_pinned(self):
        result = self.run_deepgap("--tenant", "batch=1", "--tenant", "batch=2,scenario=server,rate=50", "--duration", "500ms", "--axis",
                                  "tenant_cpus=split", "--threads", "2", backend="native")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        rows = self.together()
        self.assertEqual([(row["outcome"], row["unchecked"]) for row in rows], [("ok", False)] * 2)
        with sqlite3.connect(self.store) as db:
            facts = [json.loads(text) for (text,) in db.execute("SELECT facts FROM records WHERE tenant <> '' ORDER BY tenant")]
        for fact in facts:
            self.assertTrue(0 < fact["tenant.window_share"] <= 1, fact)
        if len(os.sched_getaffinity(0)) > 1:
            self.assertNotEqual(facts[0]["cpus.affinity"], facts[1]["cpus.affinity"], "each has CPUs of its own")

    def test_tenants_are_not_asked_at_the_same_times(self):
        load = ["--axis", "null.latency=0s", "--scenario", "server", "--rate", "100", "--duration", "1s"]
        result = self.run_deepgap(*load, "--tenant", "batch=1", "--tenant", "batch=1")
        self.assertEqual(result.returncode, 0, result.stderr)
        first, second = self.together()
        self.assertNotEqual(first["offered_rate"], second["offered_rate"], "arrivals of their own")
        alone = [row["offered_rate"] for row in self.rows() if not row["tenant"]]
        for row in first, second:
            self.assertTrue(any(abs(row["offered_rate"] - rate) < 1e-6 for rate in alone), "and the same ones alone")


class AnyPaceTest(TenantsCase):
    """Tests in which the clock does not matter: they may run beside other work."""

    def test_a_tenant_that_fails_ends_the_others_and_is_named(self):
        for option, timeout, outcome, words in (("null.crash_at=30", "60s", "crashed", "the worker ended"),
                                                ("null.refuse=no", "60s", "refused", "no"),
                                                ("null.hang_at=30", "10s", "timed_out", "no progress for 10 s")):
            with self.subTest(option):
                if os.path.exists(self.store):
                    os.remove(self.store)
                result = self.run_deepgap("--tenant", "null.latency=5ms", "--tenant", "batch=2," + option, "--duration", "500ms", "--timeout", timeout)
                self.assertEqual(result.returncode, 1, result.stderr)
                first, second = self.together()
                self.assertEqual(second["outcome"], outcome)
                self.assertIn(words, second["reason"])
                self.assertEqual(first["outcome"], "refused", "what it measured beside a tenant that ended is not kept")
                self.assertRegex(first["reason"], "^tenant .*batch=2.*" + words)

    def test_a_killed_run_keeps_whole_sets_and_goes_on(self):
        flags = [*TENANTS, "--duration", "500ms", "--repeats", "2"]
        with subprocess.Popen(self.command(*flags), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
            for line in run.stderr:
                if "tenant=1/2" in line:
                    break
            time.sleep(0.2)
            run.send_signal(signal.SIGINT)
            run.stderr.read()
            self.assertIn(run.wait(900), (0, 130))
        for number in ("1/2", "2/2"):
            self.assertGreaterEqual(sum(row["tenant"] == number and row["outcome"] == "ok" for row in self.together()), 1)
        result = self.run_deepgap(*flags, "--resume")
        self.assertEqual(result.returncode, 0, result.stderr)
        finished = [row for row in self.rows() if row["outcome"] == "ok"]
        self.assertEqual(len({(row["point_id"], row["repeat"]) for row in finished}), 8)
        self.assertEqual(len(finished), 8)

    def test_bad_input_is_one_line(self):
        for flags, words in (([], "needs at least one other"), (["--tenant", "model=resnet5"], "unknown model 'resnet5', did you mean 'resnet50'"),
                             (["--tenant", "resnet50"], "expected NAME=VALUE"), (["--tenant", "batch=1,batch=2"], "batch is given twice"),
                             (["--tenant", "batch=x"], "a whole number"), (["--tenant", "batc=3"], "unknown option of null 'batc'"),
                             (["--tenant", "batch=2", "--processes", "2"], "each tenant is one process"),
                             (["--tenant", "batch=2", "--find-peak", "--bound", "p99=5ms", "--scenario", "server"], "one model at a time"),
                             (["--tenant", "batch=2", "--interval", "1%"], "windows of one length"),
                             (["--tenant", "batch=2", "--axis", "tenant_cpus=half"], "invalid value 'half' for "),
                             (["--tenant", "batch=2", "--axis", "tenant_cpus=split", "--axis", "affinity=first"], "leave out affinity"),
                             (["--tenant", "batch=2,tenant_cpus=split"], "is for all tenants")):
            with self.subTest(flags):
                result = self.run_deepgap("--tenant", "batch=1", *flags)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
                self.assertIn(words, result.stderr)
        self.assertFalse(os.path.exists(self.store))
        for axis, words in (("tenant_cpus=split", "add --tenant twice"), ("tenants=x", "cannot be set")):
            result = self.run_deepgap("--axis", axis)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
