#!/usr/bin/env python3
"""The table engines x models x precisions of docs/reference/engines/index.md, from a Store.

    deepgap run studies/engines.toml --store engines.db
    deepgap export engines.db --by point --format json | python3 tools/engines_table.py [docs/reference/engines/index.md]

Prints the table; with a file named, puts it between that file's lines "<!-- engines table -->" and "<!-- end of engines table -->". A cell
has numbers of the largest batch measured: how far the outputs are from the FP32 reference (SQNR in dB), the share of samples with the same
first class in %, and in INT8 the share of the multiply-accumulates done so in %; or why there is no result. The report shows the speeds."""
import json
import pathlib
import sys

from table_in_page import put

PRECISIONS = ["fp32", "tf32", "bf16", "fp16", "mixed", "int8"]


def number(value, scale=1):
    return "-" if value is None else f"{scale * value:.0f}"


def result(row):
    numbers = [number(row.get("check_sqnr_db")), number(row.get("check_top1_agreement"), 100)]
    if row["precision"] == "int8":
        numbers.append(number(row.get("int8_mac_share"), 100))
    return ", ".join(numbers)


# A reason stands once under the table; the cell has its number.
def cell(row, reasons):
    if row is None:
        return "not tried"
    if row["outcome"] == "ok":
        return result(row)
    reason = row.get("reason") or "no reason given"
    if reason not in reasons:
        reasons.append(reason)
    return f"{row['outcome']} ({reasons.index(reason) + 1})"


# Whether every engine ran the precision and found the same first class in every sample; such a precision is a line.
def agrees(rows):
    return all(row["outcome"] == "ok" and row.get("check_top1_agreement") in (None, 1) for row in rows) and all(row.get("check_sqnr_db") for row in rows)


def in_a_line(precision, rows):
    levels = [row["check_sqnr_db"] for row in rows]
    return f"{precision}: all engines ran all models, at {min(levels):.0f} dB to {max(levels):.0f} dB and with the same first class in all samples"


def table(rows):
    best = {}
    for row in rows:
        key = (row["model"], row["backend"], row["precision"])
        if key not in best or row["batch"] > best[key]["batch"]:
            best[key] = row
    models = list(dict.fromkeys(key[0] for key in best))
    engines = sorted({key[1] for key in best}, key=lambda name: (name != "native", name))
    of_precision = {name: [row for key, row in best.items() if key[2] == name] for name in PRECISIONS}
    lined = [name for name, found in of_precision.items() if len(found) == len(models) * len(engines) > 1 and agrees(found)]
    precisions = [name for name, found in of_precision.items() if found and name not in lined]
    reasons, lines = [], ["| model | precision | " + " | ".join(engines) + " |", "| --- |" + " --- |" * (len(engines) + 1)]
    for model in models:
        for precision in precisions:
            cells = [cell(best.get((model, engine, precision)), reasons) for engine in engines]
            lines.append(f"| {model} | {precision} | " + " | ".join(cells) + " |")
    lines += [""] + [f"{place}. {reason}" for place, reason in enumerate(reasons, 1)] + [""]
    lines += [in_a_line(name, of_precision[name]) + "." for name in lined]
    return "\n".join(lines).strip()


def main():
    try:
        rows = json.load(sys.stdin)
        text = table(rows)
    except (ValueError, KeyError, TypeError) as error:
        sys.exit(f"engines_table: standard input is no `deepgap export --by point --format json`: {error!r}")
    print(text)
    if len(sys.argv) > 1:
        put(pathlib.Path(sys.argv[1]), "engines table", text)


if __name__ == "__main__":
    main()
