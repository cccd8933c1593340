#!/usr/bin/env python3
"""The table engines x precisions of docs/reference/engines/index.md, from a Store.

    deepgap run studies/engines.toml --store engines.db
    deepgap export engines.db --by point --format json | python3 tools/engines_table.py [docs/reference/engines/index.md]

Prints the table; with a file named, puts it between that file's lines "<!-- engines table -->" and "<!-- end of engines table -->". A cell
counts the models that ran, at the largest batch measured, and has the range of how far their outputs are from the FP32 reference (SQNR in
dB), of the share of samples with the same first class, and in INT8 of the share of the multiply-accumulates done so; or why there is no
result. The report shows single models and speeds."""
import json
import pathlib
import sys

from table_in_page import put

PRECISIONS = ["fp32", "tf32", "bf16", "fp16", "mixed", "int8"]


def span(rows, name, scale, unit, label=""):
    values = [scale * row[name] for row in rows if row.get(name) is not None]
    if not values:
        return []
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return [label + (high if low == high else f"{low} to {high}") + unit]


def result(rows, models):
    words = [f"{len(rows)} of {models}"] + span(rows, "check_sqnr_db", 1, " dB") + span(rows, "check_top1_agreement", 100, " %", "top-1 ")
    if rows[0]["precision"] == "int8":
        words += span(rows, "int8_mac_share", 100, " %", "INT8 ")
    return ", ".join(words)


# A reason stands once under the table; the cell has its number.
def cell(rows, models, reasons):
    if not rows:
        return "not tried"
    ran = [row for row in rows if row["outcome"] == "ok"]
    words = [result(ran, models)] if ran else []
    for row in rows:
        if row["outcome"] == "ok":
            continue
        reason = row.get("reason") or "no reason given"
        if reason not in reasons:
            reasons.append(reason)
        word = f"{row['outcome']} ({reasons.index(reason) + 1})"
        if ran:
            word = f"{row['model']} {word}"
        if word not in words:
            words.append(word)
    return "; ".join(words)


def table(rows):
    best = {}
    for row in rows:
        key = (row["model"], row["backend"], row["precision"])
        if key not in best or row["batch"] > best[key]["batch"]:
            best[key] = row
    models = {key[0] for key in best}
    engines = sorted({key[1] for key in best}, key=lambda name: (name != "native", name))
    precisions = [name for name in PRECISIONS if any(key[2] == name for key in best)]
    reasons, lines = [], ["| engine | " + " | ".join(precisions) + " |", "| --- |" + " --- |" * len(precisions)]
    for engine in engines:
        cells = [cell([row for key, row in best.items() if key[1:] == (engine, precision)], len(models), reasons) for precision in precisions]
        lines.append(f"| {engine} | " + " | ".join(cells) + " |")
    lines += [""] + [f"{place}. {reason}" for place, reason in enumerate(reasons, 1)]
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
