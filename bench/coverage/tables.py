#!/usr/bin/env python3
"""The tables of docs/explanation/validation.md, as bench/coverage prints them.

    tables.py write [--series 2000] [--parts pairs,duels] [--page docs/explanation/validation.md] [--program build/bin/coverage] [--keep FOLDER]
    tables.py check [--series 12] [--parts ...] ...

A block of the page is what stands between `<!-- coverage PART SERIES -->` and `<!-- end of coverage -->`. `write` runs the program for each
and puts in what it prints; with --keep the outputs are kept as FOLDER/PART.md, and those that are there already are not made again. `check`
runs it for few series and fails where the page has other tables, columns or rows, or a share further from the page's than five standard
errors allow: seeds are fixed, so that the same program gives the same answer. A part of the program that has no block fails too."""
import argparse
import math
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"<!-- coverage (\w+) (\d+) -->\n(.*?)<!-- end of coverage -->", re.DOTALL)


def output_of(program, part, series):
    return subprocess.run([str(program), part, str(series)], capture_output=True, text=True, check=True).stdout.strip() + "\n"


def tables_of(text):
    """Each as a list of rows of cells; the second row of a Markdown table, the rule, is left out."""
    tables, rows = [], []
    for line in text.splitlines() + [""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif rows:
            tables.append(rows[:1] + rows[2:])
            rows = []
    return tables


def is_number(cell):
    return re.fullmatch(r"[0-9.]+", cell) is not None


def is_share(title):
    """Of all series: what scatters as a count does. Widths and times have no such error that could be told from a table."""
    return title.endswith("%") and not any(word in title for word in ("half-width", "where", "of these"))


def differences(part, page, fresh, page_series, fresh_series):
    if len(page) != len(fresh):
        return [f"{part}: {len(page)} tables on the page, {len(fresh)} printed"]
    found = []
    for number, (old, new) in enumerate(zip(page, fresh)):
        where = f"{part}, table {number + 1}"
        if old[0] != new[0]:
            found.append(f"{where}: columns {old[0]} on the page, {new[0]} printed")
            continue
        if [row[0] for row in old] != [row[0] for row in new]:
            found.append(f"{where}: rows {[row[0] for row in old]} on the page, {[row[0] for row in new]} printed")
            continue
        for ours, theirs in zip(old[1:], new[1:]):
            for title, a, b in zip(old[0][1:], ours[1:], theirs[1:]):
                if not is_share(title) or not (is_number(a) and is_number(b)):
                    continue
                p = (float(a) * page_series + float(b) * fresh_series + 100) / (page_series + fresh_series + 2) / 100
                allowed = 5 * math.sqrt(max(p * (1 - p), 0) * (1 / page_series + 1 / fresh_series)) + 0.001
                if abs(float(a) - float(b)) / 100 > allowed:
                    found.append(f"{where}: {ours[0]}: {title}: {a} on the page, {b} of {fresh_series} series printed")
    return found


def parts_of(program):
    return subprocess.run([str(program), "parts"], capture_output=True, text=True, check=True).stdout.split()


def write(arguments, page):
    def fresh(block):
        part, series = block[1], arguments.series
        if arguments.parts and part not in arguments.parts.split(","):
            return block[0]
        kept = pathlib.Path(arguments.keep) / f"{part}.md" if arguments.keep else None
        if kept and kept.exists():
            text = kept.read_text(encoding="utf-8").strip() + "\n"
        else:
            text = output_of(arguments.program, part, series)
            if kept:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(text, encoding="utf-8")
        text = re.sub(r"(?m)^(?!\|)(.+)\n(?=\|)", r"\1:\n\n", text)  # a table begins behind an empty line
        return f"<!-- coverage {part} {series} -->\n{text}<!-- end of coverage -->"
    return BLOCK.sub(fresh, page)


def check(arguments, page):
    found, seen = [], set()
    for part, series, text in BLOCK.findall(page):
        seen.add(part)
        if arguments.parts and part not in arguments.parts.split(","):
            continue
        of = {"repeats": 4, "peaks": 4, "recorded": 4, "gates": 10}.get(part, 1)  # a series there is several runs
        found += differences(part, tables_of(text), tables_of(output_of(arguments.program, part, arguments.series)), int(series) / of,
                             arguments.series / of)
    found += [f"{part}: no block of it in {arguments.page}" for part in parts_of(arguments.program) if part not in seen]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["write", "check"])
    parser.add_argument("--series", type=int)
    parser.add_argument("--parts", default="")
    parser.add_argument("--page", default=str(ROOT / "docs/explanation/validation.md"))
    parser.add_argument("--program", default=str(ROOT / "build/bin/coverage"))
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    path = pathlib.Path(arguments.page)
    page = path.read_text(encoding="utf-8")
    if arguments.what == "write":
        arguments.series = arguments.series or 2000
        path.write_text(write(arguments, page), encoding="utf-8")
        return 0
    arguments.series = arguments.series or (24 if os.environ.get("DEEPGAP_LONG_TESTS") else 12)
    found = check(arguments, page)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
