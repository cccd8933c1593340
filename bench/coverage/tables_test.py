"""tables.py: files and page hold what the program prints, and `check` fails where they do not. The program is a fake that prints two small tables."""
import contextlib
import io
import pathlib
import stat
import tempfile
import unittest

import tables

PRINTED = """First, 2000 a row
| series | covers, % | half-width, % | covers less, % | half-width, % |
| --- | --- | --- | --- | --- |
| white, cv 1 % | 95.0 | 1.0 | 80.0 | 2.0 |
| red | 94.0 | 1.5 | {red} | 2.5 |

Second
| a | b |
| --- | --- |
| 1 | x |
"""
PAGE = """# Page
<!-- coverage part 1
columns: series; covers less, %;
half-width, % (2)
rows: red -->
old
<!-- end of coverage -->
Text.
"""


class TablesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="deepgap-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.page = self.folder / "page.md"
        self.page.write_text(PAGE)
        self.program("81.0")
        self.assertEqual(self.run_tables("write"), (0, ""))

    def program(self, red, part="part"):
        (self.folder / "printed").write_text(PRINTED.format(red=red))
        program = self.folder / "program"
        program.write_text(f'#!/bin/sh\n[ "$1" = parts ] && echo {part} || cat {self.folder}/printed\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def run_tables(self, what):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            series = ["--series", "12"] if what == "check" else []  # whatever DEEPGAP_LONG_TESTS says
            code = tables.main([what, *series, "--page", str(self.page), "--program", str(self.folder / "program")])
        return code, printed.getvalue()

    def test_files_hold_everything_and_the_page_what_it_names(self):
        self.assertEqual((self.folder / "page/part-1.csv").read_text().splitlines()[0],
                         'series,"covers, %","half-width, %","covers less, %","half-width, % (2)"')
        self.assertEqual((self.folder / "page/index.csv").read_text(),
                         'table,series,caption\npart-1.csv,2000,"First, 2000 a row"\npart-2.csv,2000,Second\n')
        text = self.page.read_text()
        self.assertIn("First, 2000 a row. [All rows and columns](page/part-1.csv):\n\n| series | covers less, % | half-width, % |\n"
                      "| --- | --- | --- |\n| red | 81.0 | 2.5 |\n<!-- end of coverage -->\nText.\n", text)
        self.assertNotIn("white", text)
        self.assertEqual(self.run_tables("check"), (0, "2 tables agree\n"))

    def test_one_series_among_few_is_no_difference(self):
        self.program("100.0")
        self.assertEqual(self.run_tables("write"), (0, ""))
        self.program("91.7")
        self.assertEqual(self.run_tables("check"), (0, "2 tables agree\n"))
        self.program("50.0")
        self.assertEqual(self.run_tables("check")[0], 1)

    def test_check_finds_another_share_but_not_another_width(self):
        self.program("5.0")
        code, printed = self.run_tables("check")
        self.assertEqual(code, 1)
        self.assertIn("part-1: red: covers less, %: 81.0 in the file, 5.0 of 12.0 series printed", printed)

    def test_check_finds_a_page_that_was_changed(self):
        self.page.write_text(self.page.read_text().replace("81.0", "91.0"))
        code, printed = self.run_tables("check")
        self.assertEqual(code, 1)
        self.assertIn("its blocks differ from the files", printed)

    def test_check_finds_other_rows_and_parts(self):
        (self.folder / "printed").write_text(PRINTED.format(red="81.0").replace("| red", "| blue"))
        self.assertIn("part-1: rows ['series', 'white, cv 1 %', 'red'] in the file", self.run_tables("check")[1])
        self.program("81.0", part="other")
        self.assertIn("other: no table of it in", self.run_tables("check")[1])
        self.assertIn("other: no block of it on", self.run_tables("check")[1])

    def test_a_column_or_row_that_is_not_there_is_named(self):
        for old, new, message in (("covers less, %;", "covers more, %;", "there is no column 'covers more, %'"), ("rows: red", "rows: green", "there is no row 'green'"),
                                  ("coverage part 1", "coverage part 3", "there is no table part-3")):
            self.page.write_text(PAGE.replace(old, new))
            with self.assertRaisesRegex(SystemExit, message):
                self.run_tables("page")


if __name__ == "__main__":
    unittest.main()
