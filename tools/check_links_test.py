"""Tests check_links.py on pages made for it.

Usage: check_links_test.py
"""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_links  # noqa: E402


class CheckLinksTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="deepgap-test-")
        self.root = pathlib.Path(self.folder.name).resolve()
        self.write("docs/other.md", "# Other page\n\n## A `--flag`, and more\n\n## Twice\n\n## Twice\n")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def problems(self, text):
        self.write("docs/page.md", text)
        return check_links.problems(self.root)

    def test_links_that_are_there_are_accepted(self):
        self.write("docs/picture.svg", "<svg/>")
        self.assertEqual(self.problems("# Page\n[a](other.md) [b](other.md#a---flag-and-more) [c](#page) [d](other.md#twice-1) ![e](picture.svg)\n"
                                       '<img src="picture.svg">\n[f](https://example.com/none) [g]\n\n[g]: other.md\n'), [])

    def test_a_missing_file_is_named_with_its_line(self):
        self.assertEqual(self.problems("# Page\n\n[a](none.md)\n"), ["docs/page.md:3: 'none.md' does not exist"])

    def test_a_missing_anchor_is_named(self):
        self.assertEqual(self.problems("[a](other.md#none)\n"), ["docs/page.md:1: 'other.md#none': the page has no heading '#none'"])
        self.assertEqual(len(self.problems("[a](#none)\n")), 1)
        self.assertEqual(len(self.problems("[a](other.md#twice-2)\n")), 1)

    def test_pictures_and_definitions_are_checked(self):
        for text in ("![a](none.svg)", '<img src="none.svg">', '<source srcset="none.svg">', "[a]\n\n[a]: none.md", "[a [b]](none.md)",
                     "[![a](docs/none.png)](other.md)"):
            self.assertEqual(len(self.problems(text + "\n")), 1, text)

    def test_links_out_of_the_repository_are_named(self):
        self.assertIn("leads out of the repository", self.problems("[a](../../../etc/passwd)\n")[0])

    def test_code_is_passed_over(self):
        self.assertEqual(self.problems("```\n[a](none.md)\n# Heading\n```\n`[b](none.md)` ``[c](none.md) ` ``\n"), [])
        self.assertEqual(len(self.problems("```\n# Heading\n```\n[a](#heading)\n")), 1)

    def test_a_source_that_names_a_missing_page_is_found(self):
        self.write("docs/page.md", "# Page\n")
        self.write("src/a.cpp", "// docs/page.md has it.\n\n// docs/none.md has it.\n")
        self.assertEqual(check_links.problems(self.root), ["src/a.cpp:3: names docs/none.md, which does not exist"])


if __name__ == "__main__":
    unittest.main()
