#!/usr/bin/env python3
"""Reads every include of src/, include/, bench/ and tools/ and fails where a module includes one that docs/design.md does not allow it,
or where that page's table of modules says something else than this file.

Run from the tree's root; an argument names another root (the test of the test uses one)."""
import pathlib
import re
import sys

# module -> modules it may include besides itself. The public headers in include/deepgap may be included by all and include only each other.
ALLOWED = {
    "base": set(),
    "stats": {"base"},
    "record": {"base"},
    "ceilings": {"base", "cuda"},
    "profile": {"base", "ceilings", "kernels"},
    "model": {"base", "stats"},
    "dataset": {"base", "stats", "model"},
    "generate": {"base", "stats", "model", "dataset"},
    "cuda": {"base"},
    "kernels": {"base", "cuda"},
    "engine": {"base", "stats", "model", "engine/passes", "engine/plan"},
    "engine/plan": {"base"},
    "engine/gpu": {"base", "model", "cuda", "engine/passes", "engine/plan"},
    "engine/passes": {"base", "model"},
    "quantize": {"base", "stats", "model", "engine/passes"},
    "scenario": {"base", "stats", "record"},
    "telemetry": {"base"},
    "plan": {"base", "stats", "record"},
    "store": {"base", "record"},
    "analysis": {"base", "stats", "record"},
    "published": {"base", "record", "plan", "analysis"},
    "report": {"base", "stats", "record", "analysis", "ceilings", "kernels", "profile"},
    "site": {"base", "stats", "record", "analysis", "ceilings", "kernels", "profile", "report"},
    "worker": {"base", "stats", "record", "profile", "kernels", "model", "dataset", "generate", "scenario", "telemetry", "quantize", "engine/passes"},
    "mlperf": {"base", "stats", "record", "scenario", "analysis", "worker"},
    "training": {"base", "record", "model", "scenario", "telemetry", "worker"},
    "run": {"base", "stats", "record", "plan", "store", "analysis", "worker"},
    "fleet": {"base", "record", "plan", "store", "analysis", "run", "telemetry"},
    "backends/null": {"base", "backends/common"},
    "backends/common": {"base"},
    "backends/http": {"base", "backends/common"},
    "backends/kserve": {"base", "backends/common", "backends/http"},
    "backends/openai": {"base", "backends/common", "backends/http"},
    "backends/generate": {"base", "backends/common", "model"},
    "backends/onnxruntime": {"base", "backends/common", "backends/generate", "model"},
    "backends/openvino": {"base", "backends/common", "backends/generate", "model"},
    "backends/native": {"base", "backends/common", "backends/generate", "model", "cuda", "engine", "engine/gpu", "engine/passes"},
    "backends/tensorflow": {"base", "model", "backends/common", "engine/passes"},
    "backends/xla": {"base", "model", "cuda", "backends/common", "engine/passes"},
    "backends/libtorch": {"base", "model", "cuda", "backends/common", "backends/generate", "engine/passes"},
    "cli": {"base", "stats", "record", "ceilings", "profile", "kernels", "model", "dataset", "generate", "scenario", "telemetry", "plan", "store", "analysis", "report", "site", "worker", "run", "quantize"},
}
# Features that a build can be without: only the module's own folder of the command line includes it.
for _module in ("fleet", "mlperf", "published", "training"):
    ALLOWED[f"cli/{_module}"] = ALLOWED["cli"] | {"cli", _module}
# Sources of every kind: C++, CUDA, and text that others include.
SUFFIXES = {".h", ".hpp", ".cuh", ".inc", ".c", ".cc", ".cpp", ".cu"}
# Programs beside deepgap, each a folder or a file: they may see any module and their own folder, and nothing of src/ sees them.
PROGRAMS = ("bench", "tools")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def module_of(path):
    parts = path.split("/")
    inner = "/".join(parts[:2])
    return inner if parts[0] == "backends" or inner in ALLOWED else parts[0]


def violations(root):
    source = root / "src"
    for path in sorted(source.rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        module = module_of(str(path.relative_to(source)))
        if module not in ALLOWED:
            yield f"{path.relative_to(root)}: module '{module}' is not in tests/layering.py and docs/design.md"
            continue
        for bracket, name in INCLUDE.findall(path.read_text()):
            if bracket == "<" or name.startswith("deepgap/") or "/" not in name:
                continue
            if name.split("/")[0] in PROGRAMS or name.startswith("../"):
                yield f"{path.relative_to(root)} includes {name}: it is outside src/"
                continue
            other = module_of(name)
            if other != module and other not in ALLOWED[module] and (source / name).exists():
                yield f"{path.relative_to(root)} includes {name}: {module} may not see {other}"
    yield from program_violations(root)
    for path in sorted((root / "include" / "deepgap").glob("*.h")):
        for bracket, name in INCLUDE.findall(path.read_text()):
            if bracket == '"':
                yield f"{path.relative_to(root)} includes {name}: public headers see only each other"


def program_violations(root):
    for folder in PROGRAMS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            for bracket, name in INCLUDE.findall(path.read_text()):
                own = (path.parent / name).exists() and ".." not in name.split("/")
                if bracket == '"' and not own and not (root / "src" / name).exists() and not (root / "include" / name).exists():
                    yield f"{path.relative_to(root)} includes {name}: neither its own folder's nor a module's"


# A row of the table of modules: `src/MODULE/`, what it does, what it may include.
ROW = re.compile(r"^\| `src/([^`]+)/` \|.*\| *([^|]*?) *\|$", re.M)


def page_violations(root):
    page = root / "docs" / "design.md"
    if not page.is_file():
        return
    rows = dict(ROW.findall(page.read_text()))
    for module in ALLOWED:
        if module not in rows and module.split("/")[0] != "backends":
            yield f"docs/design.md has no row for the module src/{module}/"
    for module, text in rows.items():
        named = {word.strip(" `") for word in text.split(",") if word.strip()}
        # Modules within a module, the plug-ins and the command line are described in words.
        if module in ALLOWED and named <= ALLOWED.keys() and named != ALLOWED[module]:
            yield f"docs/design.md says that {module} may include {', '.join(sorted(named))}; it may include {', '.join(sorted(ALLOWED[module]))}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    if not (root / "src").is_dir():
        sys.exit(f"layering: {root} has no src/")
    found = [*violations(root), *page_violations(root)]
    print("\n".join(found) or f"layering: {len(ALLOWED)} modules, nothing out of order")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
