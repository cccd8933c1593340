"""Parts that the tests of `deepgap run` share: a folder of their own, the program with a small network, and no worker left behind."""
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
TINY = "resnet18:width=0.125,classes=10"
SHAPE = ["--shape", "input:Nx3x32x32"]
MARK = "DEEPGAP_RUN_TEST"


def records(store):
    """(point_id, repeat, outcome, verdict, reason) of every Record, in order; none while the Store is being made."""
    if not os.path.exists(store):
        return []
    with sqlite3.connect(store) as db:
        if not db.execute("SELECT name FROM sqlite_master WHERE name = 'records'").fetchone():
            return []
        return db.execute(
            "SELECT p.point_id, r.repeat, r.outcome, r.verdict, r.reason FROM records r JOIN points p ON p.id = r.point ORDER BY r.id"
        ).fetchall()


def marked_workers(mark):
    """Processes that carry our mark in their environment and are workers."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                environment = f.read()
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                command = f.read()
            with open(f"/proc/{pid}/stat") as f:
                zombie = ") Z " in f.read()
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in environment and b"__worker" in command and not zombie:
            found.append(int(pid))
    return found


class RunCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="deepgap-run-test-")
        cls.cache = os.path.join(cls.shared, "cache")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.shared)

    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=self.shared)
        self.store = os.path.join(self.dir, "t.db")
        self.mark = f"{os.getpid()}.{self.id()}"
        self.environment = dict(os.environ, **{MARK: self.mark})

    def tearDown(self):
        self.assertEqual(marked_workers(self.mark), [], "no worker may be left")

    def command(self, *flags, model=TINY, backend="null", store=None):
        shape = SHAPE if model == TINY else []
        return [PROGRAM, "run", "--model", model, "--backend", backend, "--cache", self.cache, "--store", store or self.store, *shape, *flags]

    def run_deepgap(self, *flags, counts=True, **kwargs):
        options = {k: kwargs.pop(k) for k in ("model", "backend", "store") if k in kwargs}
        fixed = ["--warmup", "1", "--iterations", "20"] if counts else []
        return subprocess.run(self.command(*fixed, *flags, **options), capture_output=True, text=True, timeout=900, env=kwargs.pop("env", self.environment), cwd=self.dir, **kwargs)

    def remove_store(self):
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(self.store + suffix):
                os.unlink(self.store + suffix)

    def start(self, *flags, **options):
        return subprocess.Popen(self.command(*flags, **options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment, cwd=self.dir)

    def wait_for(self, what, seconds=900):
        end = time.time() + seconds
        while time.time() < end:
            if what():
                return
            time.sleep(0.02)
        self.fail("waited in vain")

    def assert_exit(self, result, code):
        self.assertEqual(result.returncode, code, f"{result.args}\nstdout: {result.stdout}\nstderr: {result.stderr}")

    def assert_one_line(self, result, code, *parts):
        self.assert_exit(result, code)
        lines = result.stderr.strip().split("\n")
        self.assertEqual(len(lines), 1, result.stderr)
        for part in parts:
            self.assertIn(part, lines[0])
