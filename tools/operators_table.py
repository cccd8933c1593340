#!/usr/bin/env python3
"""The table operators x opsets x engines of docs/reference/operators.md, from the conformance suite itself.

    tools/operators_table.py build/bin/deepgap_conformance [docs/reference/operators.md]

Runs every engine through the suite's operator cases and says in which precisions each answered as the reference interpreter does. Prints the table;
with a file named, puts it between that file's lines "<!-- operators table -->" and "<!-- end of operators table -->"."""
import json
import pathlib
import subprocess
import sys
import tempfile

from table_in_page import put

ENGINES = ["native", "libtorch", "onnxruntime", "openvino"]
PRECISIONS = ["fp32", "tf32", "bf16", "fp16", "mixed"]


def tests_of(conformance, engine):
    """The suite's answers for an engine: a list of tests with their properties."""
    with tempfile.NamedTemporaryFile(suffix=".json") as answers:
        run = subprocess.run([conformance, "--backend", engine, "--gtest_filter=All/Operators.*", f"--gtest_output=json:{answers.name}"],
                             capture_output=True, text=True)
        text = answers.read()
    if run.returncode != 0 or not text:
        sys.exit(f"operators_table: {engine}: {(run.stdout + run.stderr).strip().splitlines()[-1]}")
    return [test for suite in json.loads(text)["testsuites"] for test in suite["testsuite"] if "operator" in test]


def ran_in(test):
    return [precision for precision in PRECISIONS if test.get(precision) == "ran"]


def cell(cases):
    """Returns, for one engine's cases of an operator in an opset, the precisions in which all of them ran, and which were refused."""
    common = [precision for precision in PRECISIONS if all(precision in ran_in(case) for case in cases if ran_in(case))]
    refused = [case["operator"] for case in cases if not ran_in(case)]
    if len(refused) == len(cases):
        return "refused"
    words = ", ".join(common)
    return words + (f" (refused: {', '.join(refused)})" if refused else "")


def table(answers):
    """`answers`: engine -> tests."""
    rows = {}
    for engine, tests in answers.items():
        for test in tests:
            key = (test["operator"].split(" ")[0], int(test["opset"]))
            rows.setdefault(key, {}).setdefault(engine, []).append(test)
    lines = ["| operator | opset | " + " | ".join(answers) + " |", "| --- |" + " --- |" * (len(answers) + 1)]
    for (operator, opset), engines in sorted(rows.items()):
        cells = [cell(engines[engine]) if engine in engines else "not tried" for engine in answers]
        lines.append(f"| {operator} | {opset} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.split("\n\n")[1].strip())
    text = table({engine: tests_of(sys.argv[1], engine) for engine in ENGINES})
    print(text)
    if len(sys.argv) == 3:
        put(pathlib.Path(sys.argv[2]), "operators table", text)


if __name__ == "__main__":
    main()
