#!/usr/bin/env python3
"""Checks the links of the pages: every relative link, picture and anchor in the Markdown files exists, and so does every page that a source, a test or
a message names as a file below docs/. Loads nothing: addresses with a scheme are passed over.

    tools/check_links.py [ROOT]
"""
import html
import pathlib
import re
import subprocess
import sys

FENCE = re.compile(r"^ {0,3}(```+|~~~+)[^\n]*\n.*?(?:^ {0,3}\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
LINK = re.compile(r"\]\(\s*<?([^()\s<>]*(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)", re.MULTILINE)
ATTRIBUTE = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)\s*=\s*[\"']([^\"']+)[\"']", re.IGNORECASE)
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
ANCHOR = re.compile(r"<a\b[^>]*?\b(?:id|name)\s*=\s*[\"']([^\"']+)[\"']", re.IGNORECASE)
PAGE = re.compile(r"(?<![\w./-])docs/[\w./-]*\w\.md\b")
SOURCES = ("src", "include", "tests", "tools", "studies", "cmake", "bench", "CMakeLists.txt", "check", "quickstart")


def without_fences(text):
    """Blanks fenced code, so that line numbers stay."""
    return FENCE.sub(lambda match: "\n" * match.group().count("\n"), text)


def slug(heading):
    """The anchor that a heading has on the common hosts: lower case, spaces as hyphens, punctuation dropped."""
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)  # a link's text alone
    heading = html.unescape(re.sub(r"<[^>]+>", "", heading)).replace("`", "").replace("*", "")
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(text):
    text = without_fences(text)
    found = set(ANCHOR.findall(text))
    seen = {}
    for heading in HEADING.findall(text):
        name = slug(heading)
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return found


def links(text):
    """Pairs of line number and target, outside of code."""
    text = CODE.sub(lambda match: " " * len(match.group()), without_fences(text))
    for pattern in (LINK, DEFINITION, ATTRIBUTE):
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start(1)) + 1, match.group(1)


def broken(root, page, cache):
    """Returns the broken links of one page, a line each."""
    for line, target in links(page.read_text()):
        if re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.IGNORECASE):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        where = f"{page.relative_to(root)}:{line}"
        if not file.is_relative_to(root):
            yield f"{where}: '{target}' leads out of the repository"
        elif not file.exists():
            yield f"{where}: '{target}' does not exist"
        elif anchor and file.suffix == ".md":
            if file not in cache:
                cache[file] = anchors(file.read_text())
            if anchor not in cache[file]:
                yield f"{where}: '{target}': the page has no heading '#{anchor}'"


def tracked(root, names):
    """Files below `names` that git knows; all files where there is no git, as in an unpacked archive."""
    done = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *names], capture_output=True)
    if done.returncode == 0:
        files = [root / name for name in done.stdout.decode().split("\0") if name]
    else:
        files = [file for name in names for file in ((root / name).rglob("*") if (root / name).is_dir() else [root / name])]
    return sorted(file for file in files if file.is_file())


def dangling(root):
    """Pages that sources name and that are not there."""
    for file in tracked(root, SOURCES):
        if file.parent.name == "tools" and file.name.endswith("_test.py"):  # their pages are made up
            continue
        try:
            text = file.read_text()
        except UnicodeDecodeError:
            continue
        for match in PAGE.finditer(text):
            if not (root / match.group()).exists():
                yield f"{file.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}: names {match.group()}, which does not exist"


def problems(root):
    root = root.resolve()
    cache = {}
    pages = [file for file in tracked(root, ["docs", "bench", "studies", *(page.name for page in root.glob("*.md"))]) if file.suffix == ".md"]
    return [line for page in pages for line in broken(root, page, cache)] + list(dangling(root))


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    found = problems(root)
    print("\n".join(found) if found else "all links are there")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
