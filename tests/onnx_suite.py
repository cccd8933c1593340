#!/usr/bin/env python3
"""The ONNX project's own cases through `deepgap check --against`: those of its operators, and the small networks beside them.

    onnx_suite.py DEEPGAP [--backend NAME] [--kind node|data] [--at-least N] [--sample N] [--only WORD] [--jobs N] [--keep FOLDER]
    onnx_suite.py DEEPGAP [--backend NAME] --kind folders --folders FOLDER     # such cases of other makers (tests/exporters)

Each case passes, is refused with its reason, differs, or crashes. Prints the counts and the reasons; fails where one differs or crashes, and where
fewer pass than asked. The cases come out of the PyPI package onnx (requirements-onnx.txt), whose interpreter has to run this; without it the
script says so and exits with 77. With --sample every 40th is taken, of which so many have to pass, unless DEEPGAP_LONG_TESTS is set."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.runner import Runner
except ImportError as missing:
    print(f"left out: {missing}; ./check installs requirements-onnx.txt into .venv")
    sys.exit(77)

# Where the cases' numbers are not what the specification says (Resize-19: length_resized is the length of the resized tensor; the reference
# takes the length before it is rounded down). ONNX Runtime 1.31.1, OpenVINO 2026.4.1 and native compute what it says, with the same errors here.
OTHERWISE = {
    "test_resize_downsample_scales_cubic_align_corners": "its positions follow the scale given, not the sizes that the specification names",
    "test_resize_downsample_scales_linear_align_corners": "its positions follow the scale given, not the sizes that the specification names",
}


def proto_of(value, info):
    """A value of a case as the file that its test folder holds."""
    if info.type.HasField("sequence_type"):
        return numpy_helper.from_list(value, info.name)
    if info.type.HasField("optional_type"):
        return numpy_helper.from_optional(value, info.name)
    return value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(np.asarray(value), info.name)


def write_set(folder, kind, values, infos):
    for i, (value, info) in enumerate(zip(values, infos)):
        (folder / f"{kind}_{i}.pb").write_bytes(proto_of(value, info).SerializeToString())


def node_cases(root, wanted):
    """The operators' cases, written in the layout of test folders. Their data are drawn, so they are made in one go and in order."""
    from onnx.backend.test.case.node import collect_testcases

    folders = []
    for case in collect_testcases(None):
        folder = root / case.name
        if not wanted(case.name):
            continue
        folder.mkdir()
        (folder / "model.onnx").write_bytes(case.model.SerializeToString())
        for i, (inputs, outputs) in enumerate(case.data_sets):
            data = folder / f"test_data_set_{i}"
            data.mkdir()
            write_set(data, "input", inputs, case.model.graph.input)
            write_set(data, "output", outputs, case.model.graph.output)
        folders.append(folder)
    return folders


def light_case(root, file):
    """A network without weights of its own, on the inputs that the package's runner makes."""
    folder = root / file.stem
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    shutil.copy(file, folder / "model.onnx")
    graph = onnx.load(file).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [info for info in graph.input if info.name not in constants]
    for i, info in enumerate(inputs):
        value = Runner.generate_dummy_data(info, seed=0, name=file.stem, random=False)
        (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
    for i in range(len(graph.output)):
        shutil.copy(file.with_name(f"{file.stem}_output_{i}.pb"), data / f"output_{i}.pb")
    return folder


def data_cases(root, wanted):
    """The networks that the package brings: converted ones, one operator each, simple ones, and well-known ones without their weights."""
    source = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
    folders = []
    for kind in ("pytorch-converted", "pytorch-operator", "simple"):
        for folder in sorted((source / kind).iterdir()):
            if (folder / "model.onnx").exists() and wanted(folder.name):
                folders.append(folder)
    for file in sorted((source / "light").glob("*.onnx")):
        if wanted(file.stem):
            folders.append(light_case(root, file))
    return folders


def folder_cases(folders):
    """Cases that are there, such as those of tests/exporters."""
    return lambda root, wanted: [folder for folder in sorted(pathlib.Path(folders).iterdir()) if (folder / "model.onnx").exists() and wanted(folder.name)]


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line]
    return lines[-1] if lines else "it said nothing"


def run_case(deepgap, backend, folder):
    """The outcome of one case, and the reason."""
    command = [deepgap, "check", str(folder / "model.onnx"), "--backend", backend, "--against", str(folder), "--threads", "1", "--json"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=300, errors="replace")
    except subprocess.TimeoutExpired:
        return "crash", "it did not end within 300 s"
    if run.returncode == 0:
        return "pass", ""
    if run.stdout.strip().startswith("{"):
        result = json.loads(run.stdout)
        return "differ", f"{result.get('sqnr_db')} dB, largest error {result.get('max_abs_error')}"
    line = last_line(run.stderr)
    by_name = "is not handled here" in line or not re.search("internal error|signal| failed: ", line)
    if run.returncode in (1, 2) and line.startswith("deepgap: ") and by_name:
        return "refused", line.removeprefix("deepgap: ")
    return "crash", f"exit code {run.returncode}: {line}"


def reason_of(text, folder):
    """A refusal without what is one case's own, so that equal ones are counted together."""
    text = text.replace(str(folder / "model.onnx"), "").replace(str(folder), "")
    text = re.sub(r"'[^']*'|\(node [^)]*\)|at byte \d+", "", text)
    return re.sub(r"\s+", " ", text).strip(" :")


def report(results, at_least):
    """Prints the counts and what is behind them; the exit code."""
    counts = collections.Counter(kind for kind, _ in results.values())
    print(f"{len(results)} cases: {counts['pass']} pass, {counts['refused']} refused, {counts['differ']} differ, {counts['crash']} crash, "
          f"{counts['otherwise']} otherwise by intent")
    reasons = collections.defaultdict(list)
    for folder, (kind, why) in results.items():
        if kind == "refused":
            reasons[reason_of(why, folder)].append(folder.name)
    for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"  refused {len(names):4}  {reason}  ({names[0]})")
    for folder, (kind, why) in results.items():
        if kind in ("differ", "crash", "otherwise"):
            print(f"  {kind:9}  {folder.name}: {why}")
    if counts["pass"] < at_least:
        print(f"only {counts['pass']} of at least {at_least} pass")
    return 1 if counts["differ"] + counts["crash"] > 0 or counts["pass"] < at_least or not results else 0


def judged(name, outcome):
    kind, why = outcome
    return ("otherwise", OTHERWISE[name]) if kind == "differ" and name in OTHERWISE else (kind, why)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("deepgap")
    parser.add_argument("--backend", default="native")
    parser.add_argument("--kind", choices=("node", "data", "folders"), default="node")
    parser.add_argument("--folders")
    parser.add_argument("--at-least", type=int, default=1)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--keep")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(chosen.keep or temporary)
        root.mkdir(parents=True, exist_ok=True)
        cases = {"node": node_cases, "data": data_cases, "folders": folder_cases(chosen.folders)}[chosen.kind](root, lambda name: chosen.only in name)
        sampled = chosen.sample is not None and "DEEPGAP_LONG_TESTS" not in os.environ
        cases = sorted(cases, key=lambda folder: folder.name)[:: 40 if sampled else 1]
        with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
            outcomes = pool.map(lambda folder: run_case(chosen.deepgap, chosen.backend, folder), cases)
            results = {folder: judged(folder.name, outcome) for folder, outcome in zip(cases, outcomes)}
        return report(results, chosen.sample if sampled else chosen.at_least)


if __name__ == "__main__":
    sys.exit(main())
