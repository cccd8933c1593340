"""The Python API over the real program, on the scripted engine, whose times are given. Run by pytest with DEEPGAP_PROGRAM and PYTHONPATH=python."""
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

import deepgap

SCRIPTED = {"backend": "null", "iterations": 20, "check": "off", "progress": False}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def results():
    return deepgap.run("resnet18", batch=[1, 2], repeats=3, **SCRIPTED)


def test_run_gives_the_points_of_this_run_alone(results):
    assert len(results) == 2
    assert {point["batch"] for point in results} == {1, 2}
    assert all(point["outcome"] == "ok" for point in results)
    again = deepgap.run("resnet18", batch=4, **SCRIPTED)
    assert [point["batch"] for point in again] == [4]
    assert len(deepgap.open("deepgap.db")) == 3
    assert len(results.records()) == 6


def test_keywords_are_flags_of_every_kind(tmp_path):
    results = deepgap.run(["resnet18", "mobilenet_v2"], backend=["null"], scenario="single-stream", axis={"latency": ["2ms", "3ms"]}, duration="100ms",
                          check=False, quiet=True, store=tmp_path / "other.db", progress=False)
    assert len(results) == 4
    assert {point["latency"] for point in results} == {"2ms", "3ms"}
    assert results.stores == [tmp_path / "other.db"]


def test_frames(results):
    frame = results.frame()
    assert list(frame["batch"].sort_values()) == [1, 2]
    assert (frame["throughput"] > 0).all()
    assert len(results.frame(by="record")) == 6
    assert len(results.frame(by="timing")) == 6 * 20
    with pytest.raises(ValueError, match="expected pandas or polars"):
        results.frame("dask")
    with pytest.raises(ValueError, match="expected point, record or timing"):
        results.frame(by="day")


@pytest.mark.skipif(importlib.util.find_spec("polars") is None, reason="polars is not installed")
def test_polars(results):
    assert results.frame("polars").height == 2


def test_a_missing_package_is_named(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="pip install polars"):
        results.frame("polars")


def test_select_and_compare(results):
    deepgap.run("resnet18", batch=[1, 2], repeats=3, axis={"latency": "2ms"}, store="slow.db", **SCRIPTED)
    assert [point["batch"] for point in results.select(batch=2)] == [2]
    fast, slow = deepgap.open("deepgap.db"), deepgap.open("slow.db")
    comparison = slow.select(batch=1).compare(slow.select(batch=1))
    assert len(comparison.comparisons) == 1 and comparison.passed is None
    two = fast.compare(slow, a="latency=1ms", b="latency=2ms") if "latency" in fast[0] and fast[0].get("latency") else fast.compare(slow)
    assert two.document["metric"] == "throughput"
    gate = fast.compare(fast, fail_if_slower="50%")
    assert gate.passed is True
    assert len(gate.frame()) == 2
    assert "<table>" in gate._repr_html_()


def test_a_slower_store_fails_the_gate():
    deepgap.run("resnet18", repeats=5, axis={"latency": "1ms", "distribution": "constant"}, store="a.db", **SCRIPTED)
    deepgap.run("resnet18", repeats=5, axis={"latency": "4ms", "distribution": "constant"}, store="b.db", **SCRIPTED)
    comparison = deepgap.open("a.db").compare(deepgap.open("b.db"), fail_if_slower="2%")
    assert comparison.passed in (False, None)  # null's options may make them other points: then nothing can be compared
    assert comparison.exit_code in (1, 5)


def test_report_and_display(results, tmp_path):
    assert results.report() == tmp_path / "deepgap.html"
    assert (tmp_path / "deepgap.html").read_text().startswith("<!doctype html>")
    assert "resnet18" in results.report("r.md", title="Mine").read_text()
    html = results._repr_html_()
    assert html.count("<tr>") == 3 and "<script" not in html
    assert "items/s" in repr(results)


@pytest.mark.parametrize("call, error, words", [
    (lambda: deepgap.run("resnet18", bach=[1], **SCRIPTED), TypeError, "'bach'; did you mean batch?"),
    (lambda: deepgap.run("resnet18", batch=object(), **SCRIPTED), TypeError, "for batch: expected text"),
    (lambda: deepgap.run("resnet18", quick="yes", **SCRIPTED), TypeError, "for quick: expected True or False"),
    (lambda: deepgap.run("resnet18", model=["a,b.onnx", "c.onnx"], **SCRIPTED), ValueError, "cannot have a comma"),
    (lambda: deepgap.run("resnet1000", **SCRIPTED), deepgap.UsageError, "resnet1000"),
    (lambda: deepgap.run("resnet18", batch="many", **SCRIPTED), deepgap.UsageError, "many"),
    (lambda: deepgap.run(12, **SCRIPTED), TypeError, "invalid model of type int"),
    (lambda: deepgap.open("none.db"), deepgap.UsageError, "none.db"),
    (lambda: deepgap.open(), deepgap.UsageError, "such as deepgap.db"),
])
def test_mistakes_are_one_line(call, error, words):
    with pytest.raises(error) as raised:
        call()
    assert words in str(raised.value) and "\n" not in str(raised.value)


