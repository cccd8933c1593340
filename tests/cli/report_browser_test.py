"""Tests a report in a browser: values, filters, axes, saved charts, and reading it dark, narrow, printed and without scripts.

  python3 report_browser_test.py build/bin/deepgap
"""
import pathlib
import re
import subprocess
import sys
import unittest

from browser_case import CHROMIUM, NO_BROWSER, BrowserCase
from store_case import PROGRAM, TINY


@unittest.skipUnless(CHROMIUM, NO_BROWSER)
class ReportInBrowser(BrowserCase):
    actions = "report_browser.js"
    flags = [*TINY, "--warmup", "1", "-n", "20", "--batch", "1,2,4"]
    backend = None

    def setUp(self):
        super().setUp()
        for engine, more in (("null", ["--precision", "fp32,int8", "--axis", "null.clock=virtual"]), ("native", [])):
            done = self.run_deepgap(*more, backend=engine)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.page = pathlib.Path(self.dir, self.id() + ".html")
        done = subprocess.run([PROGRAM, "report", self.store, "--output", str(self.page)], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_reader_explores_it(self):
        outcome = self.act(self.page)
        self.assertEqual(outcome["all"]["rows"], ["native fp32", "null fp32", "null int8"])
        self.assertEqual(outcome["engine"]["rows"], ["null fp32", "null int8"])
        self.assertEqual(outcome["both"]["rows"], ["null int8"])
        for key in ("engine", "both"):
            self.assertLessEqual(set(outcome[key]["lines"]), set(outcome[key]["rows"]))
        self.assertEqual(set(outcome["again"]["rows"]), set(outcome["all"]["rows"]), "nothing stays hidden")
        self.assertTrue(outcome["tip"] and outcome["tip_is_shown"], outcome)
        if outcome.get("title"):
            self.assertEqual(outcome["tip"], outcome["title"])
        self.assertTrue(outcome["log_changed"] and outcome["marks_stay"], outcome)
        self.assertRegex(outcome["csv"]["name"], r"^[a-z0-9-]+\.csv$")
        header, *rows = outcome["csv"]["text"].splitlines()
        self.assertTrue(header.startswith("line,"), header)
        self.assertGreaterEqual(len(rows), 3)
        self.assertRegex(outcome["png"]["name"], r"^[a-z0-9-]+\.png$")
        self.assertTrue(outcome["png"]["head"].startswith("data:image/png;base64,iVBORw0KGgo"), outcome["png"])
        self.assertGreater(outcome["png"]["size"], 2000)
        self.assertEqual(outcome["ascending"], sorted(outcome["ascending"]))
        self.assertEqual(outcome["descending"], sorted(outcome["descending"], reverse=True))
        self.assertEqual(set(outcome["colours"]), {"auto", "light", "dark"})
        self.assertNotEqual(outcome["colours"]["light"], outcome["colours"]["dark"])
        self.assertEqual(outcome["colours"]["auto"], outcome["colours"]["light"])
        narrow = self.act(self.page, width=400, dark=True)
        self.assertEqual(narrow["colours"]["auto"], outcome["colours"]["dark"])

    def test_without_scripts_it_has_all_values_and_it_prints(self):
        text = self.page.read_text()
        self.assertEqual(text.count("script-src 'unsafe-inline'"), 1, "its policy, by which scripts are forbidden here")
        self.page.write_text(text.replace("script-src 'unsafe-inline'", "script-src 'none'"))
        done = self.chromium(self.page.as_uri(), "--dump-dom")
        self.assertNotIn('class="tools"', done.stdout, "no button that does nothing")
        self.assertEqual(done.stdout.count('<tr id="p-'), len(self.rows()), "a row for each point")
        self.assertGreater(len(re.findall(r"<svg class=\"chart\"", done.stdout)), 0)
        self.assertGreater(done.stdout.count("<title>"), 9, "values of marks are in their titles")
        printed = self.page.with_suffix(".pdf")
        self.chromium(self.page.as_uri(), "--no-pdf-header-footer", f"--print-to-pdf={printed}")
        self.assertEqual(printed.read_bytes()[:5], b"%PDF-")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
