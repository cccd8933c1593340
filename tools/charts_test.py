#!/usr/bin/env python3
"""tools/charts.py and svg_chart.py: what they compute and draw, without the program."""
import math
import pathlib
import sys
import tempfile
import unittest
import xml.dom.minidom

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import charts
import svg_chart

TABLE = """# device: NVIDIA H100 80GB HBM3
# driver: 1.2
# pytorch: 2.11
# deepgap: deepgap 0.1.0
# date: 2026-01-01
# command: python3 bench/peers/showcase.py
round,engine,model,precision,batch,items_per_s,verdict,started
1,deepgap native,resnet50,fp16,1,400,valid,2026-01-01T00:00:00Z
1,PyTorch eager,resnet50,fp16,1,100,,2026-01-01T00:00:01Z
2,PyTorch eager,resnet50,fp16,1,121,,2026-01-01T00:00:02Z
2,deepgap native,resnet50,fp16,1,484,unstable,2026-01-01T00:00:03Z
"""


def texts(svg):
    return [node.firstChild.data for node in xml.dom.minidom.parseString(svg).getElementsByTagName("text")]


class ChartsTest(unittest.TestCase):
    def test_mean_and_interval_are_of_logarithms(self):
        mean, low, high = charts.geometric([100, 121])
        self.assertAlmostEqual(mean, 110)
        half = 12.706 * math.log(1.21) / 2  # two values, one degree of freedom: half their distance is the standard error
        self.assertAlmostEqual(low, 110 * math.exp(-half), 6)
        self.assertAlmostEqual(high, 110 * math.exp(half), 6)
        self.assertEqual(charts.geometric([7])[1:], (None, None))

    def test_a_measured_showcase_is_drawn_with_its_verdicts(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.csv")
            path.write_text(TABLE, encoding="utf-8")
            title, panels, footnotes = charts.measured_showcase(path)
        self.assertEqual(title, "ResNet-50, FP16, NVIDIA H100 80GB HBM3: images/s, more is better")
        [(heading, bars)] = panels
        self.assertEqual(heading, "batch 1")
        self.assertEqual([bar[0] for bar in bars], ["deepgap native", "PyTorch eager"])
        self.assertAlmostEqual(bars[0][2], 440)
        self.assertIn("2 interleaved rounds", footnotes[0])
        self.assertIn("1 of 2 native windows valid", footnotes[0])
        drawn = texts(svg_chart.bar_panels(title, panels, footnotes, svg_chart.DARK))
        self.assertIn("440", drawn)
        self.assertIn(title, drawn)

    def test_a_theme_that_follows_the_reader_has_both_palettes(self):
        svg = svg_chart.bar_panels("a", [("b", [("c", 0, 1.0, None, None)])], ())
        self.assertIn("prefers-color-scheme: dark", svg)
        self.assertIn(svg_chart.DARK["text"], svg)
        self.assertNotIn("prefers-color-scheme", svg_chart.bar_panels("a", [("b", [("c", 0, 1.0, None, None)])], (), svg_chart.LIGHT))

    def test_labels_are_escaped_and_numbers_have_three_or_four_digits(self):
        self.assertIn("a<b & c", texts(svg_chart.forest("a<b & c", [("x", 1.2, 1.1, 1.3)], (), "ratio")))
        self.assertEqual([svg_chart.short(value) for value in (0.25, 2.8, 99.04, 999.6, 83519)], ["0.25", "2.8", "99", "1,000", "83,519"])

    def test_lines_of_one_chart_share_their_axes(self):
        svg = svg_chart.log_lines("t", "x", "y", [("one", 0, False, [(1, 10, None, None), (8, 80, 70, 90)]), ("two", 1, True, [(1, 11, None, None), (8, 81, None, None)])], ("note",))
        drawn = texts(svg)
        self.assertIn("one", drawn)
        self.assertIn("note", drawn)


if __name__ == "__main__":
    unittest.main()
