#!/usr/bin/env python3
"""The table of how many inputs and outputs each ONNX operator has, src/model/operator_arity.csv, from the `onnx` package's own definitions, and
each of com.microsoft, from those of the `onnxruntime` package.

    tools/operator_arity.py [src/model/operator_arity.csv]

Prints the table; with a file named, writes it there. A row is an operator from one opset on. Its inputs and outputs are one letter each: x has to be
there, ? may be left out, + stands for one or more, * for any number."""
import pathlib
import sys


def letters(parameters):
    kinds = {"Single": lambda one: "x", "Optional": lambda one: "?", "Variadic": lambda one: "*+"[one.min_arity]}
    return "".join(kinds[one.option.name](one) for one in parameters)


def microsoft_rows():
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema
    schemas = [one for one in get_all_operator_schema() if one.domain == "com.microsoft" and not one.deprecated]
    return [(f"com.microsoft.{one.name}", one.since_version, counted(one.inputs, one.min_input), counted(one.outputs, one.min_output)) for one in schemas]


def counted(parameters, least):
    """The letters, where the definition says how many a variadic last one has at least by the number of all."""
    kinds = {"Single": "x", "Optional": "?", "Variadic": "+" if least >= len(parameters) else "*"}
    return "".join(kinds[one.option.name] for one in parameters)


def table():
    from onnx import defs  # here, so that the test can say that the package is missing
    schemas = [one for one in defs.get_all_schemas_with_history() if one.domain == "" and not one.deprecated]
    rows = [(one.name, one.since_version, letters(one.inputs), letters(one.outputs)) for one in schemas] + microsoft_rows()
    return "operator,opset,inputs,outputs\n" + "".join(f"{','.join(map(str, row))}\n" for row in sorted(rows))


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(table(), end="")
    else:
        pathlib.Path(sys.argv[1]).write_text(table())
