"""Tests a release, installed on systems that have nothing else: the Debian package and the wheel in bare roots of Debian, and the OCI image as a
root file system. Part of ./check --full, since it fetches and unpacks systems.
Usage: bare_roots_test.py RELEASE WHEEL SUITE[=ROOT]...
RELEASE is the folder of tools/bundle. SUITE is made by debootstrap, or copied from the folder ROOT."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

RELEASE, WHEEL = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
SUITES = dict(argument.partition("=")[::2] for argument in sys.argv[3:])
del sys.argv[1:]
SBIN = "/usr/sbin:/usr/bin:/sbin:/bin"
RUN = ["run", "--model", "resnet18:width=0.25,classes=10", "--shape", "input:Nx3x32x32", "--iterations", "3", "--warmup", "1", "--store", "/tmp/x.db"]
# The mounts are those of this process alone and end with it.
ENTER = 'for name in proc dev sys; do mount --rbind /$name "$1/$name"; done; root=$1; shift; exec chroot "$root" "$@"'


def inside(root, *command, **environment):
    return subprocess.run(["unshare", "--mount", "sh", "-ec", ENTER, "sh", str(root), *command], capture_output=True, text=True,
                          env={"PATH": SBIN, "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive", "DEEPGAP_LOCKS": "off", "LC_ALL": "C", **environment})


class InRoots(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="deepgap_roots_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def bare_root(self, suite):
        root = self.folder / suite
        if SUITES[suite]:
            subprocess.run(["cp", "-a", "--reflink=auto", SUITES[suite], str(root)], check=True)
        else:
            done = subprocess.run(["debootstrap", "--variant=minbase", suite, str(root)], capture_output=True, text=True, env={**os.environ, "PATH": SBIN})
            self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        return root

    def succeeds(self, root, *command, **environment):
        done = inside(root, *command, **environment)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    def available(self, root, *program):
        rows = {row["name"]: row for row in json.loads(self.succeeds(root, *program, "backends", "--json"))}
        return {name for name, row in rows.items() if row.get("available")}

    @staticmethod
    def files(root):
        unimportant = ("var/lib/dpkg", "var/lib/apt", "var/cache", "var/log", "tmp", "root", "proc", "sys", "dev")
        names = {path.relative_to(root).as_posix() for path in root.rglob("*") if not path.is_dir() or path.is_symlink()}
        return {name for name in names if not name.startswith(unimportant)}

    def test_the_debian_package(self):
        [package] = RELEASE.glob("deepgap_*_amd64.deb")
        for suite in SUITES:
            with self.subTest(suite):
                root = self.bare_root(suite)
                before = self.files(root)
                shutil.copy(package, root / "tmp")
                self.succeeds(root, "apt-get", "-q", "-y", "install", "--no-install-recommends", f"/tmp/{package.name}")
                self.assertEqual(self.succeeds(root, "which", "deepgap"), "/usr/bin/deepgap\n")
                self.assertLessEqual({"native", "null", "onnxruntime", "kserve"}, self.available(root, "deepgap"))
                self.succeeds(root, "deepgap", *RUN, "--backend", "native,onnxruntime")
                self.succeeds(root, "apt-get", "-q", "-y", "remove", "deepgap")
                self.assertEqual(self.files(root) - before, set())
                shutil.rmtree(root)

    def test_the_wheel(self):
        for suite in SUITES:
            with self.subTest(suite):
                root = self.bare_root(suite)
                self.succeeds(root, "apt-get", "-q", "update")
                self.succeeds(root, "apt-get", "-q", "-y", "install", "--no-install-recommends", "python3-venv")
                shutil.copy(WHEEL, root / "tmp")
                self.succeeds(root, "python3", "-m", "venv", "/opt/environment")
                self.succeeds(root, "/opt/environment/bin/pip", "install", "-q", "--no-index", f"/tmp/{WHEEL.name}")
                self.assertLessEqual({"native", "null", "kserve"}, self.available(root, "/opt/environment/bin/deepgap"))
                self.succeeds(root, "/opt/environment/bin/deepgap", *RUN)
                self.succeeds(root, "/opt/environment/bin/python", "-c",
                              "import deepgap; deepgap.run('resnet18:width=0.25,classes=10', shape={'input': ['N', 3, 32, 32]}, iterations=3, warmup=1, store='/tmp/y.db')")
                shutil.rmtree(root)

    def test_the_image(self):
        [archive] = RELEASE.glob("deepgap-*-oci.tar")
        layout, root = self.folder / "layout", self.folder / "root"
        for path in (layout, root):
            path.mkdir()
        subprocess.run(["tar", "-xf", archive, "-C", layout], check=True)
        [manifest] = json.loads((layout / "index.json").read_text())["manifests"]
        blob = lambda part: layout / "blobs" / part["digest"].replace(":", "/")
        described = json.loads(blob(manifest).read_text())
        config = json.loads(blob(described["config"]).read_text())["config"]
        for layer in described["layers"]:
            subprocess.run(["tar", "-xzf", blob(layer), "-C", root], check=True)
        given = dict(pair.split("=", 1) for pair in config["Env"])
        program = config["Entrypoint"][0]
        self.assertLessEqual({"native", "null", "onnxruntime", "kserve"}, self.available(root, program))
        done = inside(root, program, *RUN, "--backend", "native,onnxruntime", HOME=given["HOME"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
