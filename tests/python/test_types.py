"""The package is typed: mypy --strict has nothing to say, here and in a caller."""
import os
import pathlib
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python/deepgap"
CALLER = """
import deepgap
results: deepgap.Results = deepgap.run("resnet18", backend=["native"], progress=False)
found: deepgap.Comparison = results.select(batch=1).compare(deepgap.open("a.db"), margin="1%")
batch: int = results.points[0]["batch"]
@deepgap.backend(inputs={"x": ("float32", ["N", 3])})
def double(x: float) -> float:
    return 2 * x
y: float = double(3)
double("a")
"""


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.skipif(not os.environ.get("DEEPGAP_LONG_TESTS"), reason="mypy runs with DEEPGAP_LONG_TESTS (./check --full)")
def test_mypy_is_content(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not in .venv; ./check --full installs it")
    (tmp_path / "caller.py").write_text(CALLER)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    own = subprocess.run([*command, str(PACKAGE)], capture_output=True, text=True, check=False)
    assert own.returncode == 0, own.stdout
    caller = subprocess.run([*command, str(tmp_path / "caller.py")], capture_output=True, text=True, check=False, env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
    errors = [line for line in caller.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1 and 'Argument 1 to "__call__"' in errors[0], caller.stdout
