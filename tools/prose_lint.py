#!/usr/bin/env python3
"""Checks that what people read is plain technical English: pages, help texts, the string literals of src/, and how comments and docstrings begin.

  tools/prose_lint.py [--program build/bin/deepgap] [FILE ...]

Without FILE it checks README.md, CHANGELOG.md, docs/**/*.md and src/**, comments also in bench/, include/ and tests/, and docstrings of Python, except the files that
tools/prose_lint_todo.txt lists; with FILE it checks these alone, listed or not. With --program it checks the output of `deepgap --help` and of `deepgap COMMAND --help` for every command.
Code blocks and `inline code` are not prose. Exit code 1: something was found, one line each.
"""
import argparse
import ast
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TODO = ROOT / "tools" / "prose_lint_todo.txt"
CPP_ENDINGS = (".cpp", ".cu", ".cuh", ".h")
MOST_WORDS = 30
MOST_WORDS_OF_A_CHANGE = 15
MOST_CHARACTERS = 200

# (pattern, what to write instead). They apply to prose and to literals, whatever the case.
BANNED = [
    (r"\b(?:is|are|was|were) no\b(?! (?:longer|more|less|fewer|larger|smaller|slower|faster|better|worse)\b)", '"is not a" or "there is no"'),
    (r"\b(?:is|are|was|were) (?:none|nothing)\b(?! to\b)", '"there are no ..." or a verb: "deepgap found no ..."'),
    (r"\b(?:told|said)\b(?! apart)", '"reported", "shown" or "stated"'),
    (r"\b(?:told|tells?|telling) (?:\w+ )?apart\b", '"distinguish"'),
    (r"\bmend(?:s|ed|ing)?\b", '"fix"'),
    (r"\bfore(?:tell|tells|telling|told)\b", '"predict"'),
    (r"(?<![-'=_.])\bduel(?:s|led|ling)?\b(?![='_])", '"interleaved comparison"'),
    (r"\bcontenders?\b", '"arm"'),
    (r"\b(?:not separable|inseparable|cannot be told)\b", '"no significant difference"'),
    (r"\bas found\b", '"no target"'),
    (r"\bundecided\b(?! \(inconclusive)", '"inconclusive"'),
    (r"\blatency bounds?\b", '"latency SLO"'),
    (r"(?<![-'_./])(?<!deepgap )\bceilings?\b(?![-'_./]\w)", '"measured peak"'),
    (r"\bwinners?\b", '"tuned configuration"'),
    (r"\bbrought along\b", '"bundled"'),
    (r"\b(?:matrix products?|products? of matrices)\b", '"GEMM"'),
    (r"\bplain evaluator\b", '"reference interpreter"'),
    (r"\bcopy engines?\b", '"TMA", or "DMA engine"'),
    (r"\bping[- ]pong teams?\b", '"ping-pong warpgroups"'),
    (r"(?<!zeros, )\bpictures?\b(?!, crops)", '"image" or "figure"'),
    (r"\brooms?\b", '"module"'),
    (r"\bhand(?:s|ed)? in\b", '"upload" or "pass"'),
    (r"\bfor ever\b", '"forever", or what happens: "counts as infinite latency"'),
    (r"\bnothing need be\b", '"nothing needs to be"'),
    (r"\bsay(?:s)? more\b", '"see ... for more"'),
    (r"\bone word too many\b", '"unexpected argument"'),
    (r"\bas it were\b", "nothing"),
    (r"\bin place of\b", '"instead of"'),
    (r"\bwhoever|whatever is\b", "a subject"),
    (r"\d(?:\.\d+)?e[+-]?\d+ ?%", 'a percentage without an exponent: "±680 %"'),
]
# These formats in a literal print numbers badly; base/quantity.h has functions for them.
BANNED_FORMATS = [
    (r"\{[^{}]*g\} ?%", "percent_text(): this prints exponents"),
    (r"\+-\s?\{", "plus_minus_text(): one style of intervals"),
]
FRAGMENT = re.compile(r"^(?:Of|What|Whose|Who)\b")
COMMENT_FRAGMENT = re.compile(r"[Oo]f\s")
DOCSTRING_FRAGMENT = re.compile(r"(?:Of|What|Whose|Who|As)\s")
ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|vs|cf|etc|al|approx|resp|No|Fig|Sec|Eq|[A-Z])\.)$")


