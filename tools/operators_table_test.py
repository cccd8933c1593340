#!/usr/bin/env python3
"""tools/operators_table.py on answers written by hand."""
import unittest

from operators_table import table


def test(operator, opset=17, **precisions):
    return {"operator": operator, "opset": str(opset), **precisions}


class OperatorsTable(unittest.TestCase):
    def test_cells(self):
        text = table({"a": [test("Conv", fp32="ran", bf16="ran"), test("Conv depthwise", fp32="ran", bf16="a refuses in bf16: no"),
                            test("Clip", 10, fp32="ran")],
                      "b": [test("Conv", fp32="ran"), test("Conv depthwise", fp32="b refuses in fp32: no"), test("Clip", 10, fp32="no")]})
        self.assertEqual(text.splitlines(), ["| operator | opset | a | b |", "| --- | --- | --- | --- |", "| Clip | 10 | fp32 | refused |",
                                             "| Conv | 17 | fp32 | fp32 (refused: Conv depthwise) |"])


if __name__ == "__main__":
    unittest.main()
