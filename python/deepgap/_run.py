"""`deepgap.run` and `deepgap.plan`: measure, as `deepgap run` does."""
from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from deepgap import _call, _flags, _models, _process
from deepgap._backend import PythonBackend, Serving, serving
from deepgap._errors import InternalError, Interrupted, UsageError
from deepgap._progress import Wanted, progress as make_progress
from deepgap._results import Path, Results, store_argument

RESERVED = {
    "json": "run() returns Results",
    "quiet": "use progress=False",
    "verbose": "read the column stderr_tail of Results.records",
    "dry_run": "use deepgap.plan()",
    "onnx": "give models as the first arguments",
}
DEFAULT_STORE = "deepgap.db"
HARNESS_STUDY = "harness"


def run(*models: Any, store: Path = DEFAULT_STORE, progress: Wanted = "auto", harness: bool = True, **flags: Any) -> Results:
    """Measures models and returns their Results: deepgap.run("resnet50", backend=["native", "onnxruntime"], batch=[1, 8]).

    `models` are zoo names, paths of ONNX files, a study file (.toml), `onnx.ModelProto` objects, paths from `from_torch`, or functions with
    `@deepgap.backend`. `flags` are the flags of `deepgap run`, with _ for -: lists make axes, True sets a switch, a dict gives
    NAME=VALUE pairs (axis={"pin": "on"}, shape={"input": ["N", 3, 32, 32]}).

    `store` is the file that the records are appended to. `progress` shows a bar of tqdm (True), nothing (False), or what suits the
    output ("auto"). `harness`: for functions, also measure an empty function, so that the cost of the harness is known.

    Points that are refused or fail are in `Results.failures`. Ctrl-C raises Interrupted, whose `results` are those of what had finished.
    """
    words, functions = _models_of(models, flags.pop("model", None))
    with serving(functions) as served:
        line = _command_line(words, flags, store, served)
        extra = served.environment if served else {}
        cost = _measure_harness(served, flags, store) if served and harness else None
        shown = make_progress(progress)
        try:
            ended = _process.follow([str(_call.program()), "run", *line, "--json", "--progress=json"], _call.environment(extra), shown)
        finally:
            shown.close()
        return _results_of(ended, pathlib.Path(store), bool(flags.get("resume")), cost, served.traceback if served else None)


def plan(*models: Any, store: Path = DEFAULT_STORE, **flags: Any) -> dict[str, Any]:
    """Returns what `run` would measure, without measuring: what `deepgap run --dry-run --json` prints."""
    words, functions = _models_of(models, flags.pop("model", None))
    with serving(functions) as served:
        line = _command_line(words, flags, store, served)
        found = _process.follow(
            [str(_call.program()), "run", *line, "--dry-run", "--json"], _call.environment(served.environment if served else {}), lambda _: None
        )
        if found.code == _call.EXIT_INTERRUPTED:
            raise Interrupted("interrupted; nothing was measured", None)
        if found.code != 0:
            raise _call.error_of(found.messages, found.code)
        result: dict[str, Any] = _call.parsed(found.output)
        return result


def _models_of(models: Sequence[Any], named: Any) -> tuple[list[str], list[PythonBackend[Any, Any]]]:
    """Returns the words for the command line, and the functions."""
    given = list(models) + (list(named) if _flags.is_list(named) else [] if named is None else [named])
    flat = [one for model in given for one in (model if isinstance(model, (list, tuple)) else [model])]
    functions = [model for model in flat if isinstance(model, PythonBackend)]
    if functions and len(functions) < len(flat):
        raise UsageError("functions and other models cannot be measured in one run: call run() for each, and compare() their results")
    return [_word(model) for model in flat if not isinstance(model, PythonBackend)], functions


def _word(model: Any) -> str:
    if isinstance(model, str):
        if model.startswith("-"):
            raise UsageError(f"invalid value {model!r} for a model: expected a zoo name or a path; flags are keyword arguments")
        return model
    if isinstance(model, os.PathLike):
        return store_argument(pathlib.Path(model))
    if _models.is_onnx(model):
        return str(_models.from_onnx(model))
    if _models.is_torch(model):
        raise UsageError("a torch.nn.Module needs example inputs: deepgap.run(deepgap.from_torch(module, example_inputs))")
    if callable(model):
        name = getattr(model, "__name__", type(model).__name__)
        raise UsageError(f"the function {name} needs its inputs: put @deepgap.backend(inputs={{...}}) before it")
    raise TypeError(f"run() does not know models of type {type(model).__name__}: expected a name, a path, an onnx.ModelProto or a function with @deepgap.backend")


def _command_line(words: list[str], flags: Mapping[str, Any], store: Path, served: Serving | None) -> list[str]:
    line = [*words, f"--store={os.fspath(store)}"]
    if served is None:
        return line + _flags.arguments("run", flags, RESERVED)
    fixed = {name: "a function has its own" for name in ("backend", "device")}
    line += [*served.names, "--backend=kserve", f"--device={served.url}", f"--axis=timeout={served.timeout}"]
    return line + _flags.arguments("run", flags, {**RESERVED, **fixed})


def _measure_harness(served: Serving, flags: Mapping[str, Any], store: Path) -> Results:
    """Measures the empty functions at the same batches: a short run, one query after the other, whatever load the functions get."""
    kept = {name: flags[name] for name in ("batch", "batch_size", "cache") if name in flags}
    line = [*served.empty, f"--store={os.fspath(store)}", "--backend=kserve", f"--device={served.url}", f"--study={HARNESS_STUDY}", "--duration=500ms", "--scenario=batch"]
    command = [str(_call.program()), "run", *line, *_flags.arguments("run", kept), "--json"]
    ended = _process.follow(command, _call.environment(served.environment), lambda _: None)
    return _results_of(ended, pathlib.Path(store), False, None, None)


def _results_of(ended: _process.Ended, store: pathlib.Path, resumed: bool, harness: Results | None, traceback: str | None) -> Results:
    summary: dict[str, Any] = _call.parsed(ended.output) if ended.output.strip() else {}
    interrupted = ended.code == _call.EXIT_INTERRUPTED or (ended.interrupted and ended.code < 0)
    if not interrupted and ended.code not in (0, 1):
        if summary.get("store_error"):
            raise InternalError(f"{summary['store_error']}; {summary['records']} records were saved before, in {store}", ended.code)
        raise _call.error_of(ended.messages, ended.code)
    measured = summary.get("records", 0) + (summary.get("done_before", 0) if resumed else 0)
    results = None
    if measured > 0:
        # What an earlier run of the same command left counts too where the run went on from it.
        ids = "|".join(point["point_id"] for point in summary["points"])
        condition = f"point_id={ids}" if resumed else f"run_id={summary['run_id']}"
        results = Results([store], [condition], summary=summary, harness=harness, traceback=traceback)
    if interrupted or ended.interrupted:
        kept = f"{measured} of {summary['planned']} records are in {store}" if results is not None else "nothing had finished"
        raise Interrupted(f"interrupted; {kept}", results)
    if results is None:
        raise InternalError(_call.message_of(ended.messages, ended.code) if ended.messages else "the run measured nothing", ended.code)
    return results


