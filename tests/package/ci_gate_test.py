"""tools/ci-gate and the steps of action.yml: two commits of a repository are measured in alternating rounds and compared, without GitHub.
Usage: ci_gate_test.py PROGRAM"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
del sys.argv[1]
SOURCE = pathlib.Path(__file__).resolve().parents[2]

# Virtual time of a scripted engine, so that the verdict does not depend on this machine.
STUDY = """
name = "bench"

[[grid]]
model = "resnet18:width=0.25,classes=10"
backend = "null"
batch = 1
iterations = 50
warmup = 5

[grid.options]
null.clock = "virtual"
"""


def steps_of(action):
    """The steps of a composite action: name, environment and script of each, as far as this file's layout needs a YAML reader."""
    steps = []
    for block in re.split(r"^    - name: ", action.split("  steps:\n")[1], flags=re.M)[1:]:
        name = block.splitlines()[0]
        environment = dict(re.findall(r"^        (\w+): (.+)$", block.split("      run: |")[0], flags=re.M))
        script = textwrap.dedent(block.split("      run: |\n")[1])
        steps.append((name, environment, script))
    return steps


def defaults_of(action):
    return {name: text.strip('"') for name, text in re.findall(r"^  ([\w-]+):\n    description: .*\n    default: (.*)$", action, flags=re.M)}


class Gate(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="deepgap_gate_"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.temp = self.folder / "temp"
        self.temp.mkdir()
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "deepgap").symlink_to(PROGRAM)
        for name, script in (("gh", f'echo "$@" >"{self.folder}/comment"; cp "${{@: -1}}" "{self.folder}/body.md"'), ("python3", f'echo "$@" >>"{self.folder}/pip"')):
            (tools / name).write_text(f"#!/bin/bash\n{script}\n")
            (tools / name).chmod(0o755)
        self.environment = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(self.folder), "RUNNER_TEMP": str(self.temp), "GIT_CONFIG_GLOBAL": "/dev/null",
                            "DEEPGAP_LOCKS": "off",
                            "GITHUB_OUTPUT": str(self.folder / "output"), "GITHUB_STEP_SUMMARY": str(self.folder / "summary")}
        self.repository = self.folder / "repository"
        self.git("init", "-q", str(self.repository), inside=False)
        self.commits = []

    def git(self, *words, inside=True):
        command = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", *(("-C", str(self.repository)) if inside else ()), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=self.environment).stdout.strip()

    def commit(self):
        (self.repository / "bench.toml").write_text(STUDY)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        return self.git("rev-parse", "HEAD")

    def run_action(self, **inputs):
        action = (SOURCE / "action.yml").read_text()
        values = {**defaults_of(action), **inputs}
        known = {"github.action_path": str(SOURCE), "github.event.pull_request.number": "7"}
        codes = {}
        for name, environment, script in steps_of(action):
            given = {key: re.sub(r"\$\{\{ (?:inputs\.)?([\w.-]+) \}\}", lambda m: values.get(m[1], known.get(m[1], "")), text)
                     for key, text in environment.items()}
            done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=self.repository, capture_output=True, text=True,
                                  env={**self.environment, **given})
            codes[name] = done.returncode
            self.said = done.stdout + done.stderr
            if done.returncode != 0 and name != "Measure and compare":
                break
        return codes

    def result(self):
        return (self.folder / "output").read_text().strip()

    def test_the_action_holds_where_nothing_changed_and_comments(self):
        base = self.commit()
        codes = self.run_action(study="bench.toml", base=base, rounds="3", package="deepgap[onnxruntime]")
        self.assertEqual(set(codes.values()), {0}, self.said)
        self.assertEqual(len(codes), 4)
        self.assertIn("deepgap[onnxruntime]", (self.folder / "pip").read_text())
        self.assertEqual(self.result(), "result=held")
        self.assertIn("pr comment 7", (self.folder / "comment").read_text())
        self.assertEqual((self.folder / "body.md").read_text(), (self.folder / "summary").read_text())

    def scripted_compare(self, code):
        """A program that measures as ever and whose comparison ends with this code."""
        wrapper = self.folder / "wrapper"
        wrapper.write_text(f'#!/bin/bash\nif [ "$1" = compare ]; then echo "a table"; exit {code}; fi\nexec "{PROGRAM}" "$@"\n')
        wrapper.chmod(0o755)
        self.environment["DEEPGAP_PROGRAM"] = str(wrapper)

    def test_the_comparisons_code_decides(self):
        base = self.commit()
        for code, inputs, ends, result in ((1, {}, 1, "slower"), (4, {}, 0, "not enough data"), (4, {"not-enough-data": "fail"}, 4, "not enough data"),
                                           (5, {}, 5, "nothing to compare")):
            with self.subTest(code=code, **inputs):
                (self.folder / "output").unlink(missing_ok=True)
                self.scripted_compare(code)
                codes = self.run_action(study="bench.toml", base=base, rounds="1", **inputs)
                self.assertEqual((codes["Measure and compare"], codes["Comment"]), (ends, 0), self.said)
                self.assertEqual(self.result(), f"result={result}")
                self.assertEqual((self.folder / "body.md").read_text(), "a table\n")

    def two_checkouts(self, prepare):
        for side in ("old", "new"):
            (self.folder / side).mkdir()
            (self.folder / side / "bench.toml").write_text(STUDY)
        return subprocess.run([str(SOURCE / "tools" / "ci-gate"), "--base", "old", "--head", "new", "--study", "bench.toml", "--rounds", "3",
                               "--prepare", prepare, "--output", "out"], cwd=self.folder, capture_output=True, text=True, env=self.environment)

    def test_prepare_runs_once_in_each_checkout_and_its_failure_is_named(self):
        done = self.two_checkouts("echo x >>made")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([(self.folder / side / "made").read_text() for side in ("old", "new")], ["x\n", "x\n"])
        self.assertEqual(re.findall(r"round \d of 3", done.stdout), ["round 1 of 3", "round 2 of 3", "round 3 of 3"])
        shutil.rmtree(self.folder / "old")
        shutil.rmtree(self.folder / "new")
        failed = self.two_checkouts("false")
        self.assertEqual((failed.returncode, failed.stderr.count("\n")), (2, 1), failed.stderr)
        self.assertIn("--prepare failed in old", failed.stderr)

    def test_wrong_use_is_one_line(self):
        (self.folder / "old").mkdir()
        for words, expected in ((["--base", "nowhere"], "invalid value 'nowhere' for --base"),
                                (["--base", "old", "--head", "old"], "--study is missing"),
                                (["--base", "old", "--head", "old", "--study", "x.toml"], "has no file x.toml"),
                                (["--base", "old", "--head", "old", "--study", "x.toml", "--rounds", "0"], "invalid value '0' for --rounds"),
                                (["--bases", "old"], "unknown flag '--bases'"), (["--base"], "--base needs a value")):
            done = subprocess.run([str(SOURCE / "tools" / "ci-gate"), *words], cwd=self.folder, capture_output=True, text=True, env=self.environment)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(expected, done.stderr)

    def test_the_action_without_a_base_says_so(self):
        self.commit()
        codes = self.run_action(study="bench.toml", base="")
        self.assertEqual(codes["Check out the base"], 2)
        self.assertIn("set input base", self.said)


if __name__ == "__main__":
    unittest.main()
