"""Puts a generated table into a page, between the lines "<!-- NAME -->" and "<!-- end of NAME -->"."""
import sys


def put(path, name, text):
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    page = path.read_text()
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        sys.exit(f"{path} has no lines '{begin}' and '{end}'")
    before, rest = page.split(begin)
    path.write_text(before + begin + "\n" + text + "\n" + end + rest.split(end)[1])
