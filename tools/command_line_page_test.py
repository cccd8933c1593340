#!/usr/bin/env python3
"""tools/command_line_page.py with a fake program."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).with_name("command_line_page.py")
PROGRAM = """#!/bin/sh
case "$1" in
  --help) printf 'Usage\\n\\nMeasure:\\n  run      Measures\\n  tune     Tunes\\n' ;;
  *) printf '%s\\n' "help of $1, trailing blanks   " ;;
esac
"""
PAGE = """# Page
<!-- help -->
<!-- end of help -->
## run
note
<!-- help of run -->
old
<!-- end of help of run -->
<!-- help of tune -->
<!-- end of help of tune -->
"""


class CommandLinePage(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.page, self.program = pathlib.Path(self.folder.name) / "page.md", pathlib.Path(self.folder.name) / "program"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        self.page.write_text(PAGE)

    def run_tool(self, action):
        return subprocess.run([sys.executable, TOOL, action, "--program", self.program, "--page", self.page], capture_output=True, text=True)

    def test_write_makes_the_page_current(self):
        stale = self.run_tool("check")
        self.assertEqual(stale.returncode, 1)
        self.assertIn("is not current", stale.stderr)
        self.assertEqual(self.page.read_text(), PAGE)
        self.assertEqual(self.run_tool("write").returncode, 0)
        text = self.page.read_text()
        self.assertIn("note\n<!-- help of run -->\n```text\nhelp of run, trailing blanks\n```\n<!-- end of help of run -->\n", text)
        self.assertNotIn("old", text)
        self.assertEqual(self.run_tool("check").returncode, 0)

    def test_a_command_without_a_place_is_named(self):
        self.page.write_text(PAGE.replace("<!-- help of tune -->\n<!-- end of help of tune -->\n", ""))
        done = self.run_tool("write")
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no lines '<!-- help of tune -->'", done.stderr)

    def test_a_place_without_a_command_is_named(self):
        self.page.write_text(PAGE + "<!-- help of gone -->\n<!-- end of help of gone -->\n")
        done = self.run_tool("check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("'help of gone'", done.stderr)


if __name__ == "__main__":
    unittest.main()
