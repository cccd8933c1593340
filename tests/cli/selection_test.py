"""Tests selections of records: the same flags everywhere, tags and notes, and one line where a selection is empty.

  python3 selection_test.py build/bin/deepgap
"""
import json
import os
import subprocess
import sys
import unittest

from store_case import PROGRAM, TINY, StoreCase

READERS = {
    "export": lambda store, out: ["export", store],
    "export of a Store": lambda store, out: ["export", store, "--output", out],
    "export of readings": lambda store, out: ["export", store, "--telemetry"],
    "export of profiles": lambda store, out: ["export", store, "--profile"],
    "report": lambda store, out: ["report", store, "--output", "-"],
    "compare": lambda store, out: ["compare", store, store],
    "trend": lambda store, out: ["trend", store],
    "recommend": lambda store, out: ["recommend", store],
    "check": lambda store, out: ["check", store],
    "merge": lambda store, out: ["merge", out, store],
    "tag": lambda store, out: ["tag", store, "some"],
    "note": lambda store, out: ["note", store, "some"],
}


def deepgap(*arguments, code=0):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr if code == 2 else done.stdout


def batches(store, *flags):
    return sorted(row["batch"] for row in json.loads(deepgap("export", store, "--format", "json", *flags)))


class SelectionTest(StoreCase):
    flags = [*TINY, "--axis", "null.clock=virtual", "--warmup", "1", "-n", "20"]

    def setUp(self):
        super().setUp()
        done = self.run_deepgap("--batch", "1,2,4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.out = self.store + ".out.db"

    def test_flags_say_which_records(self):
        self.assertEqual(batches(self.store), [1, 2, 4])
        self.assertEqual(batches(self.store, "--batch", "2,4"), [2, 4])
        self.assertEqual(batches(self.store, "-b", "1..2*2", "--outcome", "ok", "--backend", "null"), [1, 2])
        self.assertEqual(batches(self.store, "--select", "batch=1|4", "--batch", "4"), [4])
        self.assertEqual(batches(self.store, "--since", "2020-01-01", "--batch", "1"), [1])

    def test_no_record_is_one_line_everywhere(self):
        for name, words in READERS.items():
            for flags, said in ((["--batch", "7"], "unknown batch '7'; known: 1, 2, 4"), (["--backend", "nul"], "did you mean 'null'?"),
                                (["--tag", "never"], "no record has a tag"), (["--until", "2020-01-01"], "no record until 2020-01-01"),
                                (["--verdict", "vlid"], "invalid value 'vlid' for --verdict: expected none, valid")):
                with self.subTest(command=name, flags=flags):
                    error = deepgap(*words(self.store, self.out), *flags, code=2)
                    self.assertEqual(len(error.strip().splitlines()), 1, error)
                    self.assertIn(said, error)
                    self.assertFalse(os.path.exists(self.out))
        self.assertEqual(deepgap("tag", self.store), "no tags\n")

    def test_copies_and_merges_take_what_is_selected(self):
        deepgap("export", self.store, "--output", self.out, "--batch", "2")
        self.assertEqual(batches(self.out), [2])
        deepgap("merge", "--replace", self.out, self.store, "--batch", "1,4")
        self.assertEqual(batches(self.out), [1, 4])
        self.assertIn("| null | 4 |", deepgap("report", self.store, "--format", "md", "-o", "-", "--batch", "4,2"))
        self.assertNotIn("| null | 1 |", deepgap("report", self.store, "--format", "md", "-o", "-", "--batch", "4,2"))
        self.assertEqual(len(json.loads(deepgap("check", self.store, "--json", "-b", "1,2", "-e", "null", code=1))["points"]), 2)
        self.assertEqual(len(json.loads(deepgap("trend", self.store, "--json", "--batch", "2"))["series"]), 1)
        self.assertEqual(len(json.loads(deepgap("compare", self.store, self.store, "--json", "--batch", "1,2"))["comparisons"]), 2)

    def test_tags_and_notes(self):
        self.assertEqual(deepgap("tag", self.store, "small", "--batch", "1,2"), "2 records have the tag 'small'\n")
        self.assertEqual(deepgap("tag", self.store, "small"), "3 records have the tag 'small', 2 of them before\n")
        self.assertEqual(deepgap("tag", self.store, "small", "--remove", "--batch", "4"), "1 tag removed from 1 record\n")
        self.assertEqual(deepgap("tag", self.store, "odd", "-b", "1"), "1 record has the tag 'odd'\n")
        self.assertEqual(deepgap("note", self.store, "it's <warm> here", "--tag", "odd"), "1 record has the note 'it's <warm> here'\n")
        self.assertEqual(json.loads(deepgap("tag", self.store, "--json")), [{"tag": "odd", "records": 1}, {"tag": "small", "records": 2}])
        self.assertEqual(deepgap("note", self.store).split(), ["1", "it's", "<warm>", "here"])
        self.assertEqual(batches(self.store, "--tag", "small"), [1, 2])
        self.assertEqual(batches(self.store, "--select", "tag=odd"), [1])
        for by in "record", "point":
            rows = {row["batch"]: row for row in json.loads(deepgap("export", self.store, "--format", "json", "--by", by))}
            self.assertEqual({batch: row["tags"] for batch, row in rows.items()}, {1: "odd;small", 2: "small", 4: None})
            self.assertEqual({batch: row["notes"] for batch, row in rows.items()}, {1: "it's <warm> here", 2: None, 4: None})
        self.assertIn("odd and small<small>it&#39;s &lt;warm&gt; here</small>", deepgap("report", self.store, "-o", "-"))
        deepgap("merge", self.out, self.store)
        self.assertEqual(batches(self.out, "--tag", "small"), [1, 2])
        self.assertEqual(deepgap("tag", self.store, "--remove", "--batch", "1"), "2 tags removed from 1 record\n")
        self.assertEqual(json.loads(deepgap("tag", self.store, "--json")), [{"tag": "small", "records": 1}])

    def test_an_empty_name_takes_nothing_away(self):
        deepgap("tag", self.store, "kept")
        deepgap("note", self.store, "kept too")
        for words in (["tag", self.store, ""], ["tag", self.store, "", "--remove", "--batch", "1,2"], ["note", self.store, "", "--remove"],
                      ["tag", self.store, "kept", "--remove", "--select", ""], ["note", self.store, "x", "--tag", ""]):
            with self.subTest(words=words):
                error = deepgap(*words, code=2)
                self.assertEqual(len(error.strip().splitlines()), 1, error)
                self.assertIn("is empty", error)
        self.assertEqual(deepgap("tag", self.store).split(), ["3", "kept"])
        self.assertEqual(deepgap("note", self.store).split(), ["3", "kept", "too"])

    def test_what_is_wrong_is_one_line(self):
        for words, said in ((["tag", self.store, "a b"], "expected at most 100 letters"), (["tag", self.store, "a;b"], "expected at most 100 letters"),
                            (["tag", self.store, "x" * 101], "at most 100"), (["tag", self.store, "--remove"], "name the tag"),
                            (["note", self.store, "two\nlines"], "one line"), (["note", self.store, "--remove"], "name the note"),
                            (["note", self.store, "x", "--json"], "leave it out"), (["tag", "/nowhere.db", "x"], "/nowhere.db"),
                            (["export", self.store, "--since", "today"], "expected a time such as"),
                            (["check", "resnet18", "--batch", "1"], "--batch selects records of a store")):
            with self.subTest(words=words):
                error = deepgap(*words, code=2)
                self.assertEqual(len(error.strip().splitlines()), 1, error)
                self.assertIn(said, error)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
