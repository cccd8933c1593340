"""Duels of engines (docs/how-to/compare-engines.md) for the scripts of this folder: `deepgap run --duel backend`, and what it says in cells of a table."""
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


class Failed(Exception):
    pass


def quiet_threads():
    """Waiting threads that spin take the others' time."""
    return dict(os.environ, GOMP_SPINCOUNT=os.environ.get("GOMP_SPINCOUNT", "10000"))


def run(program, *command, env=None):
    done = subprocess.run([str(program), *map(str, command)], cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode not in (0, 1):  # 1: a Record says what went wrong
        raise Failed(done.stderr.strip() or f"{pathlib.Path(program).name}: exit code {done.returncode}")
    return done.stdout


def of_backends(program, backends, flags, env=None):
    """The contenders against the first, as --json tells them (none where there was no duel), and every engine's row of the export."""
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "duel.db")
        summary = json.loads(run(program, "run", "--duel", "backend", "--backend", ",".join(backends), "--scenario", "batch", *flags, "--store",
                                 store, "--json", env=env))
        rows = {row["backend"]: row for row in json.loads(run(program, "export", store, "--format", "json", env=env))}
    duels = summary["duels"]
    return duels[0]["contenders"] if duels else [], rows


def rate(row):
    return f"{row['throughput']:.1f}" if row.get("throughput") else "-"


def over(contender):
    """The contender over the first, with its interval."""
    if "ratio" not in contender:
        return "-"
    text = f"{contender['ratio']:.3f}"
    return text + f" ({contender['low']:.3f} to {contender['high']:.3f})" if "low" in contender else text


def over_it(contender):
    """The first over the contender."""
    if "ratio" not in contender:
        return "-"
    text = f"{1 / contender['ratio']:.3f}"
    return text + f" ({1 / contender['high']:.3f} to {1 / contender['low']:.3f})" if "low" in contender else text


def said(contender, row, first):
    """Returns the duel's result against the first, or why the contender has no result."""
    if row.get("outcome") != "ok":
        return f"{row.get('outcome')}: {row.get('reason')}"
    words = {"faster": f"{first} is slower", "slower": f"{first} is faster", "same": "the same"}.get(contender["verdict"])
    return words or contender["text"]
