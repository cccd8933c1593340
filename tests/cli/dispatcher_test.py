"""Tests batching, instances and shedding of `deepgap run`, on null: figures that follow from its scripted times.

Usage: dispatcher_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import os
import sys
import unittest

from store_case import TINY, StoreCase


VIRTUAL = ["--axis", "null.clock=virtual"]


class DispatcherTest(StoreCase):
    flags = [*TINY, "--warmup", "5"]

    def test_batches_hold_a_rate_that_single_queries_do_not(self):
        load = ["--scenario", "constant", "--rate", "1000", "--duration", "1s", "--axis", "null.latency=4ms", *VIRTUAL]
        row = self.one(0, *load, "--max-batch", "16", "--max-delay", "1ms")
        self.assertEqual(row["verdict"], "as_found", row["reason"])
        self.assertGreater(row["batch_size_mean"], 2)
        self.assertLessEqual(row["batch_size_mean"], 16)
        self.assertEqual(row["shed_share"], 0)
        os.remove(self.store)
        row = self.one(1, *load)
        self.assertEqual(row["verdict"], "invalid")
        self.assertIn("were waiting", row["reason"])

    def test_offline_queries_are_joined_to_full_batches(self):
        row = self.one(0, "--scenario", "offline", "--max-batch", "16", "--axis", "total_samples=3200", "--axis", "null.latency=2ms", *VIRTUAL)
        self.assertGreater(row["batch_size_mean"], 15)
        self.assertEqual(row["timings"], 3200)

    def test_without_shedding_an_overload_is_seen_behind_the_dispatcher_too(self):
        row = self.one(1, "--scenario", "constant", "--rate", "2000", "--duration", "1s", "--axis", "null.latency=2ms", "--instances", "2", *VIRTUAL)
        self.assertEqual(row["verdict"], "invalid")
        self.assertIn("were waiting", row["reason"])
        self.assertLess(row["queue_depth_max"], 5)

    def test_two_instances_do_twice_as_much(self):
        self.assertEqual(self.run_deepgap("--duration", "500ms", "--axis", "null.latency=5ms", "--instances", "1,2,4", *VIRTUAL).returncode, 0)
        rates = [row["throughput"] for row in sorted(self.rows(), key=lambda row: row["options"])]
        self.assertGreater(rates[1] / rates[0], 1.6)
        self.assertGreater(rates[2] / rates[0], 3)

    def test_what_is_shed_makes_the_result_invalid_unless_it_is_allowed(self):
        load = ["--scenario", "constant", "--rate", "1000", "--duration", "1s", "--axis", "null.latency=4ms", "--queue-limit", "4", *VIRTUAL, "--shed"]
        row = self.one(1, *load, "reject-newest")
        self.assertRegex(row["reason"], r"\d+ of \d+ queries \([\d.]+ %\) were shed \(rejected because the queue is full\), at most 0 % are allowed. Lower the load")
        self.assertAlmostEqual(row["shed_share"], 0.75, delta=0.1)
        self.assertIsNone(row["latency_p99_ms"], "what is shed never ends, and three of four are")
        os.remove(self.store)
        row = self.one(0, *load, "drop-oldest", "--axis", "shed_allowed=90%")
        self.assertEqual(row["verdict"], "as_found", row["reason"])

    def test_a_real_engine_is_checked_on_every_instance_and_size(self):
        row = self.one(0, "--instances", "2", "--max-batch", "4", "--max-delay", "1ms", "--scenario", "concurrency", "--clients", "8",
                       "--duration", "500ms", backend="native")
        self.assertEqual((row["outcome"], row["verdict"]), ("ok", "as_found"), row["reason"])
        self.assertGreater(row["batch_size_mean"], 1)
        os.remove(self.store)
        row = self.one(0, "--max-batch", "6", "--max-delay", "1ms", "--axis", "pad=power-of-two", "--scenario", "concurrency", "--clients",
                       "3", "--duration", "500ms", backend="native")
        self.assertGreater(row["padding_share"], 0)

    def test_processes_measure_together(self):
        self.assertEqual(self.run_deepgap("--iterations", "50", "--axis", "null.latency=5ms", "--processes", "1,3", "--threads", "3").returncode, 0)
        rows = sorted(self.rows(), key=lambda row: row["device"], reverse=True)
        self.assertEqual(len(rows), 2, "one Record a Point, with a row for each rank in it")
        self.assertEqual([row["device"] for row in rows], ["cpu", "3p:cpu"])
        # Counted in the window that all share: more than one of them can answer.
        self.assertEqual(rows[0]["timings"], 50)
        self.assertGreater(rows[1]["timings"], 50)
        self.assertLessEqual(rows[1]["timings"], 150)

    def test_processes_find_the_reference_and_one_that_fails_ends_all(self):
        row = self.one(0, "--processes", "2", "--duration", "500ms", backend="native")
        self.assertEqual((row["outcome"], row["verdict"], row["unchecked"]), ("ok", "as_found", False), row["reason"])
        os.remove(self.store)
        row = self.one(1, "--processes", "2", "--duration", "500ms", "--axis", "null.fail_at=30")
        self.assertEqual(row["outcome"], "crashed")
        self.assertRegex(row["reason"], "^process [12] of 2 on cpu: ")

    def test_urgent_queries_wait_less(self):
        row = self.one(0, "--scenario", "constant", "--rate", "190", "--duration", "2s", "--axis", "null.latency=5ms", "--axis",
                       "null.distribution=exponential", "--axis", "urgent=10%", "--queue-limit", "64", *VIRTUAL)
        self.assertLess(row["urgent_latency_p99_ms"], row["other_latency_p99_ms"])

    def test_bad_values_are_one_line(self):
        for flags, words in ((["--max-batch", "4", "--max-delay", "5"], "invalid value '5' for --max-delay: expected a time"), (["--instances", "0"], "'0' for --instances"),
                             (["--shed", "some"], "invalid value 'some' for --shed: expected none, reject-newest or drop-oldest"), (["--device", "cpu+cpu"], "is listed twice"),
                             (["--axis", "affinity=near"], "affinity near and far are for GPUs")):
            with self.subTest(flags):
                result = self.run_deepgap(*flags, "-n", "5")
                self.assertIn(result.returncode, (1, 2), result.stderr)
                self.assertIn(words, result.stderr + result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
