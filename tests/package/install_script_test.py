"""tools/install.sh: installs a release archive after its checksum is verified, replaces an old one, removes it, and refuses in one line."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "install.sh"
NAME = "deepgap-0.1.0-linux-x86_64"


class InstallScript(unittest.TestCase):
    """A release whose program is a script, since the installer starts it once."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="deepgap_install_script_"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.release = self.folder / "release"
        self.release.mkdir()
        shutil.copy(SCRIPT, self.release)
        self.prefix = self.folder / "home" / ".local"
        self.make_release("one")

    def make_release(self, version):
        tree = self.folder / "tree" / NAME / "bin"
        tree.mkdir(parents=True, exist_ok=True)
        (tree / "deepgap").write_text(f"#!/bin/sh\necho deepgap {version}\n")
        (tree / "deepgap").chmod(0o755)
        archive = self.release / f"{NAME}.tar.gz"
        with tarfile.open(archive, "w:gz") as file:
            file.add(tree.parent, NAME)
        (self.release / "SHA256SUMS").write_text(f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n")

    def install(self, *words, **environment):
        return subprocess.run(["sh", str(self.release / "install.sh"), *words], capture_output=True, text=True, cwd=self.folder,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder / "home"), **environment})

    def refused(self, words, *arguments, **environment):
        done = self.install(*arguments, **environment)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stdout + done.stderr)
        self.assertIn(words, done.stderr)

    def test_it_installs_replaces_and_removes(self):
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"export PATH={self.prefix}/bin", done.stdout)
        self.assertIn("--uninstall", done.stdout)
        run = [str(self.prefix / "bin" / "deepgap")]
        self.assertEqual(subprocess.run(run, capture_output=True, text=True).stdout, "deepgap one\n")
        self.make_release("two")
        self.assertEqual(self.install().returncode, 0)
        self.assertEqual(subprocess.run(run, capture_output=True, text=True).stdout, "deepgap two\n")
        self.assertEqual(self.install("--uninstall").returncode, 0)
        self.assertEqual([str(path) for path in self.prefix.rglob("*deepgap*")], [])
        self.refused("is not installed", "--uninstall")

    def test_another_prefix_may_be_relative(self):
        self.assertEqual(self.install("--prefix", "there").returncode, 0)
        self.assertTrue((self.folder / "there" / "bin" / "deepgap").exists())

    def test_a_file_with_another_checksum_is_refused_and_the_old_one_stays(self):
        self.assertEqual(self.install().returncode, 0)
        with open(self.release / f"{NAME}.tar.gz", "ab") as file:
            file.write(b"x")
        self.refused("does not have the checksum")
        self.assertTrue((self.prefix / "bin" / "deepgap").exists())

    def test_what_is_missing_or_wrong_is_one_line(self):
        self.refused("unknown flag '--here'", "--here")
        self.refused("--prefix needs a value", "--prefix")
        self.refused("cannot read nowhere/SHA256SUMS", "--from", "nowhere")
        (self.release / "SHA256SUMS").write_text("")
        self.refused("names no archive")

    def test_a_program_of_somebody_else_is_not_replaced(self):
        (self.prefix / "bin").mkdir(parents=True)
        (self.prefix / "bin" / "deepgap").write_text("mine")
        self.refused("is not of this script")
        self.assertEqual((self.prefix / "bin" / "deepgap").read_text(), "mine")

    def test_a_machine_that_cannot_run_it_is_refused(self):
        for name, script, words in (("uname", '[ "$1" = -s ] && echo Linux || echo aarch64', "this machine is aarch64"),
                                    ("getconf", "echo glibc 2.31", "this system has glibc 2.31"), ("getconf", "exit 1", "not glibc")):
            tools = self.folder / "fake"
            shutil.rmtree(tools, ignore_errors=True)
            tools.mkdir()
            (tools / name).write_text(f"#!/bin/sh\n{script}\n")
            (tools / name).chmod(0o755)
            self.refused(words, PATH=f"{tools}:{os.environ.get('PATH', '/usr/bin:/bin')}")


if __name__ == "__main__":
    unittest.main()