class Text:
    """Prose joined from lines, that still knows which line each character comes from."""

    def __init__(self, is_cell=False):
        self.text, self.starts, self.is_cell = "", [], is_cell

    def add(self, line_number, part):
        part = part.strip()
        if not part:
            return
        if self.text:
            self.text += " "
        self.starts.append((len(self.text), line_number))
        self.text += part

    def line_lengths(self):
        ends = [start - 1 for start, _ in self.starts[1:]] + [len(self.text)]
        return [(line, end - start) for (start, line), end in zip(self.starts, ends)]

    def line_of(self, at):
        return [line for start, line in self.starts if start <= at][-1]


def sentences(text):
    """(start, sentence) of each. The point of an abbreviation does not end a sentence."""
    start = 0
    for end in re.finditer(r"[.!?][\"')\]*_]*(?=\s+|$)", text):
        if text[end.start()] == "." and ABBREVIATION.search(text[start:end.start() + 1]) and end.end() < len(text):
            continue
        yield start, text[start:end.end()].strip()
        start = end.end() + (len(text[end.end():]) - len(text[end.end():].lstrip()))
    if text[start:].strip():
        yield start, text[start:].strip()


def words_of(sentence):
    return [word for word in sentence.split() if re.search(r"\w", word)]


def check_prose(prose, fragments=True, most_words=MOST_WORDS):
    """(line, message) of each finding in a Text."""
    for pattern, instead in BANNED:
        for match in re.finditer(pattern, prose.text, re.IGNORECASE):
            if match.group(0).lower() in ("is no", "are no", "was no", "were no") and re.search(r"\bthere $", prose.text[:match.start()], re.IGNORECASE):
                continue
            yield prose.line_of(match.start()), f'"{match.group(0)}": write {instead}'
    for start, sentence in sentences(prose.text):
        count = len(words_of(sentence))
        if count > most_words:
            yield prose.line_of(start), f'a sentence of {count} words (at most {most_words}): "{sentence[:60]}..."'
        bare = sentence.lstrip("*_\"'( ")
        if fragments and FRAGMENT.match(bare) and not sentence.rstrip("*_\"') ").endswith("?"):
            yield prose.line_of(start), f'a sentence begins with "{bare.split()[0]}": begin with the actor or the verb: "{sentence[:60]}"'


def without_markup(line):
    line = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "code", line)
    line = re.sub(r"!?\[([^\]]*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)", r"\1", line)
    line = re.sub(r"!?\[([^\]]*)\]\[[^\]]*\]", r"\1", line)
    line = re.sub(r"<?https?://[^\s>)]*>?", "address", line)
    line = re.sub(r"<[^<>]*>", " ", line)
    return line.replace("&nbsp;", " ")


NEW_BLOCK = re.compile(r"^\s*(?:[-*+] |\d+[.)] |#{1,6} |>|\||!!!|\?\?\?|===|:\s)")


