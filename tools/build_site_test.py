"""Tests build_site.py: pages as the generator gets them, and what it finds in built ones.

Usage: build_site_test.py
"""
import json
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import build_site  # noqa: E402


class SiteTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="deepgap-test-")
        self.root = pathlib.Path(self.folder.name).resolve()

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def test_lists_and_tables_get_their_blank_line(self):
        self.assertEqual(build_site.for_python_markdown("Text:\n- a\n- b\n  more\nText:\n| a |\n| - |\n"), "Text:\n\n- a\n- b\n  more\nText:\n\n| a |\n| - |\n")
        self.assertEqual(build_site.for_python_markdown("- a\n  - b\n- c\n"), "- a\n    - b\n- c\n")
        self.assertEqual(build_site.for_python_markdown("```\ntext\n- a\n```\n"), "```\ntext\n- a\n```\n")

    def test_links_to_what_the_site_has_not_become_text(self):
        page = self.write("docs/a.md", "")
        self.write("docs/b.md", "")
        self.write("docs/c.db", "")
        text = "[b](b.md#x) [c](c.db) [out](../README.md) [web](https://example.com) [here](#x)"
        self.assertEqual(build_site.plain_links(text, page, self.root / "docs"), "[b](b.md#x) c out [web](https://example.com) [here](#x)")

    def test_notebooks_become_pages_with_their_outputs(self):
        output = [{"output_type": "stream", "text": ["3\n"]}, {"output_type": "execute_result", "data": {"text/html": ["<table></table>"], "text/plain": ["x"]}}]
        cells = [{"cell_type": "markdown", "source": ["# Title\n", "[b](b.ipynb#x)"]}, {"cell_type": "code", "source": ["1 + 2"], "outputs": output}]
        self.write("docs/a.ipynb", json.dumps({"cells": cells}))
        self.write("docs/b.ipynb", json.dumps({"cells": []}))
        build_site.copy_pages(self.root / "docs", self.root / "site")
        page = "# Title\n[b](b.md#x)\n\n```python\n1 + 2\n```\n\n```text\n3\n```\n\n<div style=\"overflow-x: auto\"><table></table></div>\n"
        self.assertEqual((self.root / "site/a.md").read_text(), page)

    def test_broken_links_of_built_pages_are_found(self):
        self.write("index.html", '<a href="b/#x">b</a><a href="b/#none">b</a><a href="none/">n</a><img src="https://example.com/a.png">')
        self.write("b/index.html", '<h1 id="x">b</h1>')
        self.assertEqual(list(build_site.broken(self.root)), ["index.html: b/#none: no such heading", "index.html: none/ does not exist",
                                                        "index.html: loads https://example.com/a.png"])

    def test_the_menu_has_every_page_but_lab_notes(self):
        docs = build_site.ROOT / "docs"
        pages = {str(path.relative_to(docs).with_suffix(".md")) for path in docs.rglob("*") if path.suffix in (".md", build_site.NOTEBOOK)}
        menu = set(re.findall(r'= "([^"]+\.md)" }', (build_site.ROOT / "tools/site.toml").read_text()))
        self.assertEqual(menu - pages, set(), "pages that do not exist")
        missing = {page for page in pages - menu if not page.startswith("results/lab-notes/")}
        self.assertEqual(missing, set())


if __name__ == "__main__":
    unittest.main()
