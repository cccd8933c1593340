#!/usr/bin/env python3
"""Tests what prose_lint.py finds, and what it leaves alone."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import prose_lint


def in_page(text):
    return [f"{line}: {message}" for line, message in prose_lint.check_page(text)]


def in_source(text):
    return [f"{line}: {message}" for line, message in prose_lint.check_source(text)]


LONG = "The program " + "very " * 29 + "fast."


class Pages(unittest.TestCase):
    def test_banned_words_and_patterns(self):
        for text in ("abc is no number.", "Results are none.", "It is told here.", "The duel ended.", "The ceiling is 3.", "CI ±6.8e+02% wide.", "They cannot be told.",
                     "It is a matrix product.", "The room is small.", "Whose turn it is.", "What it measures.", "**Of the order.**", "# Who runs it"):
            self.assertTrue(in_page(text), text)

    def test_plain_english_passes(self):
        for text in ("There is no GPU.", "It is no longer slow.", "abc is not a number.", "What does it measure?", "deepgap reports the time.", "CI ±680 % wide.", "Use `--duel` for it.",
                     "`deepgap ceilings` measures peaks.", "A classroom has headroom.", "See [the page](docs/duel.md)."):
            self.assertEqual(in_page(text), [], text)

    def test_a_pattern_over_two_lines_is_found_where_it_begins(self):
        self.assertIn("2: ", in_page("First line.\nThis is\nno good.")[0])

    def test_long_sentences(self):
        self.assertIn("a sentence of 32 words", in_page(LONG)[0])
        self.assertEqual(in_page(LONG.replace("very very very", "very.") + " More."), [])
        self.assertEqual(in_page("It takes time, e.g. " + "two " * 10 + "seconds. " + "It " + "waits " * 20 + "here."), [])

    def test_an_abbreviation_does_not_end_a_sentence(self):
        self.assertTrue(in_page("It takes " + "some " * 15 + "time vs. " + "some " * 15 + "other."))

    def test_long_lines(self):
        line = "Short one. " * 20
        self.assertIn("a line of", in_page(line)[0])
        self.assertEqual(in_page("| " + line + " |"), [])

    def test_code_is_left_alone(self):
        self.assertEqual(in_page("```\nabc is no number\n" + "x " * 150 + "\n```\n"), [])
        self.assertEqual(in_page("- An item:\n  ```sh\n  deepgap is no duel\n  ```\n"), [])
        self.assertEqual(in_page("<!-- it is no prose -->\n\nText.\n"), [])
        self.assertEqual(in_page("````\n```\nis no\n```\nis no\n````\n"), [])
        self.assertEqual(in_page("Text:\n\n    this is no code\n"), [])
        self.assertTrue(in_page("- Item.\n\n    This is no code.\n"), "the second paragraph of an item is prose")
        self.assertTrue(in_page("```\ncode\n```\nThis is no code."), "prose after a block is prose")

    def test_cells_and_items_are_sentences_of_their_own(self):
        self.assertEqual(in_page("| " + "a b c d e | " * 10 + "\n"), [])
        self.assertEqual(in_page("".join(f"- item {number} of the list\n" for number in range(20))), [])
        self.assertTrue(in_page("| a | is no b |\n"))


class Sources(unittest.TestCase):
    def test_literals(self):
        self.assertIn("2: ", in_source('int x;\nauto y = "\'x\' is no number";')[0])
        self.assertTrue(in_source('f("this is "\n  "no number");'), "adjacent literals are one")
        self.assertEqual(in_source('f("this is it", "no number");'), [])
        self.assertEqual(in_source("// this is no literal, \"it is told\"\n/* is no */ char c = '\"'; // is no\n"), [])
        self.assertEqual(in_source('auto x = R"(this is no prose)";'), [])

    def test_formats(self):
        for text in ('"wide {:.2g}% or so"', '"wide {:.3g} % of it"', '"of {:g} %"', '"1.2 +-{:.2f} ms"'):
            self.assertTrue(in_source(f"f({text});"), text)
        self.assertEqual(in_source('f("wide {} of {:.1f} % it");'), [])

    def test_a_list_of_names_is_not_a_sentence(self):
        self.assertEqual(in_source('f("' + "Conv Relu " * 30 + '");'), [])


class Comments(unittest.TestCase):
    def test_a_comment_does_not_begin_with_of(self):
        source = ("// Of a batch, seconds.\nint a;\nint b;    // of one sample\n///< Of c\nint c;\n"
                  "int long_name; // of one sample\nint d;         // of another\n    // Of the next line, which is not a continuation\n")
        self.assertEqual([line for line, _ in prose_lint.check_comments(source)], [1, 3, 4, 6, 7, 8])

    def test_other_comments_pass(self):
        source = ("// Returns the seconds\n// of a batch.\nint a = 1;  // seconds\n            // of one batch\n"
                  "auto b = \"// Of a text\"; f(/*of*/ 1);\nauto c = R\"(// Of raw text)\";\n// Offers the load; often.\n// Often.\n")
        self.assertEqual(list(prose_lint.check_comments(source)), [])


class Docstrings(unittest.TestCase):
    def test_fragments(self):
        source = '"""What tests share."""\n\n\ndef a():\n    """Of the whole."""\n\n\nclass B:\n    """As made."""\n'
        self.assertEqual([line for line, _ in prose_lint.check_docstrings(source)], [1, 5, 9])

    def test_sentences_pass(self):
        self.assertEqual(list(prose_lint.check_docstrings('"""Tests what is shared."""\n\n\ndef a():\n    "Assumes nothing."\n    return """Of text"""\n')), [])


class Help(unittest.TestCase):
    def test_descriptions(self):
        found = [message for _, message in prose_lint.check_help("Usage: x\n\nOptions:\n  -a,--all TEXT     Of all that is there\n  -b                Write it\n                    and it is\n"
                                                                "                    no number at all\n\nExamples:\n  x  is no prose\n")]
        self.assertEqual(len(found), 2, found)


class Files(unittest.TestCase):
    def test_a_change_is_said_in_fifteen_words(self):
        entry = "- " + "word " * 15
        self.assertEqual(list(prose_lint.check_changelog("# Title of more than fifteen words " + "word " * 15 + "\n" + entry)), [])
        self.assertEqual([line for line, _ in prose_lint.check_changelog(f"{entry}\n{entry} more")], [2])

    def test_only_listed_files_are_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs" / "old").mkdir(parents=True)
            (root / "src").mkdir()
            for name in ("README.md", "docs/a.md", "docs/old/b.md"):
                (root / name).write_text("This is no page.\n", encoding="utf-8")
            (root / "src" / "a.cpp").write_text('auto a = "this is no number";\n', encoding="utf-8")
            (root / "src" / "a_test.cpp").write_text('auto a = "this is no number";\n', encoding="utf-8")
            (root / "include").mkdir()
            (root / "include" / "a.h").write_text("int a;  // of a batch\n", encoding="utf-8")
            (root / "todo.txt").write_text("# why\ndocs/a.md\ndocs/old/\nsrc/gone.cpp\n", encoding="utf-8")
            output, errors = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
                code = prose_lint.main([], root, root / "todo.txt")
            self.assertEqual(code, 1)
            self.assertEqual([line.split(":")[0] for line in output.getvalue().splitlines()], ["README.md", "include/a.h", "src/a.cpp"])
            self.assertIn("src/gone.cpp can be removed", errors.getvalue())
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
                self.assertEqual(prose_lint.main([str(root / "docs" / "a.md")], root, root / "todo.txt"), 1, "a file that is named is checked")


if __name__ == "__main__":
    unittest.main()
