"""Python functions as backends. Nothing here depends on how fast they are."""
import threading
import time

import numpy
import pytest

import deepgap

SHORT = {"iterations": 20, "warmup": 1, "progress": False}


def test_a_function_is_measured_and_so_is_the_harness(tmp_path, cache):
    seen = set()

    @deepgap.backend(inputs={"x": ("float32", ["N", 6])})
    def double(x):
        """Twice."""
        seen.add((x.shape, str(x.dtype), float(abs(x).sum()) > 0))
        time.sleep(0.002)
        return 2 * x

    assert double(numpy.zeros(3)).tolist() == [0, 0, 0] and double.__doc__ == "Twice." and "double(x: float32['N', 6])" in repr(double)
    results = deepgap.run(double, batch=[1, 4], cache=cache, **SHORT)
    assert [(row["model"], row["backend"], row["outcome"], row["timings"]) for row in results] == [("double", "kserve", "ok", 20)] * 2
    assert {(1, 6), (4, 6)} == {shape for shape, _, filled in seen if filled}, "samples, after the zeros of the first look"
    for row in results:
        assert row["latency_p50_ms"] >= row["server_inference_ms"] * 0.5 and row["server_inference_ms"] >= 2
        assert row["harness_p50_ms"] > 0
    assert {row["model"] for row in results.harness} == {"double-empty"}
    assert "the harness itself takes" in results._repr_html_() and "harness_p50_ms" in results.frame().columns
    assert len(deepgap.open("deepgap.db")) == 4, "the harness' points are in the store too"


@pytest.mark.parametrize(
    "answer",
    [lambda x: {"a": x, "b": x[:, :1].astype("int64")}, lambda x: (x, x > 0), lambda x: None, lambda x: x.astype("float16"), lambda x: x[:, ::-1], lambda x: numpy.zeros((len(x), 100_000), "float32")],
    ids=["dict", "tuple", "none", "half", "strided", "large"],
)
def test_answers(answer, tmp_path, cache):
    made = deepgap.backend(inputs={"x": numpy.zeros((1, 3), "float32")}, name="answers")(answer)
    results = deepgap.run(made, batch=2, harness=False, cache=cache, **SHORT)
    assert [(row["outcome"], row["failed_queries"]) for row in results] == [("ok", 0)] and results.harness is None


def test_a_fixed_batch_and_several_inputs(tmp_path, cache):
    made = deepgap.backend(inputs={"x": ("float32", [2, 3]), "n": ("int64", [2])}, name="fixed")(lambda x, n: x * n[:, None])
    assert deepgap.run(made, batch=2, harness=False, cache=cache, **SHORT).points[0]["outcome"] == "ok"


def test_calls_come_one_after_the_other_unless_they_are_concurrent(tmp_path, cache):
    for concurrent, most in ((False, 1), (True, 2)):
        inside, together, met = [], [], threading.Event()

        def function(x):
            inside.append(None)
            together.append(len(inside))
            if len(inside) > 1:
                met.set()
            met.wait(2 if concurrent else 0.001)  # for the other client; before there are two, the first calls wait in vain
            inside.pop()
            return x

        made = deepgap.backend(inputs={"x": ("float32", ["N", 3])}, concurrent=concurrent)(function)
        deepgap.run(made, scenario="concurrency", clients=2, harness=False, cache=cache, **SHORT)
        assert max(together) == most


def test_load_scenarios(tmp_path, cache):
    made = deepgap.backend(inputs={"x": ("float32", ["N", 3])}, name="loaded")(lambda x: x)
    results = deepgap.run(made, scenario="server", rate=50, duration="500ms", harness=False, cache=cache, progress=False)
    assert results.points[0]["scenario"] == "server" and results.points[0]["timings"] > 5


def test_a_function_that_raises(tmp_path, cache):
    made = deepgap.backend(inputs={"x": ("float32", ["N", 3])}, name="raises")(lambda x: 1 / 0)
    with pytest.raises(deepgap.CallableError, match=r"^raises raised ZeroDivisionError: division by zero \(called with zeros, batch 1\)$"):
        deepgap.run(made, cache=cache, **SHORT)
    assert not (tmp_path / "deepgap.db").exists(), "nothing was measured"


