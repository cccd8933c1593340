#!/usr/bin/env python3
"""Builds the static site from the pages in docs/, with Zensical out of .venv/site; a broken link is an error.

    tools/build_site.py [--output build/site] [--zensical .venv/site/bin/zensical] [--program build/bin/deepgap]

The pages are written for the repository's own view of Markdown. For the generator they are copied, with three changes: a list or table that follows a
paragraph gets the blank line that Python-Markdown wants; nested lists are indented as it wants them; links to files that the site does not have become
plain text. The measured stores are published with `deepgap site` under results/explore/. The site loads nothing from elsewhere.
"""
import argparse
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPIED = {".md", ".svg", ".png", ".jpg", ".csv", ".toml", ".html"}
NOTEBOOK = ".ipynb"  # becomes a page of the same name
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
LIST = re.compile(r"( *)(?:[-*+]|\d+\.) ")


def plain_links(text, page, docs):
    """Links to what the site does not have, as their text."""
    def replace(match):
        mark, label, target = match.groups()
        path = target.partition("#")[0]
        if re.match(r"[a-z][a-z0-9+.-]*:", target) or not path:
            return match.group()
        file = (page.parent / path).resolve()
        if file.is_relative_to(docs) and file.is_file() and file.suffix == NOTEBOOK:
            return f"{mark}[{label}]({path.removesuffix(NOTEBOOK)}.md{target[len(path):]})"
        if file.is_relative_to(docs) and file.is_file() and file.suffix in COPIED:
            return match.group()
        return "" if mark else label
    return LINK.sub(replace, text)


def for_python_markdown(text):
    """Blank lines before lists and tables, and four spaces for each level of a list."""
    lines, fence, depths = [], None, []
    for line in text.split("\n"):
        mark = re.match(r" *(```+|~~~+)", line)
        if mark:
            fence = None if fence else mark.group(1)
        item = None if fence else LIST.match(line)
        before = lines[-1] if lines else ""
        if item and before.strip() and not depths or line.startswith("|") and not fence and before.strip() and not before.startswith("|"):
            lines.append("")
        if item:
            indent = len(item.group(1))
            while depths and depths[-1] >= indent:
                depths.pop()
            depths.append(indent)
            line = "    " * (len(depths) - 1) + line.lstrip()
        elif line and not line.startswith(" "):
            depths = []
        lines.append(line)
    return "\n".join(lines)


def output_of_cell(output):
    """Returns a notebook cell's output: HTML, whose tables may be wider than a telephone, in a box that scrolls; text as a block."""
    data = output.get("data", {})
    if "text/html" in data:
        return f'<div style="overflow-x: auto">{"".join(data["text/html"])}</div>\n'
    text = "".join(data.get("text/plain", output.get("text", output.get("traceback", []))))
    return f"```text\n{text.rstrip()}\n```\n" if text.strip() else ""


def page_of_notebook(text):
    """A Jupyter notebook as Markdown: its text, its code, and the outputs that it keeps."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source + "\n")
        elif cell["cell_type"] == "code":
            parts.append(f"```python\n{source}\n```\n")
            parts += [shown for shown in map(output_of_cell, cell["outputs"]) if shown]
    return "\n".join(parts)


def copy_pages(docs, target):
    for file in sorted(docs.rglob("*")):
        if file.suffix not in {*COPIED, NOTEBOOK} or not file.is_file():
            continue
        copy = target / file.relative_to(docs)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == NOTEBOOK:
            copy.with_suffix(".md").write_text(for_python_markdown(plain_links(page_of_notebook(file.read_text()), file, docs)))
        elif file.suffix == ".md":
            copy.write_text(for_python_markdown(plain_links(file.read_text(), file, docs)))
        else:
            shutil.copyfile(file, copy)


def publish_stores(program, docs):
    """The measured stores as pages to explore, and a link to them."""
    stores = sorted(str(store) for store in (ROOT / "docs/results").rglob("*.db"))
    done = subprocess.run([program.absolute(), "site", *stores, "-o", docs / "results/explore", "--title", "Measured results", "--anonymous"],
                          capture_output=True, text=True)
    if done.returncode:
        return done.stderr
    index = docs / "results/index.md"
    index.write_text(index.read_text() + "\n\n## Explore\n[All measured points](explore/index.html), to filter, sort and link to.\n")
    return ""


class Targets(html.parser.HTMLParser):
    """Links, pictures and scripts of one page, and what can be linked to in it."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src", "srcset") and value and (tag != "link" or ("rel", "canonical") not in attributes):
                self.links.append((tag, value))
            elif name in ("id", "name") and value:
                self.ids.add(value)


def broken(site):
    """Returns broken links of the built pages, and what they would load from elsewhere."""
    pages = {file: Targets(file.read_text()) for file in sorted(site.rglob("*.html")) if (file.parent / "index.html").exists()}
    for file, targets in pages.items():
        if file.name != "index.html":  # a report that is linked, or the page for addresses that are not there
            continue
        for tag, link in targets.links:
            address = urllib.parse.urlsplit(link)
            if address.scheme or address.netloc:
                if tag in ("img", "script", "link", "source") and address.scheme != "data":
                    yield f"{file.relative_to(site)}: loads {link}"
                continue
            other = (file.parent / urllib.parse.unquote(address.path)).resolve() if address.path else file
            other = other / "index.html" if other.is_dir() else other
            if not other.is_file():
                yield f"{file.relative_to(site)}: {link} does not exist"
            elif address.fragment and other in pages and other.name == "index.html" and urllib.parse.unquote(address.fragment) not in pages[other].ids:
                yield f"{file.relative_to(site)}: {link}: no such heading"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/site")
    parser.add_argument("--zensical", type=pathlib.Path, default=ROOT / ".venv/site/bin/zensical")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/bin/deepgap")
    flags = parser.parse_args()
    work = flags.output.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    copy_pages(ROOT / "docs", work / "docs")
    wrong = publish_stores(flags.program, work / "docs")
    if wrong:
        print(wrong, file=sys.stderr)
        return 1
    shutil.copyfile(ROOT / "tools/site.toml", work / "zensical.toml")
    done = subprocess.run([flags.zensical.absolute(), "build", "--strict", "--clean"], cwd=work, capture_output=True, text=True)
    if done.returncode:
        print(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr.partition("Traceback")[0]), file=sys.stderr)
        return 1
    shutil.copytree(work / "docs/results/explore", work / "site/results/explore", dirs_exist_ok=True)  # a generator may leave scripts out
    found = list(broken(work / "site"))
    print("\n".join(found) or f"the site is in {work / 'site'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
