"""Tests `deepgap compare`: matches, verdicts, exit codes, JSON for scripts, one line for what is wrong.

  python3 compare_test.py build/bin/deepgap
"""
import json
import os
import sqlite3
import subprocess
import sys
import unittest

from store_case import PROGRAM, TINY, StoreCase


class CompareTest(StoreCase):
    flags = [*TINY, "--axis", "null.clock=virtual", "--warmup", "1", "-n", "40", "--repeats", "4"]

    def measure(self, name, latency, *flags):
        self.store = os.path.join(self.dir, f"{self.id()}-{name}.db")
        done = self.run_deepgap("--axis", f"null.latency={latency}", *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.store

    def compare(self, *words):
        return subprocess.run([PROGRAM, "compare", *words], capture_output=True, text=True, timeout=60)

    def both(self, first, second, *flags):
        """Two Stores of one point, which differs in a time that the point does not tell: the second one's points get the first one's name."""
        return self.measure("a", first, *flags), self.measure("b", second, *flags)

    def test_two_selections_of_one_store(self):
        store = self.measure("one", "10ms,20ms", "--axis", "null.distribution=constant")
        done = self.compare(store, "--a", "null.latency=10ms", "--b", "null.latency=20ms")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("slower", done.stdout)
        found = json.loads(self.compare(store, "--a", "null.latency=20ms", "--b", "null.latency=10ms", "--json").stdout)["comparisons"]
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0]["verdict"], "faster")
        self.assertLess(found[0]["low"], 2.05)
        self.assertGreater(found[0]["high"], 1.95)
        self.assertTrue(found[0]["paired"])
        page = store + ".html"
        done = self.compare(store, "--a", "null.latency=10ms", "--b", "null.latency=20ms", "--output", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(page, encoding="utf-8") as file:
            html = file.read()
        self.assertIn("null.latency=20ms against null.latency=10ms", html)
        self.assertEqual(html.count('class="bar"'), 1)
        self.assertIn("| ratio | verdict |", self.compare(store, "--a", "null.latency=20ms", "--b", "null.latency=10ms", "--format", "md").stdout)
        gate = self.compare(store, "--a", "null.latency=10ms", "--b", "null.latency=20ms", "--fail-if-slower", "2%")
        self.assertEqual(gate.returncode, 1)
        self.assertRegex(gate.stdout, r"gate \(slower by more than 2 %\): slower: 1 of 1 point: ")
        gate = self.compare(store, "--a", "null.latency=20ms", "--b", "null.latency=10ms", "--fail-if-slower", "2%")
        self.assertEqual(gate.returncode, 0, gate.stdout)
        self.assertIn("gate (slower by more than 2 %): held\n", gate.stdout)

    def test_rows_name_what_tells_them_apart(self):
        first, second = self.both("5ms", "5ms", "-s", "server", "--rate", "20,40", "--threads", "1,2")
        page = first + ".html"
        text = self.compare(first, second, "--output", page).stdout
        labels = {row["a"] for row in json.loads(self.compare(first, second, "--json").stdout)["comparisons"]}
        self.assertEqual(len(labels), 4)
        markdown = self.compare(first, second, "--format", "md").stdout
        with open(page, encoding="utf-8") as file:
            html = file.read()
        for label in labels:
            self.assertRegex(label, "[12] threads? \u00b7 rate=[24]0 \u00b7 batch 1$")
            self.assertNotIn("latency", label, "all have it")
            for where in (text, markdown, html):
                self.assertIn(label, where)

    def test_two_stores_measured_apart(self):
        first, second = self.both("20ms", "20ms")
        done = self.compare(first, second)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("measured at different times", done.stdout)
        self.assertIn("throughput", done.stdout)

    def test_selections_of_one_run_are_not_apart(self):
        store = self.measure("one", "10ms,20ms", "--repeats", "1")
        done = self.compare(store, "--a", "null.latency=10ms", "--b", "null.latency=20ms")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("measured at different times", done.stdout)

    def test_one_repeat_is_not_enough(self):
        first, second = self.both("5ms", "5ms", "--repeats", "1")
        done = self.compare(first, second, "--fail-if-slower", "2%")
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertIn("not enough data: single run", done.stdout)
        self.assertRegex(done.stdout, "against .*: 1 not enough data\n")
        self.assertIn("not enough data: 1 of 1 point; measure at least 3 repeats of each side (--repeats 5)\n", done.stdout)

    def gate(self, *words):
        done = self.compare(*words, "--json")
        return done.returncode, json.loads(done.stdout)["gate"]

    def test_the_gate_is_in_the_json(self):
        store = self.measure("one", "10ms,20ms")
        fast, slow = "null.latency=10ms", "null.latency=20ms"
        self.assertEqual(self.gate(store, "--a", fast, "--b", slow), (0, None), "none was asked")
        for a, b, said in ((fast, slow, (1, "slower")), (slow, fast, (0, "held"))):
            code, gate = self.gate(store, "--a", a, "--b", b, "--fail-if-slower", "3%")
            self.assertEqual((code, gate["result"]), said)
            self.assertEqual(len(gate.get("slower", [])), 1 if code == 1 else 0)
            self.assertEqual(gate["margin"], 0.03)
        once = self.measure("once", "10ms", "--repeats", "1")
        self.assertEqual(self.gate(once, once, "--fail-if-slower", "3%"), (4, {"margin": 0.03, "result": "not enough data"}))
        other = self.measure("other", "10ms", "--batch", "2")
        self.assertEqual(self.gate(once, other, "--fail-if-slower", "3%"), (5, {"margin": 0.03, "result": "nothing to compare"}))

    def test_the_gate_judges_all_points_together(self):
        store = self.measure("one", "10ms,20ms", "--batch", "1,2")
        words = (store, "--a", "null.latency=10ms", "--b", "null.latency=20ms", "--fail-if-slower", "3%")
        code, gate = self.gate(*words)
        self.assertEqual((code, len(gate["slower"])), (1, 2))
        self.assertAlmostEqual(gate["together"]["ratio"], 0.5, places=3)
        self.assertTrue(gate["together"]["slower"])
        self.assertRegex(self.compare(*words).stdout, r"slower: geometric mean of 2 points 0\.5\d* \(0\.\d+ to 0\.\d+\); 2 of 2 points: ")

    def test_what_cannot_be_compared_is_named(self):
        first, second = self.measure("a", "5ms", "--batch", "1,2,3,4,5,6"), self.measure("b", "5ms", "--batch", "1,2")
        with sqlite3.connect(second) as db:
            db.execute("UPDATE records SET outcome = 'crashed' WHERE point = (SELECT point FROM records ORDER BY id LIMIT 1)")
        db.close()
        done = self.compare(first, second)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"4 points of \S*a.db without a match: .* batch 3; .* batch 4; .* batch 5 and 1 more")
        self.assertRegex(done.stdout, r"1 point matched, but without a value of both to compare: .* batch [12] \(crashed in \S*b.db\)")

    def test_nothing_in_common(self):
        first, second = self.measure("a", "5ms", "--batch", "1"), self.measure("b", "5ms", "--batch", "2")
        done = self.compare(first, second)
        self.assertEqual(done.returncode, 5, done.stdout)
        self.assertIn("nothing to compare", done.stdout)

    def test_what_is_wrong_is_one_line(self):
        store = self.measure("a", "1ms")
        for words, said in (([store], "--a and --b"), ([store, store, "--metric", "speed"], "invalid value 'speed' for --metric"),
                            ([store, store, "--a", "batch"], "not KEY=VALUE"), ([store, store, "--a", "batch=7"], "unknown batch '7'"),
                            ([store, store, "--margin", "2"], "invalid value '2' for --margin"), ([store, store, "--format", "xml"], "xml"),
                            ([store, store, "--output", "p.txt"], "expected a page, such as NAME.html"), ([store, store, "--output", "/nowhere/p.html"], "folder /nowhere does not exist"),
                            ([store, store, "--profile", "--json"], "--profile prints text"),
                            ([store, "/nowhere.db"], "/nowhere.db")):
            with self.subTest(words=words[1:]):
                done = self.compare(*words)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertEqual(len(done.stderr.strip().split("\n")), 1, done.stderr)
                self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
