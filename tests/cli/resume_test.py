"""`deepgap run` interrupted, and gone on with by --resume.

Usage: resume_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import os
import re
import signal
import sqlite3
import sys
import time
import unittest

from run_case import RunCase, marked_workers, records


class ResumeTest(RunCase):
    # Interruptions

    def test_ctrl_c_saves_what_is_finished_and_resume_goes_on(self):
        for points in (12, 120, 1200):  # more where a busy machine let the run end before it was seen
            self.remove_store()
            flags = ["--batch", f"1..{points}", "--warmup", "0", "--iterations", "20", "--axis", "latency=10ms"]
            run = self.start(*flags)
            self.wait_for(lambda: len(records(self.store)) >= 2)
            run.send_signal(signal.SIGINT)
            out, err = run.communicate(timeout=900)
            if run.returncode != 0:
                break
        self.assertEqual(run.returncode, 130, err)
        self.assertIn("--resume", err)
        before = [r for r in records(self.store) if r[2] == "ok"]
        self.assertGreaterEqual(len(before), 2)
        self.assertLess(len(before), points)
        result = self.run_deepgap(*flags, "--resume", counts=False)
        self.assert_exit(result, 0)
        self.assertIn("records are in", result.stderr)
        rows = [r for r in records(self.store) if r[2] == "ok"]
        self.assertEqual(rows[: len(before)], before)
        self.assertEqual(len(rows), points)
        self.assertEqual(len(set(rows)), points)
        self.assertEqual(len(re.findall(r"(?m)^resnet18\S* +null .* no target$", result.stdout)), points, "the table shows all points of the plan")

    def test_ctrl_c_ends_a_hanging_worker(self):
        run = self.start("--warmup", "0", "--iterations", "20", "--axis", "hang_at=0")
        self.wait_for(lambda: marked_workers(self.mark))
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=900)
        self.assertEqual(run.returncode, 130, err)

    def reason_after(self, signals, seconds):
        """Returns the reason in the record of a worker that hangs, where Ctrl-C is sent this often so many seconds after it was started."""
        self.remove_store()
        run = self.start("--warmup", "0", "--iterations", "20", "--axis", "hang_at=0")
        self.wait_for(lambda: os.path.exists(self.store) and marked_workers(self.mark))
        time.sleep(seconds)
        for _ in range(signals):
            run.send_signal(signal.SIGINT)
            time.sleep(0.3)
        out, err = run.communicate(timeout=900)
        self.assertEqual(run.returncode, 130, err)
        return [record[4] for record in records(self.store)]

    def test_second_ctrl_c_ends_at_once(self):
        # Each is tried again where a busy machine lets the signal come before the worker hangs, or the second one too late.
        once, twice = ["interrupted by the user; its worker did not end within 3 s and was killed"], ["interrupted by the user twice"]
        later = (0.5, 1, 2, 4, 8) * 4
        self.assertTrue(any(self.reason_after(1, seconds) == once for seconds in later))
        self.assertTrue(any(self.reason_after(2, seconds) == twice for seconds in later))

    def test_a_killed_parent_leaves_no_worker(self):
        run = self.start("--duration", "60s")
        self.wait_for(lambda: marked_workers(self.mark))
        run.kill()
        run.communicate(timeout=900)
        self.wait_for(lambda: not marked_workers(self.mark))

    def test_resume_of_a_finished_run_does_nothing(self):
        self.assert_exit(self.run_deepgap("--batch", "1,2"), 0)
        result = self.run_deepgap("--batch", "1,2,4", "--resume")
        self.assert_exit(result, 0)
        self.assertIn("2 of 3 records", result.stderr)
        self.assertEqual(len(records(self.store)), 3)
        again = self.run_deepgap("--batch", "1,2,4", "--resume")
        self.assert_exit(again, 0)
        self.assertEqual(len(records(self.store)), 3)

    def test_resume_on_another_device_measures_again(self):
        self.assert_exit(self.run_deepgap("--batch", "1,2"), 0)
        with sqlite3.connect(self.store) as database:  # as if it had been measured on another CPU
            database.execute("UPDATE environments SET hash = 'other', json = json_set(json, '$.\"cpu.model\"', 'Another CPU 1')")
        database.close()
        planned = self.run_deepgap("--batch", "1,2", "--resume", "--dry-run")
        self.assertIn("2 points, 2 records to measure, 0 refused", planned.stdout)
        result = self.run_deepgap("--batch", "1,2", "--resume")
        self.assert_exit(result, 0)
        self.assertIn("2 records in", result.stderr)
        self.assertIn("are of another device", result.stderr)
        self.assertEqual(len(records(self.store)), 4)
        again = self.run_deepgap("--batch", "1,2", "--resume")
        self.assert_exit(again, 0)
        self.assertEqual(len(records(self.store)), 4)

    def test_resume_by_another_rule_is_told(self):
        first = ["--warmup", "0", "--iterations", "5", "--repeats", "1"]
        self.assert_exit(self.run_deepgap(*first, counts=False), 0)
        again = self.run_deepgap("--warmup", "0", "--iterations", "5", "--repeats", "2", "--resume", counts=False)
        self.assert_exit(again, 0)
        self.assertNotIn("another rule", again.stderr)
        other = self.run_deepgap("--warmup", "0", "--iterations", "7", "--repeats", "3", "--resume", counts=False)
        self.assert_exit(other, 0)
        told = [line for line in other.stderr.splitlines() if "another rule" in line]
        self.assertEqual(len(told), 1, other.stderr)
        self.assertIn("--store", told[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