def page_blocks(text):
    """The Texts of a page: paragraphs, items, headings, cells of tables."""
    blocks, current, fence, in_comment, in_container = [], Text(), None, False, False
    lines = text.split("\n")
    front = bool(lines) and lines[0] == "---"
    for number, line in enumerate(lines, 1):
        if front:
            front = number == 1 or line != "---"
            continue
        mark = re.match(r"^[\s>]*(```+|~~~+)", line)
        if fence is not None:
            if mark and mark.group(1).startswith(fence) and not line.strip(" >").strip(mark.group(1)[0]):
                fence = None
            continue
        if mark:
            fence = mark.group(1)
            blocks, current = blocks + [current], Text()
            continue
        if in_comment or "<!--" in line:
            in_comment = "-->" not in line
            continue
        if line.startswith("    ") and not current.text and not in_container:
            continue  # a block of code by its indent
        if line[:1].strip():
            in_container = bool(re.match(r"(?:[-*+] |\d+[.)] |!!!|\?\?\?|===|:\s|\[\^)", line))
        if not line.strip() or re.match(r"^\s*\[[^\]]+\]: ", line) or re.match(r"^\s*[-=*_| :+]+$", line):
            blocks, current = blocks + [current], Text()
            continue
        if NEW_BLOCK.match(line):
            blocks, current = blocks + [current], Text()
        plain = without_markup(line)
        if line.lstrip().startswith("|"):
            for cell in re.split(r"(?<!\\)\|", plain.strip().strip("|")):
                block = Text(is_cell=True)
                block.add(number, cell)
                blocks.append(block)
            continue
        heading = re.match(r"^\s*#{1,6} ", line)
        current.add(number, re.sub(r"^\s*(?:[-*+] (?:\[[ x]\] )?|\d+[.)] |#{1,6} |> ?|!!! ?\w* ?|\?\?\?\+? ?\w* ?|=== ?|: )", "", plain))
        if heading:
            blocks, current = blocks + [current], Text()
    return [block for block in blocks + [current] if block.text]


def check_page(text):
    for block in page_blocks(text):
        for line, length in block.line_lengths() if not block.is_cell else []:
            if length > MOST_CHARACTERS:
                yield line, f"a line of {length} characters (at most {MOST_CHARACTERS})"
        yield from check_prose(block)


def check_changelog(text):
    for number, line in enumerate(text.splitlines(), 1):
        words = len(line.split()) - 1
        if line.startswith("- ") and words > MOST_WORDS_OF_A_CHANGE:
            yield number, f"an entry of {words} words (at most {MOST_WORDS_OF_A_CHANGE})"


LITERAL = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<raw>R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)")|(?P<char>'(?:[^'\\\n]|\\.)+')|(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<line>\#[^\n]*include[^\n]*)""",
                     re.DOTALL | re.VERBOSE)


def literals(source):
    """(line, text) of each string literal of C++; adjacent ones are one. Raw ones are code of another language and left out."""
    parts, end = [], 0
    for match in LITERAL.finditer(source):
        if match.group("comment"):
            continue
        if match.group("text") is None:
            continue
        line = source.count("\n", 0, match.start()) + 1
        between = re.sub(r"//[^\n]*|/\*.*?\*/", "", source[end:match.start()], flags=re.DOTALL)
        value = match.group("text")[1:-1].replace('\\"', '"').replace("\\n", "\n").replace("\\t", "\t")
        if parts and not between.strip():
            parts[-1] = (parts[-1][0], parts[-1][1] + value)
        else:
            parts.append((line, value))
        end = match.end()
    return parts


def comments(source):
    """(line, text) of each // comment of C++. Lines below each other are one comment if they begin in one column and no code stands before the second."""
    parts, last = [], None
    for match in LITERAL.finditer(source):
        if not (match.group("comment") or "").startswith("//"):
            continue
        begin = source.rfind("\n", 0, match.start()) + 1
        line, column = source.count("\n", 0, begin) + 1, match.start() - begin
        text = match.group("comment").lstrip("/<! ").rstrip()
        if last == (line - 1, column) and not source[begin:match.start()].strip():
            parts[-1] = (parts[-1][0], f"{parts[-1][1]} {text}")
        else:
            parts.append((line, text))
        last = (line, column)
    return parts


def check_comments(source):
    for line, text in comments(source):
        if COMMENT_FRAGMENT.match(text):
            yield line, f'a comment begins with "{text.split()[0]}": begin with a subject or a verb: "{text[:60]}"'


def check_docstrings(source):
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        text = ast.get_docstring(node) or ""
        if DOCSTRING_FRAGMENT.match(text):
            yield node.body[0].lineno, f'a docstring begins with "{text.split()[0]}": begin with a verb: "{text.splitlines()[0][:60]}"'


