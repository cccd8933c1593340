#!/usr/bin/env python3
"""Decides which sources may be compiled as one, so that none sees another's own names.

    tools/join_groups.py FILE       each line of the file is a target: its name, the most sources of a group, and its sources.
                                    Prints a line for each group: the target, the group's number and its sources.

A source's own names are what it defines in unnamed namespaces, as `static` or as a macro; tests are names, too. Two sources share a group
only where neither defines a name that the other defines, declares by `using`, calls or has for a type: joined, a call could find the other's
function by overload. It reads text, not C++, and takes a name too many rather than one too few; what it misses does not compile, or is a test that fails.
cmake/joined.cmake asks it."""
import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "src"
HEADERS = {}  # what was read of them
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)

TOKENS = re.compile(r'R"(?P<mark>[^(\s]*)\((?:.|\n)*?\)(?P=mark)"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
WORD = re.compile(r"[A-Za-z_]\w*")
TEST = re.compile(r"\b(?:TEST|TEST_F|TEST_P)\s*\(\s*(\w+)\s*,\s*(\w+)")
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
CALL = re.compile(r"(?<![\w.>:])(\w+)\s*(?:<[\w:, *&]*>)?\s*\(")
TYPE = re.compile(r"\b[A-Z]\w*[a-z]\w*\b")
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "catch", "alignas", "decltype", "static_assert", "defined", "operator", "noexcept",
            "registered",  # which cmake/joined.cmake makes each file's own
            "TEST", "TEST_F", "TEST_P", "INSTANTIATE_TEST_SUITE_P", "MATCHER", "MATCHER_P"}


def stripped(text):
    """Without comments and with empty strings."""
    return TOKENS.sub(lambda m: " " if m.group().startswith("/") else '""', text)


def declared(statement):
    """The name that a declaration at namespace scope makes, or None."""
    text = re.sub(r"\[\[.*?\]\]", " ", statement).strip()
    text = re.sub(r"^template\s*<.*?>\s*(?=struct|class|constexpr|inline|static|[A-Za-z_])", "", text, count=1, flags=re.DOTALL)
    kind = re.match(r"(?:struct|class|union|enum(?:\s+class)?)\s+(?:alignas\s*\([^)]*\)\s*)?(\w+)", text)
    if kind:
        return kind.group(1)
    if text.startswith("using "):
        alias = re.match(r"using\s+(\w+)\s*=", text)
        return alias.group(1) if alias else None
    if text.startswith(("namespace", "static_assert", "extern", "friend", "#")) or not text:
        return None
    head = re.split(r"[=({\[;]", text, maxsplit=1)[0].rstrip()
    if re.search(r"\w::~?\w+$", head):
        return None  # a member, of a class that has a name already
    words = WORD.findall(re.sub(r"<[^<>]*(?:<[^<>]*(?:<[^<>]*>)?[^<>]*>)?[^<>]*>", " ", head))
    return words[-1] if words and words[-1] not in KEYWORDS else None


def further(statement):
    """The other names of `int a = f(1), b, c = 2`."""
    flat = statement
    while flat != (flat := re.sub(r"\([^()]*\)|\[[^\[\]]*\]|<[^<>;]*>", " ", flat)):
        pass
    return re.findall(r",\s*\*?\s*(\w+)\s*(?==|,|$)", flat.strip()) if "=" in flat else []


def uses_of(text):
    """Functions that are called and types that are named."""
    return (set(CALL.findall(text)) | set(TYPE.findall(text))) - KEYWORDS


def uses_of_headers(text):
    """Those of the headers that a source includes, too: they are compiled where it stands."""
    uses = set()
    for name in INCLUDE.findall(text):
        if name not in HEADERS:
            path = SOURCES / name
            HEADERS[name] = uses_of(stripped(path.read_text(encoding="utf-8"))) if path.is_file() else set()
        uses |= HEADERS[name]
    return uses


def names_of(text):
    """Returns what a source defines for itself, what it declares by using, and what else it uses."""
    tests = {f"{suite}.{name}" for suite, name in TEST.findall(text)}
    own, used = set(MACRO.findall(text)) | tests, set()
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.MULTILINE)
    stack, start = [], 0  # one for each brace: 'unnamed', 'named' (a namespace) or 'other'
    for match in re.finditer(r"[{};]", text):
        statement = text[start:match.start()]
        at_scope = all(kind != "other" for kind in stack)
        if match.group() == "{":
            space = re.search(r"\bnamespace(\s+[\w:]+)?\s*$", statement)
            stack.append(("named" if space.group(1) else "unnamed") if space else "other")
            if at_scope and not space:
                add(statement, "unnamed" in stack[:-1], own, used)
        elif match.group() == "}":
            if stack:
                stack.pop()
        elif at_scope:
            add(statement, "unnamed" in stack, own, used)
        start = match.end()
    return own, used, uses_of(text)


def add(statement, unnamed, own, used):
    borrowed = re.match(r"\s*using\s+[\w:]*::(\w+)\s*$", statement)
    if borrowed:
        used.add(borrowed.group(1))
    elif unnamed or re.match(r"\s*static\b", statement):
        name = declared(statement)
        if name:
            own.add(name)
            own.update(further(statement))


def groups_of(sources, most):
    groups = []  # tuples (own, others' words, members)
    for source in sources:
        with open(source, encoding="utf-8") as file:
            text = file.read()
        own, used, called = names_of(stripped(text))
        words = used | called | uses_of_headers(text)
        for group in groups:
            if len(group[2]) < most and not own & (group[0] | group[1]) and not words & group[0]:
                break
        else:
            group = [set(), set(), []]
            groups.append(group)
        group[0] |= own
        group[1] |= words
        group[2].append(source)
    return groups


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        for target, most, *sources in map(str.split, file):
            for number, (_own, _words, members) in enumerate(groups_of(sources, int(most))):
                print(target, number, *members)


if __name__ == "__main__":
    main()
