"""What a verdict promises, in virtual time: windows long enough, judged whole, under every rule.

  python3 verdict_test.py build/bin/deepgap
"""
import os
import sys
import unittest

from store_case import TINY, StoreCase


class VerdictTest(StoreCase):
    flags = [*TINY, "--axis", "null.clock=virtual", "--axis", "null.latency=5ms"]
    noise = ["--axis", "null.distribution=normal", "--axis", "null.sigma=0.05"]

    def steps(self, steps):
        return ["--axis", "null.distribution=steps", "--axis", f"null.steps={steps}"]

    def test_ten_seconds_are_shared_out_among_repeats(self):
        row = self.one(0, *self.noise)
        self.assertEqual(row["verdict"], "valid", row["reason"])
        self.assertGreaterEqual(row["timings"], 1900)
        self.store += ".repeats"
        done = self.run_deepgap(*self.noise, "--repeats", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = self.rows()
        self.assertEqual(len(rows), 4)
        for row in rows:
            self.assertGreaterEqual(row["timings"], 470)
            self.assertLess(row["timings"], 1900)

    def test_a_shorter_window_is_asked_for(self):
        row = self.one(0, *self.noise, "--min-duration", "500ms", "--interval", "2%")
        self.assertLess(row["timings"], 1000)

    def test_a_step_and_a_drift_are_named_under_every_rule(self):
        for number, rule in enumerate(([], ["-n", "2000"], ["--duration", "10s"])):
            with self.subTest(rule):
                self.store = os.path.join(self.dir, f"{self.id()}{number}.db")
                row = self.one(0, *self.steps("1500:6ms"), *rule)
                self.assertEqual(row["verdict"], "unstable", row["reason"])
                self.assertRegex(row["reason"], r"20% slower from [678]")
                self.store += ".drift"
                row = self.one(0, "--axis", "null.distribution=drift", "--axis", "null.drift=0.01", *rule)
                self.assertEqual(row["verdict"], "unstable", row["reason"])

    def test_a_window_that_was_still_warming_up_is_measured_anew(self):
        row = self.one(0, *self.steps("1:7ms/300:5ms"))
        self.assertEqual(row["verdict"], "valid", row["reason"])
        self.assertAlmostEqual(row["throughput"], 200, delta=0.5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