def test_a_file_that_is_no_store(tmp_path):
    (tmp_path / "x.db").write_text("hello")
    with pytest.raises(deepgap.UsageError, match="x.db"):
        deepgap.open("x.db")


def test_a_program_that_is_missing(monkeypatch):
    monkeypatch.setenv("DEEPGAP_PROGRAM", "/nowhere/deepgap")
    with pytest.raises(deepgap.DeepgapError, match="DEEPGAP_PROGRAM"):
        deepgap.open("x.db")


def test_refused_points_are_results_and_not_exceptions():
    results = deepgap.run("resnet18", backend=["null", "onnxruntime"], precision="fp8", iterations=5, check="off", progress=False)
    assert "refused" in {point["outcome"] for point in results}


def test_an_interrupt_keeps_what_was_measured():
    script = """
import deepgap
try:
    deepgap.run("resnet18", backend="null", check="off", axis={"latency": "20ms"}, batch=list(range(1, 40)), duration="500ms")
except deepgap.Interrupted as interrupted:
    print("kept", len(interrupted.results))
"""
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = []
    for line in child.stderr:
        lines.append(line)
        if "1/39" in line:
            break
    os.kill(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=120)
    assert out.startswith("kept "), out + "".join(lines) + err
    assert 1 <= int(out.split()[1]) < 39


def test_an_onnx_model_from_memory(tmp_path):
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "my relu",
                              [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", 8])],
                              [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["N", 8])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    results = deepgap.run(model, backend="null", iterations=5, progress=False)
    kept = list((tmp_path / "deepgap.models").iterdir())
    assert len(results) == 1 and len(kept) == 1 and kept[0].name.startswith("my_relu-")
    deepgap.run(model, backend="null", iterations=5, progress=False)
    assert list((tmp_path / "deepgap.models").iterdir()) == kept


def torch():
    module = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    return module


def test_a_torch_module():
    t = torch()
    module = t.nn.Sequential(t.nn.Linear(8, 4), t.nn.ReLU())
    results = deepgap.run(module, example_inputs=(t.zeros(1, 8),), backend="null", batch=[1, 3], iterations=5, progress=False)
    assert len(results) == 2 and module.training
    with pytest.raises(deepgap.UsageError, match="needs example_inputs"):
        deepgap.run(module, **SCRIPTED)


def test_a_torch_module_that_cannot_be_exported():
    t = torch()

    class Odd(t.nn.Module):
        def forward(self, x):
            raise ValueError("no such thing")

    with pytest.raises(deepgap.UsageError, match="cannot export Odd to ONNX: .*no such thing"):
        deepgap.run(Odd(), example_inputs=(t.zeros(1, 8),), **SCRIPTED)


def test_a_function():
    calls = []

    @deepgap.backend(inputs={"x": (4,), "n": ("int64", (1,))})
    def doubled(x, n):
        """Doubles x."""
        calls.append(x.shape[0])
        time.sleep(0.01)
        return {"y": 2 * x, "sum": x.sum(axis=1)}

    assert doubled.__doc__ == "Doubles x."
    results = deepgap.run(doubled, batch=[1, 3], iterations=10, progress=False)
    assert {point["batch"]: point["outcome"] for point in results} == {1: "ok", 3: "ok"}, repr(results)
    assert {1, 3} <= set(calls)
    assert all(point["latency_p50_ms"] >= 10 for point in results)
    assert 0 < results.harness_ms < min(point["latency_p50_ms"] for point in results)
    assert "the harness itself takes" in repr(results)


def test_a_function_that_raises_in_a_query():
    @deepgap.backend(inputs={"x": (4,)})
    def fragile(x):
        if x.any():
            raise ValueError("too much")
        return x

    results = deepgap.run(fragile, iterations=5, progress=False)
    assert results[0]["outcome"] != "ok" and "ValueError: too much" in results[0]["reason"]


def test_a_function_that_blocks():
    forever = threading.Event()

    @deepgap.backend(inputs={"x": (4,)})
    def stuck(x):
        if x.any():
            forever.wait()
        return x

    results = deepgap.run(stuck, iterations=5, axis={"timeout": "200ms"}, progress=False)
    forever.set()
    assert results[0]["outcome"] != "ok" and "no answer within" in results[0]["reason"]


@pytest.mark.parametrize("inputs, function, words", [
    ({"x": (4,)}, lambda x: 1 / 0, "raised ZeroDivisionError"),
    ({"x": (4,)}, lambda x: x.sum(), "expected the batch as first dimension"),
    ({"x": ("complex64", (4,))}, lambda x: x, "invalid type 'complex64'"),
    ({"x": (0,)}, lambda x: x, "invalid shape (0,)"),
])
def test_functions_that_do_not_fit(inputs, function, words):
    with pytest.raises(deepgap.UsageError) as raised:
        deepgap.run(deepgap.backend(function, inputs=inputs, name="f"), iterations=5, progress=False)
    assert words in str(raised.value)


def test_types_are_strict():
    pytest.importorskip("mypy")
    package = pathlib.Path(deepgap.__file__).parent
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", os.devnull, str(package)], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout
