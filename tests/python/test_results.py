"""Results: frames, selections, comparisons, reports, HTML."""
import datetime
import html.parser
import pathlib
import subprocess

import pandas
import pytest
from conftest import PROGRAM

import deepgap


def test_frames_are_the_export(measured):
    frame = measured.frame()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 4 and len(measured.frame(by="record")) == 12
    header = subprocess.run([PROGRAM, "export", str(measured.stores[0]), "--by", "point"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    assert list(frame.columns) == header.split(",")
    fast = frame[frame["options"].str.contains("latency=1ms") & (frame["batch"] == 8)].iloc[0]
    assert fast["throughput"] == pytest.approx(8000, rel=0.01) and fast["throughput_ci_low"] < fast["throughput"] < fast["throughput_ci_high"]
    assert fast["repeats"] == 3 and pandas.isna(fast["power_w"])
    assert len(measured.timings()) == 12 * 200


def test_polars(measured):
    polars = pytest.importorskip("polars", reason="polars is not in .venv; ./check --full installs it")
    frame = measured.frame("polars")
    assert isinstance(frame, polars.DataFrame) and frame.shape == measured.frame().shape
    assert frame["throughput"].dtype == polars.Float64


def test_selections_narrow(measured):
    assert len(measured.select(batch=8)) == 2
    both = measured.select(batch=[8, 16]).select("latency=1ms")
    assert len(both) == 2 and len(both.select(batch=16)) == 1
    assert len(measured.select(since="2026-01-01", until=datetime.datetime(2200, 1, 1))) == 4
    assert "batch=8" in repr(measured.select(batch=8))
    with pytest.raises(deepgap.UsageError, match="no record since 2200-01-01"):
        measured.select(since="2200-01-01")


def test_comparisons_are_those_of_the_program(measured):
    found = measured.select("latency=2ms").compare(measured.select("latency=1ms"), margin="1%")
    assert [pair["verdict"] for pair in found] == ["faster", "faster"]
    assert found.pairs[0]["ratio"] == pytest.approx(2, rel=0.02) and found.pairs[0]["low"] > 1.9
    assert found.metric == "throughput" and found.gate is None and len(found.frame()) == 2
    gate = measured.select("latency=1ms").compare(measured.select("latency=2ms"), fail_if_slower="2%")
    assert gate.gate == "slower" and gate.exit_code == 1
    assert "2 pairs" in repr(gate) and "faster" not in gate._repr_html_()


def test_comparisons_of_two_stores(measured, tmp_path):
    copy = tmp_path / "copy.db"
    subprocess.run([PROGRAM, "export", str(measured.stores[0]), "--format", "db", "--output", str(copy)], check=True, capture_output=True)
    found = deepgap.open(measured.stores[0]).compare(deepgap.open(copy))
    assert len(found) == 4 and found.only_a == found.only_b == 0 and {pair["ratio"] for pair in found} == {1.0}


def test_reports(measured, tmp_path):
    page = measured.select(batch=8).report(tmp_path / "r.html", title="A <title>")
    assert page == tmp_path / "r.html" and "A &lt;title&gt;" in page.read_text()
    assert measured.report(tmp_path / "r.md").read_text().startswith("#")
    assert measured.report().name == "measured.html"


def test_sql_reads_the_views(measured):
    frame = measured.sql("SELECT count(*) AS records FROM v1_records WHERE batch = ?", (8,))
    assert frame["records"].tolist() == [6]
    assert list(measured.sql("SELECT record_id, metric FROM v1_metrics WHERE metric = 'none'").columns) == ["record_id", "metric"]
    with pytest.raises(deepgap.UsageError, match="no such table: v9"):
        measured.sql("SELECT * FROM v9")
    with pytest.raises(deepgap.UsageError, match="readonly"):
        measured.sql("DELETE FROM runs")


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_tables_for_jupyter_have_no_scripts(measured):
    text = measured._repr_html_()
    tags = Tags(text)
    assert tags.open == [] and tags.seen.count("tr") == 5 and "script" not in tags.seen
    assert "no target" in text and "as_found" not in text


def test_tables_escape_what_stores_hold(measured):
    from deepgap import _html

    assert "&lt;script&gt;" in _html.table(["a"], [["<script>"]], "c<d")
    assert "&lt;d" in _html.table(["a"], [["x"]], "c<d")
    many = _html.table(["a"], [[str(i)] for i in range(60)], "c")
    assert many.count("<tr>") == 51 and "10 more rows" in many


@pytest.mark.parametrize(("value", "text"), [(None, ""), (0, "0"), (1234567.0, "1,234,567"), (0.0000123, "0.0000123"), (12.3456, "12.35"), (float("nan"), "nan")])
def test_numbers_have_no_exponents(value, text):
    from deepgap import _html

    assert _html.number(value) == text


def test_points_keep_their_types(measured):
    point = measured.points[0]
    assert isinstance(point["batch"], int) and isinstance(point["throughput"], float) and point["power_w"] is None and point["unchecked"] is False
    assert isinstance(measured.stores[0], pathlib.Path)
