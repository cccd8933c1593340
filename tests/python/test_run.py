"""deepgap.run: keyword arguments, what it returns, progress."""
import datetime
import pathlib
import subprocess

import numpy
import pytest
from conftest import MODEL, PROGRAM, TINY, VIRTUAL

import deepgap
from deepgap import _call, _flags, _process
from deepgap._progress import Bar, Lines, Silent, progress


def test_lists_are_axes_and_the_results_are_those_of_this_run(tmp_path, cache):
    fixed = {"axis": VIRTUAL, "iterations": 20, "warmup": 1, "cache": cache, **TINY}
    first = deepgap.run(MODEL, batch=[2, 1], **fixed)
    assert [point["batch"] for point in first] == [2, 1], "in the order that was asked for"
    assert first.stores == (pathlib.Path("deepgap.db"),) and first.failures == [] and not first.interrupted
    second = deepgap.run(MODEL, batch=4, **fixed)
    assert [point["batch"] for point in second] == [4], "the store has the first run's points too"
    assert len(deepgap.open("deepgap.db")) == 3
    resumed = deepgap.run(MODEL, batch=[2, 4], resume=True, **fixed)
    assert [point["batch"] for point in resumed] == [2, 4] and resumed.summary["records"] == 0


def test_points_that_fail_are_results(tmp_path, cache):
    results = deepgap.run(MODEL, axis={**VIRTUAL, "refuse": "not today"}, cache=cache, **TINY)
    assert results.points[0]["outcome"] == "refused" and "not today" in results.failures[0]["result"]
    assert "refused: " in results._repr_html_()


def test_a_plan_measures_nothing(tmp_path, cache):
    plan = deepgap.plan(MODEL, batch=[1, 2], axis=VIRTUAL, cache=cache, **{name: value for name, value in TINY.items() if name != "progress"})
    assert [point["point"]["batch"] for point in plan["points"]] == [1, 2]
    assert not pathlib.Path("deepgap.db").exists()


@pytest.mark.parametrize(
    ("keywords", "line"),
    [
        ({"batch": [1, 8]}, ["--batch=1,8"]),
        ({"batch": range(1, 4)}, ["--batch=1,2,3"]),
        ({"batch": numpy.array([1, 2])}, ["--batch=1,2"]),
        ({"batch_size": numpy.int64(4)}, ["--batch-size=4"]),
        ({"rate": 0.1}, ["--rate=0.1"]),
        ({"quick": True, "strict": False, "study": None}, ["--quick"]),
        ({"check": False}, ["--check=off"]),
        ({"duration": datetime.timedelta(seconds=1.5)}, ["--duration=1500ms"]),
        ({"weights": pathlib.Path("w.safetensors")}, ["--weights=w.safetensors"]),
        ({"axis": {"pin": True, "native.path": ["fast", "plain"]}}, ["--axis=pin=on", "--axis=native.path=fast,plain"]),
        ({"axis": "pin=on"}, ["--axis=pin=on"]),
        ({"shape": {"x": ["N", 3, 8], "y": (None, 4)}}, ["--shape=x:Nx3x8", "--shape=y:Nx4"]),
        ({"shape": ["x:1x3", "y:2"]}, ["--shape=x:1x3", "--shape=y:2"]),
        ({"input": {"k": 5, "sizes": [1, 3]}}, ["--input=k=5", "--input=sizes=1,3"]),
        ({"tenant": [{"model": "a", "rate": 20}, "model=b"]}, ["--tenant=model=a,rate=20", "--tenant=model=b"]),
    ],
)
def test_keywords_become_flags(keywords, line):
    assert _flags.arguments("run", keywords) == line


def test_every_flag_of_the_program_is_a_keyword():
    """Completion is made of the same tables as the help: it lists all flags, and those that take a value."""
    script = subprocess.run([PROGRAM, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    for command in ("run", "compare", "report"):
        of_command = script.split(f"\n    {command})\n", 1)[1].split("\n      flags='", 1)
        with_value = {name for line in of_command[0].splitlines() if ") " in line for name in line.strip().split(") ")[0].split("|") if name.startswith("--")}
        names = {name for name in of_command[1].split("'", 1)[0].split() if name.startswith("--") and name != "--help"}
        flags = {flag.name: flag for flag in _flags.flags_of(command).values()}
        assert len(names) > 10 and names <= set(flags)
        assert {name for name in names if flags[name].value} == with_value


LINES = b"""{"event":"begin","total":2}
{"event":"note","text":"the machine is busy"}
{"done":"5 batches","event":"phase","left_s":6.2,"number":1,"phase":"steady","point":"net null","total":2}
{"event":"record","left_s":3.0,"number":1,"point":"net null","result":"fine","total":2}
deepgap: note: runs are short
deepgap: internal error: no luck
{"a": 1}
{"event":"record","left_s":null,"number":2,"point":"other [1/1] {\\"a\\": 1}","result":"crashed","total":2}"""


def test_progress_as_a_bar_and_as_lines(capsys, tmp_path):
    (tmp_path / "lines").write_bytes(LINES + b"\n")
    events, messages = [], []
    with open(tmp_path / "lines", "rb") as file:
        _process._read(file, events.append, messages)
    assert messages == LINES.decode().splitlines(), "an error is looked for in all of them"
    assert [(event.number, event.total, event.phase) for event in events] == [
        (None, None, ""), (None, 2, "steady"), (1, 2, ""), (None, None, ""), (None, None, ""), (2, 2, "")]
    for event in events:
        Lines()(event)
    assert capsys.readouterr().err == (
        'the machine is busy\n[1/2] net null: fine, about 3 s left\ndeepgap: note: runs are short\n{"a": 1}\n[2/2] other [1/1] {"a": 1}: crashed\n')
    bar = progress(True)
    assert isinstance(bar, Bar) and isinstance(progress(False), Silent)
    for event in events[:2]:
        bar(event)
    shown = capsys.readouterr().err
    assert "| 0/2 [" in shown and "net null: steady 5 batches, about 6 s left" in shown
    for event in events[2:]:
        bar(event)
    bar.close()
    shown = capsys.readouterr().err
    assert "[1/2] net null: fine" in shown and "| 2/2 [" in shown


def test_progress_comes_from_the_program(tmp_path, cache, capsys):
    deepgap.run(MODEL, batch=[1, 2], axis=VIRTUAL, iterations=20, warmup=1, cache=cache, **{**TINY, "progress": "auto"})
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("[")]
    assert len(lines) == 2 and lines[1].startswith("[2/2] resnet18") and "items/s" in lines[1]


def test_a_progress_bar_that_fails_does_not_leave_the_program_running(tmp_path, cache, monkeypatch):
    ended = []

    class Watched(subprocess.Popen):
        def wait(self, *args, **kwargs):
            ended.append(super().wait(*args, **kwargs))
            return ended[-1]

    monkeypatch.setattr("deepgap._process.subprocess.Popen", Watched)

    def fails(event):
        raise RuntimeError("the bar broke")

    command = [str(_call.program()), "run", MODEL, "--backend=null", "--batch=1,2", "--duration=1s", "--shape=input:Nx3x32x32", "--cache", cache, "--json"]
    with pytest.raises(RuntimeError, match="the bar broke"):
        _process.follow(command, _call.environment(), fails)
    assert ended == [130]
