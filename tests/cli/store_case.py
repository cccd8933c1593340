"""A test case with a folder of its own (for one class) and a Store in it (for one test)."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
# A network that null and native answer in microseconds.
TINY = ["--model", "resnet18:width=0.125,classes=10", "--shape", "input:Nx3x32x32"]


class StoreCase(unittest.TestCase):
    verb = "run"
    flags = []  # of every command
    backend = "null"  # None: the tests name it

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="deepgap-test-")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def setUp(self):
        self.store = os.path.join(self.dir, self.id() + ".db")

    def command(self, *arguments, backend=None):
        engine = backend or self.backend
        return [PROGRAM, self.verb, "--cache", self.dir, "--store", self.store, *self.flags, *(["--backend", engine] if engine else []), *arguments]

    def run_deepgap(self, *arguments, backend=None):
        return subprocess.run(self.command(*arguments, backend=backend), capture_output=True, text=True, timeout=900)

    def rows(self):
        """Returns the rows of the export, one for each record."""
        text = subprocess.run([PROGRAM, "export", self.store, "--format", "json"], capture_output=True, text=True, check=True).stdout
        return json.loads(text)

    def one(self, code, *arguments, backend=None):
        """The one Record of a run that ends with `code`."""
        result = self.run_deepgap(*arguments, backend=backend)
        self.assertEqual(result.returncode, code, result.stderr)
        rows = self.rows()
        self.assertEqual(len(rows), 1)
        return rows[0]
