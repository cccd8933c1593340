"""Tests `deepgap site`: pages from stores that open from a file system, one line for what is wrong, and what a reader does in a browser.

  python3 site_test.py build/bin/deepgap
"""
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import unittest

from browser_case import CHROMIUM, NO_BROWSER, BrowserCase
from store_case import PROGRAM, TINY


class SiteTest(BrowserCase):
    flags = [*TINY, "--axis", "null.clock=virtual", "--warmup", "1", "-n", "20"]

    def setUp(self):
        super().setUp()
        self.site = os.path.join(self.dir, self.id() + ".site")

    def measure(self, *flags):
        done = self.run_deepgap(*flags)
        self.assertEqual(done.returncode, 0, done.stderr)

    def publish(self, *flags, stores=None, output=None):
        return subprocess.run([PROGRAM, "site", *(stores or [self.store]), "-o", output or self.site, *flags], capture_output=True, text=True, timeout=120)

    def data(self, kind, number=0):
        [file] = pathlib.Path(self.site).glob(f"data-*/{kind}-{number}.js")
        return json.loads(re.fullmatch(rf'deepgapSite\.add\("{kind}",{number},(.*)\);\n', file.read_text("ascii"), re.DOTALL).group(1))

    def refused(self, done, words):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(words, done.stderr)

    def test_a_store_becomes_pages(self):
        self.measure("--batch", "1,2")
        self.measure("--batch", "1,2")
        done = self.publish("--title", "Nights <of> us")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.strip(), os.path.join(self.site, "index.html"))
        page = pathlib.Path(self.site, "index.html").read_text()
        self.assertIn("<h1>Nights &lt;of&gt; us</h1>", page)
        self.assertIn("2 points of 4 records", page)
        self.assertIn("<table class=\"best\">", page, "a reader without scripts has a table")
        rows, details = self.data("rows"), self.data("details")
        self.assertEqual(sorted(rows["batch"]), [1, 2])
        records = {row["record_id"][:12] for row in self.rows()}
        for detail in details:
            self.assertIn(re.fullmatch(r"deepgap rerun ([0-9a-f]{12}) --from (\S.*)", detail["rerun"]).group(1), records)
            self.assertEqual(len(detail["trends"][0]["runs"]), 2)
            facts = self.data("environments")[detail["environment"]]
            self.assertIn("cpu.model", dict(facts))

    def test_the_command_measures_the_same_point(self):
        self.measure("--batch", "2")
        self.assertEqual(self.publish().returncode, 0)
        [detail] = self.data("details")
        again = os.path.join(self.dir, "again.db")
        command = detail["run"].replace("deepgap run", f"'{PROGRAM}' run --cache '{self.dir}' --store '{again}' -n 20 --warmup 1", 1)
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        with sqlite3.connect(again) as database:
            self.assertEqual({point for (point,) in database.execute("SELECT point_id FROM v1_records")}, {self.rows()[0]["point_id"]})

    def test_prices_and_anonymous(self):
        self.measure()
        done = self.publish("--anonymous")
        self.assertEqual(done.returncode, 0, done.stderr)
        everything = "".join(file.read_text() for file in pathlib.Path(self.site).rglob("*") if file.is_file() and file.name != "site.js")
        self.assertNotIn(os.uname().nodename, everything)
        self.assertNotIn(os.path.basename(self.store), everything)

    def test_bad_input_gets_one_line(self):
        self.refused(self.publish(stores=["/no/such.db"]), "/no/such.db")
        self.assertFalse(os.path.exists(self.site))
        self.measure()
        self.refused(self.publish("--model", "vgg16"), "vgg16")
        self.refused(self.publish(output=self.store), "not a folder")
        self.refused(self.publish(output=os.path.join(self.dir, "no", "such")), "does not exist")
        full = os.path.join(self.dir, "full")
        os.mkdir(full)
        pathlib.Path(full, "mine.txt").write_text("mine")
        self.refused(self.publish(output=full), "neither empty nor a site")
        self.assertEqual(os.listdir(full), ["mine.txt"])
        empty = os.path.join(self.dir, "empty.db")
        shutil.copyfile(self.store, empty)
        with sqlite3.connect(empty) as database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            for table in tables & {"metric_values", "remarks", "records"}:
                database.execute(f"DELETE FROM {table}")
        self.refused(self.publish(stores=[empty]), "no records")
        newer = os.path.join(self.dir, "newer.db")
        shutil.copyfile(self.store, newer)
        with sqlite3.connect(newer) as database:
            database.execute("PRAGMA user_version = 9999")
        self.assertEqual(self.publish(stores=[newer]).returncode, 2)

    def test_a_full_disk_leaves_the_old_site(self):
        self.measure()
        self.assertEqual(self.publish("--title", "Before").returncode, 0)
        self.measure("--batch", "4")
        limited = subprocess.run(["bash", "-c", 'ulimit -f 8; trap "" XFSZ; exec "$@"', "bash", PROGRAM, "site", self.store, "-o", self.site, "--title", "After"],
                                 capture_output=True, text=True, timeout=120)
        self.assertEqual(limited.returncode, 2, limited.stderr)
        self.assertIn("Before", pathlib.Path(self.site, "index.html").read_text())
        self.assertEqual(len(list(pathlib.Path(self.site).glob("data-*"))), 1)

    # In a browser

    actions = "site_browser.js"

    def act(self, *given, **options):
        outcome = super().act(pathlib.Path(self.site, "index.html"), *given, **options)
        self.assertEqual(outcome["elements"], 0, "texts are texts")
        return outcome

    @unittest.skipUnless(CHROMIUM, NO_BROWSER)
    def test_a_reader_filters_sorts_and_follows_links(self):
        self.measure("--batch", "1,2,4")
        with sqlite3.connect(self.store) as database:
            database.execute("UPDATE points SET model = '<img src=x onerror=alert(1)>' WHERE batch = 4")
        self.assertEqual(self.publish().returncode, 0)
        outcome = self.act()
        self.assertEqual((outcome["first"], outcome["filtered"], outcome["hash"]), ("3 of 3 points", "1 of 3 points", "#batch=2"))
        self.assertTrue(outcome["best_is_hidden"])
        self.assertEqual((outcome["charted"], outcome["sort"], outcome["rows"]), (3, "descending", 3))
        self.assertEqual(outcome["ascending"], outcome["descending"][::-1])
        self.assertEqual(outcome["active"], "3")
        for key in ("opened", "searching", "log_changed", "tip"):
            self.assertTrue(outcome[key], key)
        dark = self.act("#batch=4", dark=True)
        self.assertEqual(dark["first"], "1 of 3 points")
        self.assertNotEqual(dark["background"], outcome["background"])
        [identity] = [row for row, batch in zip(self.data("rows")["id"], self.data("rows")["batch"]) if batch == 2]
        detail = self.act(f"#p={identity}", width=400)["detail"]
        self.assertIn("deepgap rerun", detail)
        self.assertIn("cpu.model", detail)
        self.assertIn("No point 0123", self.act("#p=0123")["detail"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
