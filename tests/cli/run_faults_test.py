"""Tests faults while `deepgap run` measures: in a worker, in the store, against its limits.

Usage: run_faults_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

from run_case import PROGRAM, SHAPE, TINY, RunCase, marked_workers, records
from sanitized import sanitizer_of


class RunFaultsTest(RunCase):
    # What goes wrong in a worker

    def fails_as(self, outcome, *flags, **kwargs):
        result = self.run_deepgap(*flags, **kwargs)
        self.assert_exit(result, 1)
        rows = records(self.store)
        self.assertEqual([r[2] for r in rows], [outcome], result.stderr)
        self.assertTrue(rows[0][4], "a reason")
        return rows[0][4]

    def test_killed_by_sigkill_is_crashed(self):
        self.assertIn("SIGKILL", self.fails_as("crashed", "--axis", "sigkill_at=5"))

    def test_segmentation_fault_is_crashed_and_the_stage_is_named(self):
        self.assertEqual(self.fails_as("crashed", "--axis", "crash_at=5"), "the worker ended in phase steady: killed by SIGSEGV")

    def test_exit_is_crashed(self):
        self.assertIn("exit code 9", self.fails_as("crashed", "--axis", "exit_at=5"))

    def test_failed_query_is_crashed(self):
        self.fails_as("crashed", "--axis", "fail_at=5")

    def test_lost_device(self):
        self.fails_as("device_lost", "--axis", "device_lost_at=5")

    def test_hanging_is_timed_out(self):
        self.assertIn("no progress for 1 s in phase steady", self.fails_as("timed_out", "--axis", "hang_at=5", "--timeout", "1s"))

    def test_hanging_in_the_first_query_is_timed_out(self):
        self.assertIn("phase check", self.fails_as("timed_out", "--axis", "hang_at=0", "--timeout", "1s"))

    def test_out_of_memory_by_its_own_word(self):
        self.fails_as("out_of_memory", "--axis", "oom_at_load=1")

    def test_out_of_memory_for_real(self):
        if sanitizer_of(PROGRAM):
            self.skipTest(f"{sanitizer_of(PROGRAM)} ends a process that asks for too much")
        self.fails_as("out_of_memory", "--axis", f"allocate_bytes={1 << 46}")

    def test_refused_at_load(self):
        self.assertIn("nope", self.fails_as("refused", "--axis", "refuse=nope"))

    def test_device_that_is_not_there(self):
        self.assertIn("cuda:0", self.fails_as("refused", "--device", "cuda:0"))

    def test_stderr_of_a_crash_is_kept(self):
        self.fails_as("crashed", "--axis", "crash_at=5", "--axis", "stderr=last words")
        with sqlite3.connect(self.store) as db:
            dump = "\n".join(db.iterdump())
        self.assertIn("last words", dump)

    def test_stderr_of_a_crash_is_exported_and_reported(self):
        self.fails_as("crashed", "--axis", "crash_at=5", "--axis", "stderr=last words")
        exported = subprocess.run([PROGRAM, "export", self.store, "--format", "json"], capture_output=True, text=True, check=True)
        self.assertIn("last words", json.loads(exported.stdout)[0]["stderr_tail"])
        report = subprocess.run([PROGRAM, "report", self.store, "-o", "-", "--format", "md"], capture_output=True, text=True, check=True)
        self.assertIn("standard error: last words", report.stdout)

    def test_what_the_probes_read_is_exported_and_drawn(self):
        store = os.path.join(self.dir, "telemetry.db")
        run = subprocess.run([PROGRAM, "run", "--model", TINY, *SHAPE, "--backend", "null", "--axis", "null.latency=1ms", "--cache", self.dir, "--store", store,
                              "--duration", "600ms", "-r", "1", "--axis", "telemetry_period=50ms"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        export = [PROGRAM, "export", store, "--telemetry"]
        lines = subprocess.run(export, capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertTrue(lines[0].startswith("time,device,name,unit,value,"), lines[0])
        busy = [line.split(",") for line in lines if ",cpu,machine_busy,s," in line]
        self.assertGreaterEqual(len([row for row in busy if row[6] == "steady"]), 2)
        self.assertEqual([row[0] for row in busy], sorted(row[0] for row in busy))
        log = subprocess.run([*export, "--format", "log"], capture_output=True, text=True, check=True)
        self.assertTrue(log.stdout.startswith("timestamp, index, temperature.gpu, power.draw [W], utilization.gpu [%]"), log.stdout)
        self.assertIn("has no readings of a GPU", log.stderr)
        page = os.path.join(self.dir, "telemetry.html")
        subprocess.run([PROGRAM, "report", store, "-o", page], capture_output=True, check=True)
        with open(page) as f:
            text = f.read()
        self.assertIn('<section id="time">', text)
        self.assertIn("Latency over time", text)
        for flags, says in ((["--telemetry", "--format", "json"], "--telemetry writes csv or log"),
                            (["--telemetry", "--by", "point"], "--telemetry applies to records"), (["--format", "log"], "add --telemetry")):
            wrong = subprocess.run([PROGRAM, "export", store, *flags], capture_output=True, text=True)
            self.assertEqual(wrong.returncode, 2)
            self.assertIn(says, wrong.stderr)

    def test_a_report_of_an_unknown_kind_is_refused(self):
        self.assert_exit(self.run_deepgap(), 0)
        pdf = os.path.join(self.dir, "r.pdf")
        refused = subprocess.run([PROGRAM, "report", self.store, "-o", pdf], capture_output=True, text=True)
        self.assert_one_line(refused, 2, f"invalid value '{pdf}' for --output: expected a name that ends in .html or .md")
        self.assertFalse(os.path.exists(pdf))

    def test_the_rest_of_the_group_goes_on(self):
        result = self.run_deepgap("--axis", "crash_at=5,1000", "--batch", "1,2", "--repeats", "2")
        self.assert_exit(result, 1)
        rows = records(self.store)
        self.assertEqual(len(rows), 8)
        self.assertEqual(sorted(r[2] for r in rows), ["crashed"] * 4 + ["ok"] * 4)
        self.assertIn("4 of 8 records cannot be used", result.stdout)

    def test_missing_library_is_refused_and_the_run_goes_on(self):
        plugins = os.path.join(self.dir, "plugins")
        os.mkdir(plugins)
        built = os.path.join(os.path.dirname(PROGRAM), "..", "lib", "deepgap", "deepgap_null.so")
        os.symlink(os.path.abspath(built), os.path.join(plugins, "deepgap_null.so"))
        with open(os.path.join(plugins, "deepgap_broken.so"), "w") as f:
            f.write("no library\n")
        environment = dict(self.environment, DEEPGAP_PLUGINS=plugins)
        result = self.run_deepgap(backend="broken,null", env=environment)
        self.assert_exit(result, 1)
        self.assertEqual(sorted(r[2] for r in records(self.store)), ["ok", "refused"])
        self.assertIn("broken", result.stdout)

    def test_a_plugin_that_crashes_while_it_is_opened_is_refused_and_the_run_goes_on(self):
        build = os.path.dirname(os.path.dirname(PROGRAM))
        crashes = os.path.join(build, "tests", "plugins", "deepgap_crashes.so")
        if not os.path.exists(crashes):
            self.skipTest(f"{crashes} is not built")
        plugins = os.path.join(self.dir, "plugins")
        os.mkdir(plugins)
        os.symlink(crashes, os.path.join(plugins, "deepgap_crashes.so"))
        os.symlink(os.path.join(build, "lib", "deepgap", "deepgap_null.so"), os.path.join(plugins, "deepgap_null.so"))
        result = self.run_deepgap("--batch", "1,2", backend="crashes,null", env=dict(self.environment, DEEPGAP_PLUGINS=plugins))
        self.assert_exit(result, 1)
        self.assertEqual(sorted(r[2] for r in records(self.store)), ["ok", "ok", "refused", "refused"])
        reasons = [r[4] for r in records(self.store) if r[2] == "refused"]
        self.assertIn("killed by SIGSEGV", reasons[0])
        self.assertIn("the last words of a plug-in", reasons[0])

    def test_unstable_counts_unless_strict(self):
        flags = ["--axis", "distribution=lognormal", "--axis", "sigma=2", "--warmup", "0", "--interval", "0.01%", "--budget", "300ms"]
        self.assert_exit(self.run_deepgap(*flags, counts=False), 0)
        self.assertEqual(records(self.store)[-1][3], "unstable")
        self.assert_exit(self.run_deepgap(*flags, "--strict", counts=False), 1)

    # The Store fails during the run

    def test_full_disk_ends_the_run_and_says_what_is_saved(self):
        self.assert_exit(self.run_deepgap(), 0)  # fills the cache
        limit = os.path.getsize(self.store) + (60 << 10)

        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        result = self.run_deepgap("--batch", "1..64", preexec_fn=limited)
        self.assert_exit(result, 3)
        last = result.stderr.strip().split("\n")[-1]
        saved = int(re.search(r"(\d+) of 64 records were saved", last).group(1))
        self.assertEqual(len(records(self.store)), saved + 1)

    def test_a_store_that_is_removed_ends_the_run(self):
        run = self.start("--batch", "1..50", "--warmup", "0", "--iterations", "20", "--axis", "latency=10ms")
        self.wait_for(lambda: os.path.exists(self.store) and os.path.getsize(self.store) > 0)
        time.sleep(0.5)
        self.remove_store()
        out, err = run.communicate(timeout=900)
        self.assertEqual(run.returncode, 3, err)
        self.assertIn("removed or replaced", err)

    # Limits

    def test_a_worker_may_not_take_the_whole_machine(self):
        if sanitizer_of(PROGRAM):
            self.skipTest(f"{sanitizer_of(PROGRAM)} maps more than there is")
        with open("/proc/meminfo") as f:
            total = 1024 * int(re.search(r"MemTotal:\s+(\d+)", f.read()).group(1))
        run = self.start("--warmup", "0", "--iterations", "1000000", "--axis", "latency=5ms")
        limits = []

        def limited():
            for pid in marked_workers(self.mark):
                try:
                    with open(f"/proc/{pid}/limits") as f:
                        limits[:] = re.findall(r"Max data size\s+(\d+)", f.read())
                except OSError:
                    pass
            return bool(limits)

        try:
            self.wait_for(limited)
            self.assertLess(int(limits[0]), total)
        finally:
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=900)

    def test_the_parent_stays_small(self):
        run = self.start("--warmup", "0", "--iterations", "2000", "--batch", "1..4", "--axis", "latency=100us")
        peak = 0
        while run.poll() is None:
            try:
                with open(f"/proc/{run.pid}/status") as f:
                    found = re.search(r"VmHWM:\s+(\d+) kB", f.read())
                peak = max(peak, int(found.group(1)) if found else 0)
            except OSError:
                pass
            time.sleep(0.01)
        out, err = run.communicate()
        self.assertEqual(run.returncode, 0, err)
        print(f"peak of the parent: {peak / 1024:.1f} MiB", file=sys.stderr)
        if sanitizer_of(PROGRAM):
            self.skipTest(f"{sanitizer_of(PROGRAM)} takes memory of its own")
        self.assertLess(peak, 40 << 10)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