SENTENCE = re.compile(r"\b(?:the|a|an|is|are|to|of|in|with)\b")  # a list of names, which is long, has none of them


def check_source(source):
    for line, value in literals(source):
        if " " not in value.strip():
            continue
        for pattern, instead in BANNED_FORMATS:
            for match in re.finditer(pattern, value):
                yield line, f'"{match.group(0)}": use {instead}'
        if len(value.split()) < 3 or re.match(r"^\s*(?:SELECT|CREATE|INSERT|UPDATE|DELETE|WITH|ALTER|PRAGMA)\b", value):
            continue
        for part in re.split(r"\n", value):  # a line of its own is a sentence of its own
            block = Text()
            block.add(line, re.sub(r"(`+).+?\1|<[^<>]*>", "code", part))
            if block.text:
                yield from check_prose(block, most_words=MOST_WORDS if SENTENCE.search(block.text) else 10**6)


def check_help(text):
    """Takes each flag's description as a paragraph. Examples are commands with a note, not prose."""
    block, blocks = Text(), []
    for number, line in enumerate(text.split("Examples:")[0].split("\n"), 1):
        described = re.match(r"^\s{0,4}(?:-\S|\S).*?\s{2,}(?=\S)", line)
        if not line.strip() or not line.startswith(" ") or described or re.match(r"^\s{2,6}-", line):
            blocks, block = blocks + [block], Text()
        if re.match(r"^\s{2,6}-", line) and not described:
            continue  # flags alone, described below
        block.add(number, line[described.end():] if described else line)
    for block in blocks + [block]:
        if block.text:
            yield from check_prose(block)


def help_texts(program):
    """(name, text) of the program's help and of that of every command it lists."""
    def output(*arguments):
        return subprocess.run([program, *arguments], check=True, capture_output=True, text=True, timeout=60).stdout
    text = output("--help")
    yield "deepgap --help", text
    for name in sorted(set(re.findall(r"^  ([a-z]+) {2,}\S", text, re.MULTILINE))):
        yield f"deepgap {name} --help", output(name, "--help")


def listed_files(path):
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def covered(root):
    """Every file that is checked when none is named, by its path below the root."""
    pages = [root / "README.md", root / "CHANGELOG.md", *sorted((root / "docs").rglob("*.md"))]
    sources = [path for folder in ("bench", "include", "src", "tests") for path in sorted((root / folder).rglob("*")) if path.suffix in CPP_ENDINGS]
    scripts = [path for folder in ("bench", "python", "tests", "tools") for path in sorted((root / folder).rglob("*.py"))]
    return [str(path.relative_to(root)) for path in pages + sources + scripts if path.exists()]


def check_file(root, name):
    text = (root / name).read_text(encoding="utf-8")
    if name.endswith(".md"):
        return sorted({*check_page(text), *(check_changelog(text) if name == "CHANGELOG.md" else ())})
    if name.endswith(".py"):
        return sorted(set(check_docstrings(text)))
    is_read_by_users = name.startswith("src/") and not name.endswith("_test.cpp")
    return sorted({*check_comments(text), *(check_source(text) if is_read_by_users else ())})


def main(arguments, root=ROOT, todo=TODO):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args(arguments)
    listed = set(listed_files(todo))
    if options.files:
        names = [str(pathlib.Path(name).resolve().relative_to(root)) for name in options.files]
    else:
        names = [name for name in covered(root) if name not in listed and not any(name.startswith(folder) for folder in listed if folder.endswith("/"))]
    found = [f"{name}:{line}: {message}" for name in names for line, message in check_file(root, name)]
    if options.program:
        found += [f"{name}: {message}" for name, text in help_texts(options.program) for _, message in check_help(text)]
    for line in found:
        print(line)
    if not options.files:
        for name in sorted(listed):
            if not (root / name).exists() or (not name.endswith("/") and not check_file(root, name)):
                print(f"note: {name} can be removed from {todo.name}", file=sys.stderr)
    print(f"{len(found)} found in {len(names)} files{' and the help texts' if options.program else ''}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
