#!/usr/bin/env python3
"""The help texts in docs/reference/command-line.md, from the program itself.

    tools/command_line_page.py write [--program build/bin/deepgap] [--page FILE]
    tools/command_line_page.py check [--program build/bin/deepgap] [--page FILE]

`write` replaces what stands between "<!-- help -->" and "<!-- end of help -->" by `deepgap --help`, and between "<!-- help of COMMAND -->" and
"<!-- end of help of COMMAND -->" by `deepgap COMMAND --help`, for every command. `check` changes nothing and fails if the page differs. Both fail
where a command has no such lines on the page, or where the page has lines for a command that does not exist."""
import argparse
import difflib
import os
import pathlib
import re
import sys
import tempfile

from prose_lint import help_texts
from table_in_page import put

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^<!-- (help(?: of [a-z]+)?) -->$", re.MULTILINE)


def block_name(title):
    """'deepgap --help' is the block "help", 'deepgap run --help' is "help of run"."""
    words = title.split()
    return "help" if len(words) == 2 else f"help of {words[1]}"


def without_trailing_blanks(text):
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n"))


def current_page(program, page):
    """The page's text with the help texts of this program."""
    texts = {block_name(title): text for title, text in help_texts(program)}
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    missing, unknown = [name for name in texts if name not in blocks], [name for name in blocks if name not in texts]
    if missing:
        sys.exit(f"command_line_page: {page} has no lines '<!-- {missing[0]} -->' and '<!-- end of {missing[0]} -->': add them under a heading")
    if unknown:
        sys.exit(f"command_line_page: {page} has a block '{unknown[0]}', but the program has no such command: remove it")
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "page.md"
        copy.write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
        for name, text in texts.items():
            put(copy, name, f"```text\n{without_trailing_blanks(text)}\n```")
        return copy.read_text(encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description="The help texts in docs/reference/command-line.md, from the program itself.")
    parser.add_argument("action", choices=["write", "check"])
    parser.add_argument("--program", default=str(ROOT / "build/bin/deepgap"))
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs/reference/command-line.md")
    options = parser.parse_args()
    os.environ["LC_ALL"] = "C.UTF-8"  # so that signs such as ± do not depend on the caller
    before, after = options.page.read_text(encoding="utf-8"), current_page(options.program, options.page)
    if options.action == "write":
        options.page.write_text(after, encoding="utf-8")
    elif before != after:
        sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), after.splitlines(True), str(options.page), "the program", n=0))
        sys.exit(f"command_line_page: {options.page} is not current: run tools/command_line_page.py write")


if __name__ == "__main__":
    main()
