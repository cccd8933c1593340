#!/usr/bin/env python3
"""tools/engines_table.py on rows written by hand."""
import json
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).with_name("engines_table.py")


def row(engine, precision, batch=16, **values):
    return {"model": "m", "backend": engine, "precision": precision, "batch": batch, "outcome": "ok", "verdict": "valid", **values}


def run(text, *arguments):
    return subprocess.run([sys.executable, TOOL, *arguments], input=text, capture_output=True, text=True)


def main():
    rows = [row("a", "fp32", batch=1), row("a", "fp32", check_sqnr_db=99.6, check_top1_agreement=1.0),
            row("a", "int8", check_sqnr_db=30.2, check_top1_agreement=0.9375, int8_mac_share=0.987),
            {**row("a", "fp32", check_sqnr_db=84.2), "model": "n"}, {**row("a", "int8", outcome="crashed", reason="killed"), "model": "n"},
            row("b", "int8", outcome="refused", reason="no int8 here", verdict=None), row("b", "fp32", outcome="refused", reason="nor fp32"),
            row("c", "fp32", outcome="refused", reason="nor fp32")]
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"
        page.write_text("before\n<!-- engines table -->\nold\n<!-- end of engines table -->\nafter\n")
        done = run(json.dumps(rows), str(page))
        assert done.returncode == 0, done.stderr
        lines = page.read_text().splitlines()
    assert lines[0] == "before" and lines[-1] == "after" and "old" not in lines, lines
    assert "| engine | fp32 | int8 |" in lines, lines
    assert "| a | 2 of 2, 84 to 100 dB, top-1 100 % | 1 of 2, 30 dB, top-1 94 %, INT8 99 %; n crashed (1) |" in lines, lines
    assert "| b | refused (2) | refused (3) |" in lines, lines
    assert "| c | refused (2) | not tried |" in lines, lines
    assert "1. killed" in lines and "2. nor fp32" in lines and "3. no int8 here" in lines, lines
    wrong = run("no json")
    assert wrong.returncode != 0 and "engines_table:" in wrong.stderr and len(wrong.stderr.strip().splitlines()) == 1, wrong.stderr
    print("engines_table: good")


if __name__ == "__main__":
    main()
