"""Kills `deepgap run --resume` with SIGKILL at random moments, and right when its Store is being written, until enough kills have hit. After
each: every Record that was there still is, none is there twice, the Store is sound and no worker lives. In the end all are there once.

Usage: kill_test.py PATH_OF_DEEPGAP [KILLS] [SEED]
"""
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 50
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
MARK = "DEEPGAP_KILL_TEST"
POINTS, REPEATS = 40, 3


def command(folder, store):
    return [PROGRAM, "run", "--model", "resnet18:width=0.125,classes=10", "--shape", "input:Nx3x32x32", "--backend", "null", "--batch", f"1..{POINTS}",
            "--repeats", str(REPEATS), "--warmup", "0", "--iterations", "5", "--axis", "latency=20us", "--cache", folder + "/cache", "--store", store, "--resume"]


def our_workers():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                marked = f"{MARK}={os.getpid()}".encode() in f.read()
            with open(f"/proc/{pid}/stat") as f:
                zombie = ") Z " in f.read()
        except OSError:
            continue
        if marked and not zombie:
            found.append(int(pid))
    return found


def read(store):
    """record_id -> (point_id, repeat) of every finished Record; asserts that the Store is sound."""
    if not os.path.exists(store) or os.path.getsize(store) == 0:
        return {}
    with sqlite3.connect(store) as db:
        if not db.execute("SELECT name FROM sqlite_master WHERE name = 'records'").fetchone():
            return {}
        (sound,) = db.execute("PRAGMA integrity_check").fetchone()
        assert sound == "ok", sound
        rows = db.execute("SELECT r.record_id, p.point_id, r.repeat FROM records r JOIN points p ON p.id = r.point WHERE r.outcome != 'interrupted'").fetchall()
    found = {record: (point, repeat) for record, point, repeat in rows}
    assert len(set(found.values())) == len(found), "a (point, repeat) is there twice"
    return found


def written(store):
    try:
        state = os.stat(store + "-wal")
        return state.st_size, state.st_mtime_ns
    except OSError:
        return None


def kill_once(run, store, chance):
    """Half the time after a random while, else in the moment in which the Store's log changes."""
    if chance.random() < 0.5:
        time.sleep(chance.uniform(0, 0.6))
    else:
        changes = chance.randrange(1, 30)
        before, end = written(store), time.time() + 3
        while changes > 0 and time.time() < end and run.poll() is None:
            now = written(store)
            if now != before:
                before = now
                changes -= 1
        if chance.random() < 0.5:
            time.sleep(chance.uniform(0, 0.002))  # anywhere in what follows
    run.send_signal(signal.SIGKILL)
    return run.wait() == -signal.SIGKILL


def wait_until_gone():
    end = time.time() + 600
    while our_workers():
        assert time.time() < end, f"workers are left: {our_workers()}"
        time.sleep(0.005)


def main():
    chance = random.Random(SEED)
    folder = tempfile.mkdtemp(prefix="deepgap-kill-test-")
    environment = dict(os.environ, **{MARK: str(os.getpid())})
    hits, stores, begin = 0, 0, time.time()
    try:
        while hits < KILLS:
            store = f"{folder}/{stores}.db"
            stores += 1
            known, complete = {}, False
            while not complete:
                run = subprocess.Popen(command(folder, store), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
                if hits < KILLS:
                    hits += kill_once(run, store, chance)
                error = run.stderr.read()
                run.wait()
                wait_until_gone()
                assert run.returncode in (0, -signal.SIGKILL), f"exit code {run.returncode}: {error}"
                now = read(store)
                lost = set(known) - set(now)
                assert not lost, f"{len(lost)} finished records are lost"
                known, complete = now, run.returncode == 0
            assert len(known) == POINTS * REPEATS, f"{len(known)} records in the end, not {POINTS * REPEATS}"
            os.unlink(store)
    except BaseException:
        print(f"seed {SEED}, after {hits} kills; the Store is kept in {folder}", file=sys.stderr)
        raise
    shutil.rmtree(folder)
    print(f"{hits} kills over {stores} runs of {POINTS * REPEATS} records in {time.time() - begin:.1f} s: nothing lost, nothing doubled, nothing left (seed {SEED})")


if __name__ == "__main__":
    main()
