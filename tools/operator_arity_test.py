#!/usr/bin/env python3
"""src/model/operator_arity.csv is what tools/operator_arity.py makes."""
import importlib.util
import pathlib
import unittest

from operator_arity import table

TABLE = pathlib.Path(__file__).parent.parent / "src/model/operator_arity.csv"


class OperatorArity(unittest.TestCase):
    def test_rows(self):
        rows = TABLE.read_text().splitlines()
        for row in ("BatchNormalization,9,xxxxx,x????", "Concat,13,+,x", "Constant,13,,x", "Loop,11,??*,+", "QLinearConv,10,xxxxxxxx?,x",
                    "com.microsoft.FusedConv,1,xx??,x", "com.microsoft.QLinearConcat,1,xx+,x"):
            self.assertIn(row, rows)

    @unittest.skipUnless(importlib.util.find_spec("onnx"), "the onnx package is not installed: pip install -r requirements-onnx.txt")
    @unittest.skipUnless(importlib.util.find_spec("onnxruntime"), "the onnxruntime package is not installed: pip install -r requirements.txt")
    def test_nothing_has_changed(self):
        self.assertEqual(TABLE.read_text(), table())


if __name__ == "__main__":
    unittest.main()
