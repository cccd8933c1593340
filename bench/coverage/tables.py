#!/usr/bin/env python3
"""The tables of docs/explanation/validation.md, as bench/coverage prints them.

    tables.py write [--series 2000] [--parts pairs,duels] [--program build/bin/coverage] [--keep FOLDER]
    tables.py page
    tables.py check [--series 12] [--parts ...] ...

Each table that the program prints is a file docs/explanation/validation/PART-NUMBER.csv with all columns and rows; index.csv there names them with
their captions and numbers of series. The page shows some columns and rows of some tables, in blocks:

    <!-- coverage PART NUMBER
    columns: A; B          (without this line all)
    rows: X; Y / Z         (without this line all; a row is named by its first cells) -->
    ... what is generated ...
    <!-- end of coverage -->

`write` runs the program, and writes the files and the page; with --keep the outputs are kept as FOLDER/PART.md, and those that are there already are
not made again. `page` writes the page from the files. `check` runs the program for few series and fails where a file has other columns or rows, or a
share further from the file's than five standard errors allow: seeds are fixed, so that the same program gives the same answer. It also fails where
the page shows anything else than the files, or a part of the program is on no block of it."""
import argparse
import collections
import csv
import io
import math
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"<!-- coverage (\w+) (\d+)\n?(.*?)\s*-->\n(.*?)<!-- end of coverage -->", re.DOTALL)
Table = collections.namedtuple("Table", "caption rows")  # the first row holds the titles


def output_of(program, part, series):
    return subprocess.run([str(program), part, str(series)], capture_output=True, text=True, check=True).stdout.strip() + "\n"


