#!/usr/bin/env python3
"""Tests which sources join_groups.py keeps apart."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import join_groups


def unnamed(text):
    return "namespace deepgap {\nnamespace {\n" + text + "\n}  // namespace\n}  // namespace deepgap\n"


class JoinGroups(unittest.TestCase):
    def together(self, first, second):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number, text in enumerate((first, second)):
                paths.append(str(pathlib.Path(folder) / f"{number}.cpp"))
                pathlib.Path(paths[-1]).write_text(text, encoding="utf-8")
            return len(join_groups.groups_of(paths, 8)) == 1

    def test_sources_of_other_names_are_joined(self):
        self.assertTrue(self.together(unnamed("int one() { return 1; }"), unnamed("constexpr double left = 2, right = 3;")))

    def test_a_name_that_both_define(self):
        for both in ("int width() { return 1; }", "struct Row {\n  int a = 0;\n};", "constexpr double left = 190, width = f(1, 2);", "using Work = int;",
                     "const char* const width = \"x\";", "template <typename T>\nT width(T x) {\n  return x;\n}", "#define WIDTH 1"):
            self.assertFalse(self.together(unnamed(both), unnamed(both)), both)
        self.assertFalse(self.together(unnamed("constexpr int a = 1, width = 2;"), unnamed("int width(int x) { return x; }")), "the second of a line")
        self.assertFalse(self.together("static int width() { return 1; }\n", "static int width() { return 2; }\n"))

    # A driver's check(int) stood beside a compiler's check(int, const char*), which took literals better.
    def test_a_name_that_one_defines_and_the_other_calls_or_has_for_a_type(self):
        own = unnamed("void check(int result, const char* what) {}")
        self.assertFalse(self.together(own, unnamed("void load() { check(open(), \"loading\"); }")))
        self.assertTrue(self.together(own, unnamed("void load(File& file) { file.check(1); }")), "another's member")
        self.assertFalse(self.together(unnamed("using Work = int;"), "Roof roof_of(const Work& work) { return {}; }\n"))

    def test_tests_of_one_name(self):
        self.assertFalse(self.together("TEST(Suite, Name) {}\n", "TEST(Suite, Name) {}\n"))
        self.assertTrue(self.together("TEST(Suite, Name) {}\n", "TEST(Suite, Other) {}\n"))

    def test_what_is_no_name_of_the_source(self):
        self.assertTrue(self.together("int Widget::width() { return 1; }\n", unnamed("void Row::width() {}")), "members have a class")
        self.assertTrue(self.together(unnamed("// int width()\nint one() { return 1; }"), unnamed("const char* text = \"int width() {\"; ")))

    def test_a_group_has_at_most_so_many(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(pathlib.Path(folder) / f"{number}.cpp") for number in range(5)]
            for path in paths:
                pathlib.Path(path).write_text("", encoding="utf-8")
            self.assertEqual([len(group[2]) for group in join_groups.groups_of(paths, 2)], [2, 2, 1])


if __name__ == "__main__":
    unittest.main()
