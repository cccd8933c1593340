"""The tutorial's notebook: its cells run, and the outputs that the site shows are those of today's program."""
import contextlib
import io
import json
import os
import pathlib
import re

import pytest

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "docs/tutorials/python.ipynb"


def code_cells():
    return [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]


def test_the_cells_run_in_plain_python(tmp_path):
    names = {}
    for cell in code_cells():
        source = "".join(cell["source"])
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, str(NOTEBOOK), "exec"), names)  # noqa: S102
    assert len(names["results"]) == 4 and names["frame"]["repeats"].tolist() == [3, 3, 3, 3]
    assert (tmp_path / "tutorial.html").exists()


def shown(cells):
    """Returns the cells' outputs, without what differs from run to run."""
    texts = [json.dumps(output.get("data", output.get("text"))) for cell in cells for output in cell["outputs"]]
    return [re.sub(r"[0-9a-f]{32}|0x[0-9a-f]+", "ID", text) for text in texts]


@pytest.mark.skipif(not os.environ.get("DEEPGAP_LONG_TESTS"), reason="a kernel is started with DEEPGAP_LONG_TESTS (./check --full)")
def test_the_notebook_runs_in_a_kernel_and_shows_what_it_keeps(tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="nbclient is not in .venv; ./check --full installs it")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not in .venv; ./check --full installs it")
    pytest.importorskip("ipykernel", reason="ipykernel is not in .venv; ./check --full installs it")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, startup_timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    run = json.loads(nbformat.writes(notebook))
    assert shown(cell for cell in run["cells"] if cell["cell_type"] == "code") == shown(code_cells())
    assert all(cell["outputs"] for cell in code_cells())


@pytest.mark.skipif(not os.environ.get("DEEPGAP_LONG_TESTS"), reason="a kernel is started with DEEPGAP_LONG_TESTS (./check --full)")
def test_an_interrupted_kernel_keeps_what_has_finished(tmp_path, cache):
    nbformat = pytest.importorskip("nbformat", reason="nbclient is not in .venv; ./check --full installs it")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not in .venv; ./check --full installs it")
    pytest.importorskip("ipykernel", reason="ipykernel is not in .venv; ./check --full installs it")
    # The cell interrupts its own kernel as a notebook server does: a signal to the whole process group, after the first record.
    source = f"""
import os, signal, deepgap
from deepgap import _progress
class Stops(_progress.Silent):
    def __call__(self, event):
        if event.number is not None:
            os.killpg(os.getpgid(0), signal.SIGINT)
deepgap._run.make_progress = lambda wanted: Stops()
try:
    deepgap.run("resnet18:width=0.125,classes=10", backend="null", batch=[1, 2], shape="input:Nx3x32x32", duration="1s", cache={cache!r})
except KeyboardInterrupt as stopped:
    print(type(stopped).__name__, stopped.results.interrupted, [row["outcome"] for row in stopped.results.records][:1])
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    nbclient.NotebookClient(notebook, timeout=600, startup_timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert notebook.cells[0].outputs[0].text == "Interrupted True ['ok']\n"
