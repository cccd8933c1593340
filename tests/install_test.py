"""An installed copy works alone: on a machine that has glibc and nothing else, and as what a plug-in out of the tree is built with.
Usage: install_test.py BUILD SOURCE CXX"""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE, CXX = sys.argv[1:4]
del sys.argv[1:4]

GLIBC = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2", "ld-linux-x86-64.so.2")

PLUGIN = """
#include <deepgap/backend.h>
namespace {
class Outside final : public deepgap::Backend {
 public:
  std::string name() const override { return "outside"; }
  std::string version() const override { return "7"; }
  deepgap::ModelForm form() const override { return deepgap::ModelForm::graph; }
  std::vector<deepgap::DeviceInfo> devices() const override { return {{deepgap::DeviceId{}, "nowhere", -1, {}}}; }
  std::vector<deepgap::OptionInfo> options() const override {
    return {{.name = "depth", .describe = "of nothing", .kind = deepgap::OptionKind::count, .most = 7}};
  }
  deepgap::Support supports(const deepgap::EngineRequest&, const deepgap::GraphSummary&) const override { return {false, "it computes nothing"}; }
  std::unique_ptr<deepgap::Session> load(const deepgap::Model&, const deepgap::LoadOptions&) override {
    throw deepgap::Error(deepgap::ErrorKind::refused, "it computes nothing");
  }
};
}
DEEPGAP_BACKEND(Outside);
"""
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES CXX)
find_package(deepgap %s REQUIRED)
add_library(outside MODULE outside.cpp)
set_target_properties(outside PROPERTIES PREFIX "" OUTPUT_NAME deepgap_outside)
target_link_libraries(outside PRIVATE deepgap::deepgap_sdk)
"""


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="deepgap_install_"))
        cls.root = cls.folder / "root"
        cls.prefix = cls.root / "opt" / "deepgap"
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", str(cls.prefix)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def backends(self, *command, **environment):
        done = subprocess.run([*command, "backends", "--json"], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return {row["name"]: row for row in json.loads(done.stdout)}

    def test_every_library_but_glibcs_is_in_it(self):
        files = [self.prefix / "bin" / "deepgap", *(self.prefix / "lib" / "deepgap").glob("*.so"), *(self.prefix / "lib" / "deepgap" / "kserve").glob("*.so")]
        for path in files:
            said = subprocess.run(["ldd", str(path)], capture_output=True, text=True).stdout
            for line in said.splitlines():
                words = line.split()
                if "=>" in words and words[0] not in GLIBC and "linux-vdso" not in words[0]:
                    with self.subTest(path.name + " " + words[0]):
                        self.assertTrue(words[2].startswith(str(self.prefix)), line)

    def test_it_names_no_place_of_the_machine_that_built_it(self):
        # Not libtorch/engine_*.so: torch's headers put their own places into its messages.
        own = [self.prefix / "bin" / "deepgap", *(self.prefix / "lib" / "deepgap").glob("*.so"), *(self.prefix / "lib" / "cmake").rglob("*.cmake")]
        found = [path.name for path in own for place in (SOURCE, BUILD) if os.path.realpath(place).encode() + b"/" in path.read_bytes()]
        self.assertEqual(found, [])

    def test_it_runs_where_there_is_glibc_and_nothing_else(self):
        if os.geteuid() != 0:
            self.skipTest("needs root for chroot; the libraries are looked at by the test beside this one")
        for name in GLIBC:
            place = "lib64" if name.startswith("ld-") else "lib/x86_64-linux-gnu"
            os.makedirs(self.root / place, exist_ok=True)
            shutil.copy(f"/{place}/{name}", self.root / place)
        for name in ("tmp", "proc", "dev"):
            os.makedirs(self.root / name, exist_ok=True)
        try:
            os.mknod(self.root / "dev" / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError as error:
            self.skipTest(f"cannot make /dev/null: {error}")
        chroot = shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin")
        run = [chroot, str(self.root), "/opt/deepgap/bin/deepgap"]
        # The program asks /proc where it lies.
        mounted = subprocess.run(["mount", "--bind", "/proc", str(self.root / "proc")], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount /proc: {mounted.stderr.strip()}")
        try:
            rows = self.backends(*run)
            for name in ("native", "null", "onnxruntime", *(["openvino"] if "openvino" in self.built() else [])):
                self.assertTrue(rows[name].get("available"), rows[name])
            done = subprocess.run([*run, "run", "--model", "resnet18:width=0.25,classes=10", "--shape", "input:Nx3x32x32", "--backend", "native,onnxruntime",
                                   "--iterations", "3", "--warmup", "1", "--store", "/tmp/x.db"], capture_output=True, text=True, env={"HOME": "/nowhere/at/all"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            if (pathlib.Path(BUILD) / "lib" / "deepgap" / "kserve" / "grpc.so").exists():
                done = subprocess.run([*run, "run", "--model", "x", "--backend", "kserve", "--device", "grpc://127.0.0.1:1", "--store", "/tmp/y.db"],
                                      capture_output=True, text=True, env={"HOME": "/nowhere/at/all"})
                self.assertIn("connection refused", done.stderr, "gRPC's module was loaded and asked")
        finally:
            subprocess.run(["umount", str(self.root / "proc")], check=True)

    def built(self):
        return {path.name[len("deepgap_"):-len(".so")] for path in (self.prefix / "lib" / "deepgap").glob("deepgap_*.so")}

    def test_a_plug_in_is_built_with_it_and_found_beside_its_own(self):
        project = self.folder / "outside"
        project.mkdir()
        (project / "outside.cpp").write_text(PLUGIN)
        (project / "CMakeLists.txt").write_text(PROJECT % "0.1")
        for command in (["cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={CXX}"],
                        ["cmake", "--build", project / "build"]):
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = self.backends(str(self.prefix / "bin" / "deepgap"), DEEPGAP_PLUGINS=f"/nowhere:{project / 'build'}")
        self.assertEqual((rows["outside"]["available"], rows["outside"]["version"]), (True, "7"))
        self.assertTrue(rows["null"]["available"], "deepgap's own are there as well")

    def test_the_pages_plug_in_refuses_and_its_reason_is_kept(self):
        project = self.prefix / "share" / "doc" / "deepgap" / "docs" / "plugin"
        build = self.folder / "never"
        for command in (["cmake", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={CXX}"], ["cmake", "--build", build]):
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        program, store = str(self.prefix / "bin" / "deepgap"), str(self.folder / "never.db")
        self.assertTrue(self.backends(program, DEEPGAP_PLUGINS=str(build))["never"]["available"])
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "DEEPGAP_PLUGINS": str(build)}
        done = subprocess.run([program, "run", "--model", "resnet18", "--backend", "never", "--axis", "because=the card is on loan", "--store", store],
                              capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        done = subprocess.run([program, "export", store, "--format", "json"], capture_output=True, text=True, env=environment)
        [row] = json.loads(done.stdout)
        self.assertEqual((row["outcome"], row["reason"], row["refused_by"], row["refused_at"], row["backend_version"]),
                         ("refused", "the card is on loan", "never", "inspection", "1.0"))

    def test_another_release_is_asked_for_in_vain(self):
        project = self.folder / "later"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(PROJECT % "0.2")
        done = subprocess.run(["cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={CXX}"],
                              capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("version: 0.1.0", done.stderr)

    def test_pages_manual_and_headers_come_along(self):
        for name in ("share/doc/deepgap/README.md", "share/doc/deepgap/docs/reference/engines/index.md", "share/man/man1/deepgap.1", "include/deepgap/backend.h",
                     "share/bash-completion/completions/deepgap", "share/zsh/site-functions/_deepgap",
                     "share/deepgap/studies/quickstart.toml", "share/deepgap/LICENSE"):
            self.assertGreater((self.prefix / name).stat().st_size, 0, name)


if __name__ == "__main__":
    unittest.main()
