"""Ctrl-C and interrupted kernels: what has finished stays, and the program is signalled once."""
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from conftest import MODEL, TINY, VIRTUAL

import deepgap
from deepgap import _process

# The first point is fast, the second lasts a minute; the test interrupts when the first is finished.
SCRIPT = """
import sys, deepgap
keywords = dict(backend="null", batch=[1, 2], shape="input:Nx3x32x32", axis={{"latency": "1ms"}}, duration="{duration}", warmup=1, cache={cache!r}, progress="auto")
try:
    deepgap.run({model!r}, **keywords)
except deepgap.Interrupted as stopped:
    results = stopped.results
    print(str(stopped), len(results), results.interrupted, [row["outcome"] for row in results.records])
    assert isinstance(stopped, KeyboardInterrupt)
    raise
"""


def start(tmp_path, cache, duration):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT).format(model=MODEL, cache=cache, duration=duration))
    return subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True)


@pytest.mark.parametrize("whole_group", [False, True], ids=["process", "group"])
def test_what_has_finished_stays(tmp_path, cache, whole_group):
    """A terminal and a notebook server signal the whole process group; then the program must not get a second signal."""
    process = start(tmp_path, cache, "2s")
    for line in process.stderr:
        if line.startswith("[1/2]"):
            (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
            break
    output, errors = process.communicate(timeout=300)
    assert process.returncode != 0 and "Interrupted" in errors
    said = output.strip()
    assert said.startswith("interrupted; ") and " of 2 records are in deepgap.db" in said and " True [" in said
    assert "'ok'" in said
    resumed = deepgap.run(
        MODEL, batch=[1, 2], axis={"latency": "1ms"}, duration="2s", warmup=1, cache=cache, resume=True, **{**TINY, "shape": "input:Nx3x32x32"}
    )
    assert [row["outcome"] for row in resumed] == ["ok", "ok"] and resumed.summary["done_before"] >= 1


def test_the_handler_is_put_back(tmp_path, cache, monkeypatch):
    """The signal comes when the program has just been started."""

    before = signal.getsignal(signal.SIGINT)
    read = _process._read

    def interrupt(stream, on_event, messages):
        os.kill(os.getpid(), signal.SIGINT)
        read(stream, on_event, messages)

    monkeypatch.setattr("deepgap._process._read", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        deepgap.run(MODEL, axis={"latency": "1ms"}, duration="60s", cache=cache, **TINY)
    assert isinstance(caught.value, deepgap.Interrupted) and str(caught.value).startswith("interrupted; ")
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_outside_the_main_thread(tmp_path, cache):
    found = []
    thread = threading.Thread(target=lambda: found.append(deepgap.run(MODEL, axis=VIRTUAL, iterations=20, warmup=1, cache=cache, **TINY)))
    thread.start()
    thread.join(300)
    assert len(found[0]) == 1


def state(pid):
    """Returns the parent of a process and the letter of its state, or None."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            letter, parent = file.read().rsplit(")", 1)[1].split()[:2]
        return int(parent), letter
    except OSError:
        return None


def wait_for(what):
    for _ in range(1200):
        if found := what():
            return found
        time.sleep(0.1)
    return None


def test_the_program_ends_with_python(tmp_path, cache):
    process = start(tmp_path, cache, "600s")

    def children():
        running = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return [pid for pid in running if (known := state(pid)) and known[0] == process.pid and (tmp_path / "deepgap.db").exists()]

    found = wait_for(children)
    process.kill()
    process.communicate()
    assert found and len(found) == 1
    if not wait_for(lambda: (known := state(found[0])) is None or known[1] == "Z"):
        os.kill(found[0], signal.SIGKILL)
        pytest.fail("the program went on without its parent")
