"""Tests that a missing or wrong LibTorch, and a wrong setting, are one clear line. Usage: libtorch_test.py PROGRAM FAKE_TORCH TORCH"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, FAKE, TORCH = sys.argv[1:4]
del sys.argv[1:4]


def run(*arguments, **environment):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=900, env={**os.environ, **environment})


class Missing(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="deepgap_libtorch_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def reason(self, folder):
        rows = {row["name"]: row for row in json.loads(run("backends", "--json", "--libtorch", str(folder)).stdout)}
        self.assertFalse(rows["libtorch"]["available"])
        self.assertNotIn("\n", rows["libtorch"]["reason"])
        return rows["libtorch"]["reason"]

    def test_a_folder_without_it(self):
        self.assertIn(f"no libtorch_cpu.so in {self.folder}", self.reason(self.folder))

    def test_another_version(self):
        shutil.copytree(os.path.join(FAKE, "lib"), self.folder / "lib")
        (self.folder / "version.py").write_text("__version__ = '2.10.0+cpu'\n")
        self.assertIn("it is version 2.10.0+cpu, this plug-in needs 2.11", self.reason(self.folder))

    def test_a_library_that_is_none(self):
        (self.folder / "lib").mkdir()
        for name in ("libc10.so", "libtorch_cpu.so"):
            (self.folder / "lib" / name).write_text("this is text, and long enough to be taken for the header of a library, which it is not")
        self.assertIn("invalid ELF header", self.reason(self.folder))

    def test_a_library_without_the_symbols(self):
        self.assertIn("undefined symbol", self.reason(FAKE))

    def test_a_folder_above_is_not_searched(self):
        """It may be anybody's, as /tmp is. Without another torch, the reason names every place that was looked into."""
        plugins = self.folder / "lib" / "deepgap"
        plugins.mkdir(parents=True)
        shutil.copy(pathlib.Path(PROGRAM).resolve().parents[1] / "lib" / "deepgap" / "deepgap_libtorch.so", plugins)
        planted = self.folder / ".venv" / "lib" / "python3.11" / "site-packages" / "torch" / "lib"
        planted.mkdir(parents=True)
        (planted / "libtorch_cpu.so").write_text("not to be loaded")
        (planted / "libc10.so").write_text("not to be loaded")
        program = self.folder / "bin" / "deepgap"
        program.parent.mkdir()
        shutil.copy(PROGRAM, program)
        # Nor does the working directory give Python its modules, when it is asked for its torch.
        here, ran = self.folder / "here", self.folder / "ran"
        (here / "importlib").mkdir(parents=True)
        (here / "importlib" / "__init__.py").write_text(f"open({str(ran)!r}, 'w')")
        (here / "torch").mkdir()
        (here / "torch" / "__init__.py").write_text("")
        environment = {name: value for name, value in os.environ.items() if name not in ("DEEPGAP_LIBTORCH", "DEEPGAP_PLUGINS")}
        done = subprocess.run([program, "backends", "--json"], capture_output=True, text=True, timeout=900, env=environment, cwd=here)
        self.assertFalse(ran.exists())
        reason = {row["name"]: row for row in json.loads(done.stdout)}["libtorch"].get("reason", "")
        self.assertNotIn(".venv", reason)
        self.assertNotIn("here/torch", reason)
        self.assertIn("lib/deepgap/deps/torch", reason or "lib/deepgap/deps/torch")

    def test_the_cuda_plug_in_is_told_with_its_version_or_its_reason(self):
        rows = {row["name"]: row for row in json.loads(run("backends", "--json", "--libtorch", TORCH).stdout)}
        cuda = rows["libtorch_cuda"]
        self.assertRegex(cuda["version"] if cuda["available"] else cuda["reason"], "^2\\.11|lib|CUDA")


class Wrong(unittest.TestCase):
    """Settings that are found to be wrong when the point is asked for."""

    def refused(self, *flags):
        with tempfile.TemporaryDirectory() as folder:
            store = os.path.join(folder, "x.db")
            done = run("run", "--model", "resnet18:width=0.25,classes=10,image=64", "--backend", "libtorch", "--store", store,
                       "--cache", folder, "--iterations", "3", "--warmup", "1", *flags)
            return done.returncode, done.stdout + done.stderr

    def test_precision(self):
        code, said = self.refused("--precision", "int8")
        self.assertEqual(code, 1)
        self.assertIn("has no int8 convolutions", said)

    def test_device(self):
        code, said = self.refused("--device", "cuda:0")
        self.assertEqual(code, 1)
        self.assertIn("libtorch has no device cuda:0 here", said)

    def test_option_value(self):
        code, said = self.refused("--axis", "channels_last=onn")
        self.assertEqual(code, 2)
        self.assertIn("did you mean 'on'", said)


if __name__ == "__main__":
    unittest.main()
