"""Tests two runs that want one device: which one waits, what it reports, and what a dead one leaves. The other run is this test, mostly.

Usage: locks_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import fcntl
import json
import os
import signal
import sqlite3
import subprocess
import sys
import unittest

from store_case import PROGRAM, TINY, StoreCase


class LocksTest(StoreCase):
    flags = [*TINY, "--iterations", "5", "--warmup", "0"]

    def setUp(self):
        super().setUp()
        self.locks = os.path.join(self.dir, self.id() + ".locks")
        self.environment = {**os.environ, "DEEPGAP_LOCKS": self.locks}
        self.held = None

    def tearDown(self):
        self.let_go()

    def hold_the_cpu(self, first=0, count=4096):
        os.makedirs(self.locks, exist_ok=True)
        self.held = open(self.locks + "/cpu", "w")
        fcntl.lockf(self.held, fcntl.LOCK_EX, count, first)
        with open(f"{self.locks}/holder-{os.getpid()}", "w") as file:
            file.write("1790000000000000000\ndeepgap run the-other\n/there/other.db\n")

    def let_go(self):
        if self.held:
            self.held.close()
            self.held = None

    def start(self, *arguments):
        return subprocess.Popen(self.command(*arguments), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ended(self, *arguments, code=0):
        result = subprocess.run(self.command(*arguments), env=self.environment, capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def doctor(self):
        text = subprocess.run([PROGRAM, "doctor", "--json"], env=self.environment, check=True, capture_output=True, text=True).stdout
        return [advice for advice in json.loads(text) if advice["subject"].startswith("runs")]

    def waiting_line(self, process):
        for line in process.stderr:
            if "waiting until it ends" in line:
                return line
        self.fail("it did not wait")

    def test_a_second_run_waits_and_says_for_whom(self):
        self.hold_the_cpu()
        process = self.start()
        line = self.waiting_line(process)
        self.assertIn(f"cpu is in use by another run, process {os.getpid()} since 2026-09-21 14:13 UTC: deepgap run the-other, "
                      "into /there/other.db; waiting", line)
        self.assertIsNone(process.poll())
        self.let_go()
        process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0)
        [row] = self.rows()
        self.assertEqual(row["outcome"], "ok")
        self.assertEqual([name for name in os.listdir(self.locks) if name == f"holder-{process.pid}"], [])

    def test_it_can_be_refused(self):
        self.hold_the_cpu()
        result = self.ended("--busy", "refuse", code=2)
        self.assertIn("cpu is in use by another run, process", result.stderr)
        self.assertIn("deepgap run the-other", result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1)

    def test_it_can_be_shared_and_the_records_say_so(self):
        self.hold_the_cpu()
        self.ended("--busy", "share")
        self.assertEqual(self.fact("device.shared"), "cpu")

    def fact(self, name):
        with sqlite3.connect(self.store) as database:
            return json.loads(database.execute("SELECT facts FROM records").fetchone()[0])[name]

    def test_other_cpus_are_free(self):
        self.hold_the_cpu(first=100_000, count=1)
        self.ended("--busy", "refuse")

    def test_an_interrupt_ends_the_waiting(self):
        self.hold_the_cpu()
        process = self.start()
        self.waiting_line(process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.rows(), [])

    def test_mistakes_are_told_before_it_waits(self):
        self.hold_the_cpu()
        self.assertIn("no-such-network", self.ended("--model", "no-such-network", code=2).stderr)
        self.assertIn("'sometimes'", self.ended("--busy", "sometimes", code=2).stderr)

    def test_doctor_names_a_run_and_forgets_a_dead_one(self):
        self.assertEqual([advice["level"] for advice in self.doctor()], ["ok"])
        process = self.start("--iterations", "1000000000", "--axis", "null.latency=10ms")
        try:
            while not (busy := [advice for advice in self.doctor() if advice["level"] == "warning"]):
                self.assertIsNone(process.poll(), "the run ended before it was seen")
            self.assertIn(f"process {process.pid} since ", busy[0]["finding"])
            self.assertIn(f"into {self.store}", busy[0]["finding"])
            self.assertIn("deepgap run", busy[0]["finding"])
        finally:
            process.kill()
            process.communicate()
        self.assertEqual([advice["level"] for advice in self.doctor()], ["ok"])
        self.store += ".next"
        self.ended("--busy", "refuse")

    def test_a_folder_that_cannot_be_used_ends_no_run(self):
        self.environment["DEEPGAP_LOCKS"] = "/dev/null/locks"
        self.assertIn("deepgap: note: cannot lock a device", self.ended().stderr)
        self.environment["DEEPGAP_LOCKS"] = "off"
        self.assertNotIn("note", self.ended("--resume").stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