def tables_of(text):
    """Each with the line before it as its caption; the second row of a Markdown table, the rule, is left out."""
    tables, rows, caption = [], [], ""
    for line in text.splitlines() + [""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
            continue
        if rows:
            tables.append(Table(caption, rows[:1] + rows[2:]))
            rows = []
        caption = line.strip().rstrip(":") or caption
    return tables


def numbered(titles):
    """A title that occurs again gets its number, so that columns of a file have names of their own."""
    seen = collections.Counter()
    for title in titles:
        seen[title] += 1
        yield title if seen[title] == 1 else f"{title} ({seen[title]})"


def plain(title):
    return re.sub(r" \(\d+\)$", "", title)


def csv_text(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


class Files:
    """The tables as files of a folder, with their index."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.index = {}  # (part, number) -> (series, caption)
        index = self.folder / "index.csv"
        if index.exists():
            for name, series, caption in list(csv.reader(io.StringIO(index.read_text(encoding="utf-8"))))[1:]:
                part, number = name.removesuffix(".csv").rsplit("-", 1)
                self.index[part, int(number)] = int(series), caption

    def path(self, part, number):
        return self.folder / f"{part}-{number}.csv"

    def table(self, part, number):
        _, caption = self.index[part, number]
        return Table(caption, list(csv.reader(io.StringIO(self.path(part, number).read_text(encoding="utf-8")))))

    def tables(self, part):
        return [self.table(*key) for key in sorted(self.index) if key[0] == part]

    def series(self, part):
        return self.index[part, 1][0]

    def put(self, part, series, tables):
        self.folder.mkdir(parents=True, exist_ok=True)
        for key in [key for key in self.index if key[0] == part]:
            self.path(*key).unlink(missing_ok=True)
            del self.index[key]
        for number, table in enumerate(tables, 1):
            self.index[part, number] = series, table.caption
            self.path(part, number).write_text(csv_text([list(numbered(table.rows[0]))] + table.rows[1:]), encoding="utf-8")
        lines = [["table", "series", "caption"]] + [[f"{part}-{number}.csv", *value] for (part, number), value in sorted(self.index.items())]
        (self.folder / "index.csv").write_text(csv_text(lines), encoding="utf-8")


def chosen(table, selection):
    """The rows of a table that a block's selection names, with the columns that it names."""
    wanted = {key: " ".join(names.split()) for key, names in re.findall(r"(?ms)^(columns|rows):(.*?)(?=^(?:columns|rows):|\Z)", selection)}
    titles = table.rows[0]
    columns = [title.strip() for title in wanted["columns"].split(";")] if "columns" in wanted else titles
    for title in columns:
        if title not in titles:
            raise ValueError(f"there is no column '{title}': expected some of {titles}")
    rows = table.rows[1:]
    if "rows" in wanted:
        keys = [[cell.strip() for cell in row.split(" / ")] for row in wanted["rows"].split(";")]
        for key in keys:
            if not any(row[:len(key)] == key for row in rows):
                raise ValueError(f"there is no row '{' / '.join(key)}'")
        rows = [row for row in rows if any(row[:len(key)] == key for key in keys)]
    places = [titles.index(title) for title in columns]
    return [[plain(title) for title in columns]] + [[row[place] for place in places] for row in rows]


def shown(files, part, number, selection):
    """The content of a block of the page."""
    if (part, number) not in files.index:
        raise ValueError(f"there is no table {part}-{number}")
    table = files.table(part, number)
    rows = chosen(table, selection)
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "| " + " | ".join("---" for _ in rows[0]) + " |")
    everything = len(rows) == len(table.rows) and len(rows[0]) == len(table.rows[0])
    link = f"{files.folder.name}/{part}-{number}.csv"
    name = "As a file" if everything else "All rows and columns"
    return f"{table.caption}. [{name}]({link}):\n\n" + "\n".join(lines) + "\n"


def page_text(files, page):
    def fresh(block):
        number = int(block[2])
        try:
            text = shown(files, block[1], number, block[3])
        except ValueError as error:
            raise SystemExit(f"{block[1]} {number} on the page: {error}") from error
        return block[0][:block.start(4) - block.start()] + text + "<!-- end of coverage -->"
    return BLOCK.sub(fresh, page)


def is_number(cell):
    return re.fullmatch(r"[0-9.]+", cell) is not None


def is_share(title):
    """Returns whether the column is a share of all series, which scatters as a count does. A table shows no such error of widths and times."""
    return title.endswith("%") and not any(word in title for word in ("half-width", "where", "of these"))


def differences(part, kept, fresh, kept_series, fresh_series):
    if len(kept) != len(fresh):
        return [f"{part}: {len(kept)} tables in files, {len(fresh)} printed"]
    found = []
    for number, ((_, old), (_, new)) in enumerate(zip(kept, fresh), 1):
        where = f"{part}-{number}"
        titles = [plain(title) for title in old[0]]
        if titles != new[0]:
            found.append(f"{where}: columns {titles} in the file, {new[0]} printed")
            continue
        if [row[0] for row in old] != [row[0] for row in new]:
            found.append(f"{where}: rows {[row[0] for row in old]} in the file, {[row[0] for row in new]} printed")
            continue
        for ours, theirs in zip(old[1:], new[1:]):
            for title, a, b in zip(titles[1:], ours[1:], theirs[1:]):
                if not is_share(title) or not (is_number(a) and is_number(b)):
                    continue
                p = (float(a) * kept_series + float(b) * fresh_series + 100) / (kept_series + fresh_series + 2) / 100
                # One series more: what happens once in 2000 may happen among the first few, and a share near 100 % scatters by whole series.
                allowed = 5 * math.sqrt(max(p * (1 - p), 0) * (1 / kept_series + 1 / fresh_series)) + 1 / fresh_series + 0.001
                if abs(float(a) - float(b)) / 100 > allowed:
                    found.append(f"{where}: {ours[0]}: {title}: {a} in the file, {b} of {fresh_series} series printed")
    return found


def parts_of(program):
    return subprocess.run([str(program), "parts"], capture_output=True, text=True, check=True).stdout.split()


def write(arguments, files):
    for part in parts_of(arguments.program):
        if arguments.parts and part not in arguments.parts.split(","):
            continue
        kept = pathlib.Path(arguments.keep) / f"{part}.md" if arguments.keep else None
        if kept and kept.exists():
            text = kept.read_text(encoding="utf-8")
        else:
            text = output_of(arguments.program, part, arguments.series)
            if kept:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(text, encoding="utf-8")
        files.put(part, arguments.series, tables_of(text))


def check(arguments, files, page):
    found = []
    for part in parts_of(arguments.program):
        if (part, 1) not in files.index:
            found.append(f"{part}: no table of it in {files.folder}")
        elif not arguments.parts or part in arguments.parts.split(","):
            of = {"repeats": 4, "peaks": 4, "recorded": 4, "gates": 10}.get(part, 1)  # a series there is several runs
            found += differences(part, files.tables(part), tables_of(output_of(arguments.program, part, arguments.series)), files.series(part) / of,
                                 arguments.series / of)
    on_page = {block[1] for block in BLOCK.finditer(page)}
    found += [f"{part}: no block of it on {arguments.page}" for part in parts_of(arguments.program) if part not in on_page]
    if page_text(files, page) != page:
        found.append(f"{arguments.page}: its blocks differ from the files; `tables.py page` writes them")
    return found


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["write", "page", "check"])
    parser.add_argument("--series", type=int)
    parser.add_argument("--parts", default="")
    parser.add_argument("--page", default=str(ROOT / "docs/explanation/validation.md"))
    parser.add_argument("--program", default=str(ROOT / "build/bin/coverage"))
    parser.add_argument("--keep")
    arguments = parser.parse_args(argv)
    path = pathlib.Path(arguments.page)
    page = path.read_text(encoding="utf-8")
    files = Files(path.with_suffix(""))
    if arguments.what == "check":
        arguments.series = arguments.series or (24 if os.environ.get("DEEPGAP_LONG_TESTS") else 12)
        found = check(arguments, files, page)
        print("\n".join(found) if found else f"{len(files.index)} tables agree")
        return 1 if found else 0
    if arguments.what == "write":
        arguments.series = arguments.series or 2000
        write(arguments, files)
    path.write_text(page_text(files, page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
