#!/usr/bin/env python3
"""Counts what the structure of the code is judged by: python3 tools/code_numbers.py [REVISION]

Without a revision it counts the working tree. Product lines are the physical lines of C++ and CUDA in include/ and src/ without tests and
what only tests use. A function's length is that from the line of its opening brace to that of its closing one; the sources are in
clang-format's form, so the brace that closes a function stands under the beginning of its first line.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = (".cpp", ".h", ".cuh")
OF_TESTS = re.compile(r"(_test\.(cpp|h)|/testing/.*|/test_[^/]*\.h|/(fake|scripted|played)_[^/]*|_(fake|rig)\.h)$")
HEAD = re.compile(r"^( {0,4})(?!namespace|class |struct |enum |union |extern|template|using |typedef |static_assert|#|//|}|else|if |if\(|for |while |switch |do |return |case )"
                  r"[^\s=][^=;]*\(")
OPTION_TYPES = re.compile(r"^\s*(?:struct|class) (\w*Option|OptionInfo|OptionTable|AxisFlag)\b[^;]*\{", re.M)
CODECS = re.compile(r"^[\w:<>, &*]+ (\w+_from_json)\(", re.M)
RAW_CUDA = re.compile(r'R"\((.*?)\)"', re.S)
LONG_FUNCTION, LONG_FILE = 30, 350


def files(revision):
    """{path: text} of the product's sources and the glossary."""
    if revision is None:
        names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        return {name: (ROOT / name).read_text() for name in names.splitlines() if is_counted(name) and (ROOT / name).is_file()}
    names = subprocess.run(["git", "ls-tree", "-r", "--name-only", revision], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    wanted = [name for name in names.splitlines() if is_counted(name)]
    ask = "".join(f"{revision}:{name}\n" for name in wanted)
    answer = subprocess.run(["git", "cat-file", "--batch"], cwd=ROOT, input=ask.encode(), capture_output=True, check=True).stdout
    texts, at = {}, 0
    for name in wanted:
        end = answer.index(b"\n", at)
        size = int(answer[at:end].split()[2])
        texts[name] = answer[end + 1:end + 1 + size].decode()
        at = end + 2 + size
    return texts


def is_counted(name):
    return name == "docs/reference/glossary.md" or (name.startswith(("src/", "include/")) and name.endswith(SOURCES))


def function_lengths(text):
    """Lines between the braces of each function that has more than one line. A head may go on over lines that stand deeper."""
    lengths, head, indent, begin = [], None, None, 0
    for number, line in enumerate(text.splitlines()):
        if indent is not None:
            if line == indent + "}":
                lengths.append(number - begin - 1)
                indent = None
            continue
        found = HEAD.match(line)
        if found and (head is None or len(found.group(1)) <= len(head)):
            head = found.group(1)
        elif head is not None and not line.startswith(head + " "):
            head = None
        if head is None:
            continue
        if line.endswith("{"):
            indent, begin, head = head, number, None
        elif line.endswith((";", "}")):
            head = None
    return lengths


def glossary_words(text):
    """Rows of the tables of a page, by heading."""
    words, heading = {}, ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| ") and not line.startswith(("| word", "| ---")):
            words[heading] = words.get(heading, 0) + 1
    return words


def numbers(texts):
    glossary = texts.pop("docs/reference/glossary.md", "")
    product = {name: text for name, text in texts.items() if not OF_TESTS.search(name)}
    lengths = [length for text in product.values() for length in function_lengths(text)]
    return {
        "product lines": sum(text.count("\n") for text in product.values()),
        "of them CUDA in files": sum(text.count("\n") for name, text in product.items() if name.endswith(".cuh")),
        "of them CUDA in strings of C++": sum(
            raw.count("\n") for name, text in product.items() if name.startswith("src/engine/gpu/") and name.endswith(".cpp")
            for raw in RAW_CUDA.findall(text)),
        "words in the glossary": sum(glossary_words(glossary).values()),
        "types that declare options": len({name for text in product.values() for name in OPTION_TYPES.findall(text)}),
        "readers of JSON (*_from_json)": len({name for text in product.values() for name in CODECS.findall(text)}),
        "functions": len(lengths),
        f"functions over {LONG_FUNCTION} lines": sum(length > LONG_FUNCTION for length in lengths),
        f"files over {LONG_FILE} lines": sum(text.count("\n") > LONG_FILE for text in product.values()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revision", nargs="?", help="a commit to count instead of the working tree")
    for name, value in numbers(files(parser.parse_args().revision)).items():
        print(f"{value:8,}  {name}")


if __name__ == "__main__":
    sys.exit(main())
