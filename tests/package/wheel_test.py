"""The Python wheel of a build tree: what is in it, and that an installed one runs without a compiler and finds its interpreter's engines.
Usage: wheel_test.py BUILD SOURCE [WHEEL]      without WHEEL, tools/wheel makes one"""
import email.parser
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

BUILD, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
WHEEL = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
del sys.argv[1:4]

# Of glibc, which is the system's.
GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2", "ld-linux-x86-64.so.2"}
ENGINES = ("libc10", "libtorch", "libopenvino", "libtensorflow")


def needed(path):
    lines = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True).stdout.splitlines()
    return {line.split("[")[1].rstrip("]") for line in lines if "(NEEDED)" in line}


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="deepgap_wheel_"))
        cls.wheel = WHEEL
        if cls.wheel is None:
            done = subprocess.run([str(SOURCE / "tools" / "wheel"), str(BUILD), str(cls.folder / "dist")], capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
            assert "auditwheel: fits manylinux_2_36_x86_64" in done.stdout, done.stdout
            [cls.wheel] = (cls.folder / "dist").glob("*.whl")
        cls.environment = cls.folder / "environment"
        for command in ([sys.executable, "-m", "venv", str(cls.environment)],
                        [str(cls.environment / "bin" / "python"), "-m", "pip", "install", "-q", "--no-index", "--no-deps", str(cls.wheel)]):
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
        [cls.site] = cls.environment.glob("lib/python3*/site-packages")
        cls.prefix = cls.site / "deepgap" / "_prefix"

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def deepgap(self, *arguments, **environment):
        return subprocess.run([str(self.environment / "bin" / "deepgap"), *arguments], capture_output=True, text=True, cwd=self.folder,
                              env={"PATH": "/nowhere", "HOME": str(self.folder), "DEEPGAP_LOCKS": "off", **environment})

    def test_its_name_says_where_it_runs(self):
        version = self.deepgap("--version").stdout.split()[-1]
        self.assertEqual(self.wheel.name, f"deepgap-{version}-py3-none-manylinux_2_36_x86_64.whl")

    def test_its_extras_are_the_engines(self):
        with zipfile.ZipFile(self.wheel) as archive:
            [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
            metadata = email.parser.Parser().parsestr(archive.read(name).decode())
        self.assertLessEqual({"onnxruntime", "openvino", "torch", "tensorflow", "all"}, set(metadata.get_all("Provides-Extra")))

    def test_every_library_but_glibcs_and_engines_is_in_it(self):
        deps = self.prefix / "lib" / "deepgap" / "deps"
        inside = {path.name for path in deps.iterdir()}
        self.assertFalse({"onnxruntime", "openvino", "torch"} & inside, "engines stay outside")
        for path in [self.prefix / "bin" / "deepgap", *(self.prefix / "lib").rglob("*.so*")]:
            missing = {name for name in needed(path) - GLIBC - inside if not name.startswith(ENGINES)}
            with self.subTest(path.name):
                self.assertEqual(missing, set())

    def test_it_runs_and_names_the_extras_that_are_missing(self):
        done = self.deepgap("run", "--model", "resnet18:width=0.25,classes=10", "--shape", "input:Nx3x32x32", "--iterations", "3", "--warmup", "1",
                            "--store", "x.db")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = {row["subject"]: row for row in json.loads(self.deepgap("doctor", "--json").stdout)}
        python = self.environment / "bin" / "python"
        for engine, extra in (("onnxruntime", "onnxruntime"), ("openvino", "openvino"), ("libtorch", "torch")):
            if (self.prefix / "lib" / "deepgap" / f"deepgap_{engine}.so").exists():
                self.assertTrue(rows[f"engine {engine}"]["remedy"].endswith(f"python -m pip install 'deepgap[{extra}]'")
                                or rows[f"engine {engine}"]["remedy"].endswith(f"{python.name} -m pip install 'deepgap[{extra}]'"), rows)

    def test_engines_in_its_interpreters_packages_are_used(self):
        [there] = (SOURCE / ".venv").glob("lib/python3*/site-packages")
        packages = {"onnxruntime": "onnxruntime", "openvino": "openvino", "libtorch": "torch"}
        wanted = [engine for engine, package in packages.items()
                  if (there / package).exists() and (self.prefix / "lib" / "deepgap" / f"deepgap_{engine}.so").exists()]
        linked = [self.site / packages[engine] for engine in wanted]
        for path in linked:
            path.symlink_to(there / path.name)
            self.addCleanup(path.unlink)
        rows = {row["name"]: row for row in json.loads(self.deepgap("backends", "--json").stdout)}
        for engine in wanted:
            self.assertTrue(rows[engine]["available"], rows[engine])

    def test_pip_refuses_it_on_other_machines_by_name(self):
        for platform in ("manylinux_2_31_x86_64", "musllinux_1_2_x86_64", "manylinux_2_36_aarch64"):
            done = subprocess.run([str(self.environment / "bin" / "python"), "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target",
                                   str(self.folder / "target"), "--only-binary", ":all:", "--platform", platform, str(self.wheel)],
                                  capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("is not a supported wheel on this platform", done.stderr)

    def test_it_is_removed_whole(self):
        copy = self.folder / "removed"
        done = subprocess.run([sys.executable, "-m", "venv", str(copy)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for command in (["install", "-q", "--no-index", "--no-deps", str(self.wheel)], ["uninstall", "-q", "-y", "deepgap"]):
            done = subprocess.run([str(copy / "bin" / "python"), "-m", "pip", *command], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([str(path) for path in copy.rglob("*deepgap*")], [])


if __name__ == "__main__":
    if WHEEL is None and not (SOURCE / ".venv" / "package" / "bin" / "python").exists():
        print("left out: what makes wheels is not in .venv/package; tools/setup --package brings it")
        sys.exit(77)
    unittest.main()
