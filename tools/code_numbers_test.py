#!/usr/bin/env python3
"""Tests tools/code_numbers.py on made-up sources."""
import unittest

from code_numbers import function_lengths, glossary_words, numbers

LONG = "void f() {\n" + "  g();\n" * 31 + "}\n"


class CodeNumbers(unittest.TestCase):
    def test_functions_are_measured_between_their_braces(self):
        text = LONG + "\nint h(int a,\n      int b) {\n  if (a) {\n    b();\n  }\n}\nclass A {\n  void inside() {\n    g();\n  }\n};\n"
        self.assertEqual(function_lengths(text), [31, 3, 1])

    def test_tests_are_not_the_product(self):
        texts = {"src/a/a.cpp": LONG, "src/a/a_test.cpp": LONG, "src/a/fake_x.h": LONG, "src/engine/gpu/kernels/k.cuh": "x\n"}
        counted = numbers(texts)
        self.assertEqual((counted["product lines"], counted["of them CUDA in files"], counted["functions over 30 lines"]), (34, 1, 1))

    def test_definitions_are_counted_once(self):
        text = "struct OptionInfo {\n};\nstruct OptionInfo;\nclass OptionTable {\n};\nA a_from_json(const Json& j);\nA a_from_json(const Json& j) {\n}\n"
        counted = numbers({"src/a/a.h": text, "docs/reference/glossary.md": "## W\n| word | meaning |\n| --- | --- |\n| a | b |\n| c | d |\n"})
        self.assertEqual(counted["types that declare options"], 2)
        self.assertEqual(counted["readers of JSON (*_from_json)"], 1)
        self.assertEqual(counted["words in the glossary"], 2)

    def test_rows_of_a_glossary(self):
        self.assertEqual(glossary_words("## A\n| word | meaning |\n| --- | --- |\n| a | b |\n## B\n| a | b |\n"), {"A": 1, "B": 1})


if __name__ == "__main__":
    unittest.main()
