"""Parts that tests of `deepgap fleet` share: a folder, a study of so many points on `null`, and what a store must hold of it."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])

STUDY = """name = "{name}"
[[grid]]
model = "resnet18:width=0.125,classes=10"
backend = "null"
batch = "1..{points}"
repeats = {repeats}
iterations = {iterations}
warmup = 1
check = false
[grid.options]
shape = "input:Nx3x32x32"
null.latency = "{latency}"
"""


class FleetCase(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="deepgap-fleet-")
        self.environment = {**os.environ, "XDG_CACHE_HOME": self.dir + "/cache", "TMPDIR": self.dir + "/node"}
        os.mkdir(self.dir + "/node")

    def tearDown(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def study(self, name="s", points=12, repeats=2, iterations=5, latency="1ms"):
        self.write(STUDY.format(name=name, points=points, repeats=repeats, iterations=iterations, latency=latency), name + ".toml")
        return name + ".toml"

    def text(self, name="s.toml"):
        with open(f"{self.dir}/{name}") as file:
            return file.read()

    def write(self, text, name="s.toml"):
        with open(f"{self.dir}/{name}", "w") as file:
            file.write(text)

    def command(self, *arguments):
        return [PROGRAM, "fleet", *arguments]

    def fleet(self, *arguments, code=0):
        result = subprocess.run(self.command(*arguments), capture_output=True, text=True, cwd=self.dir, env=self.environment, timeout=900)
        self.assertEqual(result.returncode, code, f"{arguments}\n{result.stdout}\n{result.stderr}")
        return result.stdout if code == 0 else result.stdout + result.stderr

    def planned(self, folder="s.fleet"):
        """(point_id, repeat) of every run that the tasks hold."""
        pairs = []
        for name in sorted(os.listdir(f"{self.dir}/{folder}/tasks")):
            if not name.endswith(".json"):
                continue
            for point in json.loads(self.text(f"{folder}/tasks/{name}"))["points"]:
                pairs += [(point["point_id"], run[0]) for run in point["runs"]]
        return sorted(pairs)

    def gathered(self, store="s.fleet/gathered.db"):
        with sqlite3.connect(f"file:{self.dir}/{store}?mode=ro", uri=True) as database:
            pairs = database.execute("SELECT point_id, repeat FROM records JOIN points ON points.id = point WHERE outcome <> 'interrupted'")
            return sorted(pairs.fetchall())

    def with_others_left_out(self, store="s.fleet/gathered.db"):
        with sqlite3.connect(f"file:{self.dir}/{store}?mode=ro", uri=True) as database:
            return database.execute("SELECT count(*) FROM records WHERE facts LIKE '%merge.left_out%'").fetchone()[0]

    def assert_exactly_once(self, folder="s.fleet"):
        planned = self.planned(folder)
        self.assertEqual(len(set(planned)), len(planned))
        self.assertEqual(self.gathered(folder + "/gathered.db"), planned)


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
