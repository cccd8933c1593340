#!/usr/bin/env python3
"""No two classes of namespace deepgap have one name where one program could hold both: the linker would take the members of either for both.
Reads src/ and include/; classes in anonymous namespaces and in functions or other classes are their file's own.

Run from the tree's root; an argument names another root (the test of the test uses one)."""
import collections
import pathlib
import re
import sys

# Comments and texts hold braces that are none.
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S)
TOKEN = re.compile(r"[{};]")
CLASS = re.compile(r"(?:^|[\s>])(?:class|struct|union)\s+(?:\[\[[^\]]*\]\]\s*|alignas\([^)]*\)\s*)*(\w+)\s*(?:final\s*)?(?::(?!:).*)?$", re.S)
NAMESPACE = re.compile(r"\bnamespace\b\s*([\w:]*)\s*$")


def shared_classes(text):
    """(qualified name) of each class that is defined where other files could see or repeat it."""
    text = NO_CODE.sub(" ", text)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", " ", text, flags=re.M)
    scopes, begin = [], 0  # of each open brace: a namespace's name, or None for what is its file's own
    for token in TOKEN.finditer(text):
        before, begin = text[begin:token.start()], token.end()
        if token.group() == "{":
            namespace, found = NAMESPACE.search(before), CLASS.search(before.strip())
            if namespace:
                scopes.append(namespace.group(1) or None)
                continue
            if found and not re.search(r"template\s*<>\s*(?:class|struct)", before) and None not in scopes:
                yield "::".join([*scopes, found.group(1)])
            scopes.append(None)
        elif token.group() == "}" and scopes:
            scopes.pop()


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    places = collections.defaultdict(set)
    for folder in ("include", "src"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                for name in shared_classes(path.read_text()):
                    places[name].add(str(path.relative_to(root)))
    twice = {name: sorted(files) for name, files in places.items() if len(files) > 1}
    for name, files in sorted(twice.items()):
        print(f"{name}: {', '.join(files)}: rename all but one, or put it into an anonymous namespace")
    if not places and root == pathlib.Path("."):
        print("no class was found: run it from the tree's root")
        return 1
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
