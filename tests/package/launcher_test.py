"""The launcher of the Python package: which program it starts, with which engines, and what it says where there is none.
Usage: launcher_test.py PROGRAM"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
del sys.argv[1]
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "python" / "deepgap"


class Launcher(unittest.TestCase):
    """A package folder such as pip makes, with a program that prints the environment it was started with."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="deepgap_launcher_"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.site = self.folder / "site-packages"
        package = self.site / "deepgap"
        package.mkdir(parents=True)
        for name in ("_program.py", "__main__.py"):
            shutil.copy(SOURCE / name, package)
        self.bundled = package / "_prefix" / "bin" / "deepgap"
        self.fake(self.bundled)

    def fake(self, path, mode=0o755):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\necho \"$0 $*\"\nenv\n")
        path.chmod(mode)

    def package_file(self, place):
        path = self.site / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        return path

    def launch(self, *arguments, code="", cwd=None, **environment):
        start = ["-m", "deepgap"] if not code else ["-c", f"{code}\nimport sys, deepgap.__main__ as m\nsys.exit(m.main())"]
        return subprocess.run([sys.executable, *start, *arguments], capture_output=True, text=True, cwd=cwd or self.folder,
                              env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(self.site), **environment})

    def environment(self, **given):
        done = self.launch(**given)
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)

    def test_the_packages_own_program_is_started_with_all_arguments(self):
        other = self.folder / "bin" / "deepgap"
        self.fake(other)
        done = self.launch("run", "resnet50", "--batch", "1", PATH=f"{other.parent}:/usr/bin:/bin")
        self.assertEqual(done.stdout.splitlines()[0], f"{self.bundled} run resnet50 --batch 1")

    def test_its_exit_code_is_the_programs(self):
        self.bundled.write_text("#!/bin/sh\nexit 5\n")
        self.assertEqual(self.launch().returncode, 5)

    def test_a_named_program_comes_first_and_must_be_one(self):
        self.assertRegex(self.launch("--version", DEEPGAP_PROGRAM=PROGRAM).stdout, r"^deepgap \d")
        for value in ("/nowhere", str(self.folder)):
            done = self.launch(DEEPGAP_PROGRAM=value)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(f"invalid value '{value}' for DEEPGAP_PROGRAM", done.stderr)

    def test_without_its_own_the_program_on_path_is_found_but_not_a_script(self):
        self.bundled.unlink()
        script = self.folder / "scripts" / "deepgap"
        self.fake(script)
        path = f"{script.parent}:{os.path.dirname(PROGRAM)}:/usr/bin:/bin"
        self.assertRegex(self.launch("--version", PATH=path).stdout, r"^deepgap \d")
        done = self.launch(PATH=f"{script.parent}:/usr/bin:/bin")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("DEEPGAP_PROGRAM", done.stderr)

    def test_engines_of_the_interpreters_packages_are_named(self):
        self.package_file("onnxruntime/capi/libonnxruntime.so.1.31.1")
        self.package_file("torch/lib/libtorch_cpu.so")
        self.package_file("tensorflow/libtensorflow_cc.so.2")
        self.package_file("openvino/libs/libopenvino.so.2641")
        seen = self.environment(LD_LIBRARY_PATH="/mine")
        self.assertEqual(seen["DEEPGAP_ONNXRUNTIME"], str(self.site / "onnxruntime/capi"))
        self.assertEqual(seen["DEEPGAP_LIBTORCH"], str(self.site / "torch"))
        self.assertEqual(seen["DEEPGAP_TENSORFLOW"], str(self.site / "tensorflow"))
        self.assertEqual(seen["LD_LIBRARY_PATH"], f"{self.site / 'openvino/libs'}:/mine")
        self.assertEqual(seen["DEEPGAP_PIP_INSTALL"], f"{sys.executable} -m pip install")

    def test_an_interpreter_without_pip_gets_a_command_that_works_there(self):
        without = "import importlib.util as u; find = u.find_spec; u.find_spec = lambda name, *more: None if name == 'pip' else find(name, *more)"
        self.assertEqual(self.environment(code=without)["DEEPGAP_PIP_INSTALL"], f"{sys.executable} -m ensurepip && {sys.executable} -m pip install")
        self.fake(self.folder / "tools" / "uv")
        self.assertEqual(self.environment(code=without, PATH=f"{self.folder}/tools:/usr/bin:/bin")["DEEPGAP_PIP_INSTALL"], f"uv pip install --python {sys.executable}")

    def test_what_the_user_has_set_stays(self):
        self.package_file("onnxruntime/capi/libonnxruntime.so.1.31.1")
        self.assertEqual(self.environment(DEEPGAP_ONNXRUNTIME="/mine/lib")["DEEPGAP_ONNXRUNTIME"], "/mine/lib")

    def test_nvidias_libraries_are_named_where_torch_is_missing(self):
        nvrtc = self.package_file("nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
        self.assertEqual(self.environment()["DEEPGAP_NVRTC"], str(nvrtc))
        self.package_file("torch/lib/libtorch_cpu.so")
        self.assertNotIn("DEEPGAP_NVRTC", self.environment())

    def test_the_working_directory_brings_no_engine(self):
        foreign = self.folder / "downloads"
        (foreign / "torch" / "lib").mkdir(parents=True)
        (foreign / "torch" / "lib" / "libtorch_cpu.so").write_text("")
        self.assertNotIn("DEEPGAP_LIBTORCH", self.environment(cwd=foreign))

    def test_of_two_installed_versions_the_first_on_the_path_is_used_with_its_own_program(self):
        other = self.folder / "other"
        shutil.copytree(self.site, other)
        done = self.launch("--version", PYTHONPATH=f"{other}:{self.site}")
        self.assertEqual(done.stdout.splitlines()[0], f"{other / 'deepgap/_prefix/bin/deepgap'} --version")

    def test_doctor_names_the_extra_of_an_engine_that_is_missing(self):
        done = self.launch("doctor", "--json", DEEPGAP_PROGRAM=PROGRAM, DEEPGAP_ONNXRUNTIME=str(self.folder / "nowhere"))
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {row["subject"]: row for row in json.loads(done.stdout)}
        self.assertEqual(rows["engine onnxruntime"]["remedy"], f"{sys.executable} -m pip install 'deepgap[onnxruntime]'")
        self.assertIn("nowhere", rows["engine onnxruntime"]["finding"])
        self.assertNotIn("engine native", rows)

    def test_a_read_only_package_is_enough(self):
        for path in [*self.site.rglob("*"), self.site]:
            path.chmod(0o555 if path.is_dir() or path == self.bundled else 0o444)
        self.addCleanup(subprocess.run, ["chmod", "-R", "u+w", str(self.site)])
        self.assertEqual(self.launch("--version").returncode, 0)

    def test_a_machine_that_cannot_run_it_gets_one_line(self):
        for code, words in (("import platform; platform.machine = lambda: 'aarch64'", "this machine is aarch64"),
                            ("import os; os.confstr = lambda name: 'glibc 2.31'", "this system has glibc 2.31"),
                            ("import os; os.confstr = lambda name: None", "not glibc (such as Alpine's musl)"),
                            ("import sys; sys.platform = 'darwin'", "this system is darwin")):
            done = self.launch(code=code)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(words, done.stderr)
            self.assertIn("glibc 2.36 or newer", done.stderr)

    def test_a_program_that_lost_its_mode_is_named(self):
        self.bundled.chmod(0o644)
        done = self.launch()
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("is not executable", done.stderr)

    def test_a_program_that_the_system_cannot_start_is_named(self):
        self.bundled.write_text("neither a script nor a program")
        done = self.launch()
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn(f"cannot run {self.bundled}", done.stderr)


if __name__ == "__main__":
    unittest.main()