def test_a_function_that_raises_later(tmp_path, cache):
    calls = []

    @deepgap.backend(inputs={"x": ("float32", ["N", 3])})
    def fails(x):
        calls.append(None)
        if 12 < len(calls) < 16:  # and not for good: nothing but failures ends a run after 30 s
            raise ValueError("out of luck")
        return x

    results = deepgap.run(fails, harness=False, cache=cache, **SHORT)
    assert "ValueError: out of luck" in results.failures[0]["result"]
    assert results.points[0]["verdict"] == "invalid" and "raise ValueError" in results.traceback


def test_a_function_that_exits_does_not_end_the_run(tmp_path, cache):
    calls = []

    def leaves(x):
        calls.append(None)
        if 12 < len(calls) < 16:
            raise SystemExit(3)
        return x

    made = deepgap.backend(inputs={"x": ("float32", ["N", 3])})(leaves)
    assert "SystemExit" in deepgap.run(made, harness=False, cache=cache, **SHORT).failures[0]["result"]


def test_a_function_that_blocks(tmp_path, cache):
    gone = threading.Event()
    made = deepgap.backend(inputs={"x": ("float32", ["N", 3])}, name="blocks", timeout_s=0.2)(lambda x: gone.wait(600))
    with pytest.raises(deepgap.CallableError, match=r"^blocks did not return within 0.2 s"):
        deepgap.run(made, cache=cache, **SHORT)
    gone.set()


def test_a_function_that_blocks_later(tmp_path, cache):
    calls = []

    @deepgap.backend(inputs={"x": ("float32", ["N", 3])}, timeout_s=1)
    def blocks(x):
        calls.append(None)
        if len(calls) == 8:
            time.sleep(1.5)
        return x

    results = deepgap.run(blocks, harness=False, cache=cache, iterations=20, warmup=1, progress=False)
    assert "no answer within 1 s" in results.failures[0]["result"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x.sum(), "at batch 2: the first size has to be the batch"),
        (lambda x: numpy.zeros((3, 3)), "at batch 2: the first size has to be the batch"),
        (lambda x: numpy.array(["a"]), "answers output with dtype <U1"),
        (lambda x: {}, "answers no arrays"),
        (lambda x: x if len(x) == 1 else x.astype("int8"), "answers other tensors at batch 2"),
        (lambda y: y, "raised TypeError"),
    ],
)
def test_answers_that_cannot_be_served(function, message, tmp_path):
    made = deepgap.backend(inputs={"x": ("float32", ["N", 3])}, name="wrong")(function)
    with pytest.raises(deepgap.CallableError, match=message):
        deepgap.run(made, **SHORT)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "invalid inputs"),
        ({"x": "float32"}, "expected \\(dtype, shape\\)"),
        ({"x": ("float33", [1])}, "unknown dtype 'float33'"),
        ({"x": ("float32", ["N", 0])}, "a size is a positive number or 'N'"),
        ({"x": ("float32", [3, "N"])}, "only the first size can be 'N'"),
    ],
)
def test_inputs_that_are_wrong(inputs, message):
    with pytest.raises(deepgap.UsageError, match=message):
        deepgap.backend(inputs=inputs, name="wrong")(lambda x: x)


def test_others_are_not_answered():
    import urllib.error
    import urllib.request

    from deepgap._backend import serving

    made = deepgap.backend(inputs={"x": ("float32", ["N", 3])}, name="mine")(lambda x: x)
    with serving([made]) as served:
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{served.url}/v2", timeout=10)
        asked = urllib.request.Request(f"{served.url}/v2/models/mine", headers={"Authorization": "Bearer " + served.environment["DEEPGAP_KSERVE_TOKEN"]})
        assert b'"inputs"' in urllib.request.urlopen(asked, timeout=10).read()
        from deepgap._backend import Serving

        other = Serving([made])  # whose port is the next
        assert other.url != served.url
        other.close()


def test_what_does_not_go_together(tmp_path):
    made = deepgap.backend(inputs={"x": ("float32", ["N", 3])}, name="mine")(lambda x: x)
    with pytest.raises(deepgap.UsageError, match="cannot be measured in one run"):
        deepgap.run(made, "resnet18")
    with pytest.raises(deepgap.UsageError, match="two functions are called mine"):
        deepgap.run([made, made])
    with pytest.raises(TypeError, match="does not take 'backend': a function has its own"):
        deepgap.run(made, backend="native")
    with pytest.raises(deepgap.UsageError, match="put @deepgap.backend"):
        deepgap.run(lambda x: x)
