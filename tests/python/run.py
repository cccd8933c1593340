"""The tests of the Python package, run by pytest in the interpreter of the set-up.
Usage: run.py PROGRAM [pytest arguments]"""
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv/bin/python"


def main():
    program = os.path.abspath(sys.argv[1])
    needed = "import pandas, pytest, tqdm"
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", needed], capture_output=True, check=False).returncode:
        print("skipped: pytest, pandas and tqdm are not in .venv; ./check installs them (requirements-python.txt)")
        return SKIPPED
    environment = dict(os.environ, DEEPGAP_PROGRAM=program, PYTHONPATH=str(ROOT / "python"), PYTHONDONTWRITEBYTECODE="1")
    command = [PYTHON, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--rootdir", ROOT / "tests/python", ROOT / "tests/python", *sys.argv[2:]]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
