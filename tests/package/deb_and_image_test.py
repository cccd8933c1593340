"""tools/deb and tools/oci-image: what they pack from an installed copy, the same bytes each time, and one line where they cannot.
Usage: deb_and_image_test.py            The copy has a small program of the system in place of deepgap's."""
import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


class Packing(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="deepgap_packing_"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.tree = self.folder / "tree"
        for name in ("lib/deepgap/deps/libx.so.1", "share/deepgap/LICENSE", "share/deepgap/licences/libx.txt", "share/man/man1/deepgap.1", "share/doc/deepgap/CHANGELOG.md",
                     "bin/deepgap_conformance", "share/deepgap/tests/gpu/run.py", "share/deepgap/data/weights/x.safetensors"):
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            (self.tree / name).write_text(name)
        shutil.copy("/bin/true", self.tree / "bin" / "deepgap")  # linked with glibc alone, and has a version
        self.version = subprocess.run(["/bin/true", "--version"], capture_output=True, text=True).stdout.splitlines()[0].split()[-1]

    def pack(self, tool, folder="out", tree=None, **environment):
        return subprocess.run([str(TOOLS / tool), str(tree or self.tree), str(self.folder / folder)], capture_output=True, text=True, cwd=self.folder,
                              env={"PATH": "/usr/local/bin:/usr/bin:/bin", "SOURCE_DATE_EPOCH": "1700000000", **environment})

    def packed(self, tool, **given):
        done = self.pack(tool, **given)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return pathlib.Path(done.stdout.split(": ")[0])

    def test_the_same_tree_gives_the_same_bytes_whenever_it_was_made(self):
        for tool in ("deb", "oci-image"):
            first = self.packed(tool).read_bytes()
            copy = self.folder / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(self.tree, copy, copy_function=shutil.copy)
            with self.subTest(tool):
                self.assertTrue(self.packed(tool, folder="again", tree=copy).read_bytes() == first, "the bytes differ")

    def test_without_a_program_it_is_one_line(self):
        (self.tree / "bin" / "deepgap").unlink()
        for tool in ("deb", "oci-image"):
            done = self.pack(tool)
            with self.subTest(tool):
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                self.assertIn("has no bin/deepgap", done.stderr)

    def test_a_folder_that_is_a_file_is_one_line_of_the_image_writer(self):
        (self.folder / "out").write_text("")
        done = self.pack("oci-image")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)

    @unittest.skipUnless(shutil.which("dpkg"), "needs dpkg")
    def test_the_package_depends_on_the_glibc_that_the_program_calls_and_is_removed_whole(self):
        package = self.packed("deb")
        self.assertEqual(package.name, f"deepgap_{self.version}_amd64.deb")
        fields = subprocess.run(["dpkg-deb", "-f", package, "Depends", "Architecture"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(fields, r"Depends: libc6 \(>= 2\.\d+\)\nArchitecture: amd64")
        root = self.folder / "root"
        (root / "var/lib/dpkg/updates").mkdir(parents=True)
        (root / "var/lib/dpkg/info").mkdir()
        (root / "var/lib/dpkg/status").write_text("")
        (root / "var/lib/dpkg/available").write_text("")
        dpkg = ["dpkg", f"--root={root}", f"--admindir={root}/var/lib/dpkg", "--force-not-root,depends,bad-path", "--log=/dev/null"]
        install = subprocess.run([*dpkg, "--install", package], capture_output=True, text=True)
        self.assertEqual(install.returncode, 0, install.stdout + install.stderr)
        names = {path.relative_to(root).as_posix() for path in (root / "usr").rglob("*")}
        self.assertLessEqual({"usr/bin/deepgap", "usr/lib/deepgap/deps/libx.so.1", "usr/share/doc/deepgap/copyright", "usr/share/doc/deepgap/changelog.gz",
                              "usr/share/man/man1/deepgap.1.gz", "usr/share/deepgap/LICENSE"}, names)
        self.assertFalse({"usr/bin/deepgap_conformance", "usr/share/deepgap/tests", "usr/share/deepgap/data"} & names)
        remove = subprocess.run([*dpkg, "--remove", "deepgap"], capture_output=True, text=True)
        self.assertEqual(remove.returncode, 0, remove.stdout + remove.stderr)
        self.assertEqual([str(path) for path in root.rglob("*") if path.is_file() and "var/lib/dpkg" not in str(path)], [])
        self.assertEqual([str(path) for path in root.rglob("*deepgap*")], [])

    def layout(self):
        with tarfile.open(self.packed("oci-image")) as archive:
            return {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}

    def test_every_blob_of_the_image_has_the_digest_and_size_that_names_it(self):
        files = self.layout()
        self.assertEqual(json.loads(files["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        read = lambda part: files["blobs/" + part["digest"].replace(":", "/")]
        [manifest_part] = json.loads(files["index.json"])["manifests"]
        manifest = json.loads(read(manifest_part))
        parts = [manifest_part, manifest["config"], *manifest["layers"]]
        for part in parts:
            data = read(part)
            self.assertEqual(("sha256:" + hashlib.sha256(data).hexdigest(), len(data)), (part["digest"], part["size"]))
        self.assertEqual(len([name for name in files if name.startswith("blobs/")]), len(parts))
        config = json.loads(read(manifest["config"]))
        self.assertEqual(config["config"]["Entrypoint"], ["/usr/bin/deepgap"])
        [layer] = manifest["layers"]
        self.assertEqual(config["rootfs"]["diff_ids"], ["sha256:" + hashlib.sha256(gzip.decompress(read(layer))).hexdigest()])
        [old] = json.loads(files["manifest.json"])
        self.assertEqual((files[old["Config"]], files[old["Layers"][0]]), (read(manifest["config"]), read(layer)))

    def test_the_images_root_runs_its_program_and_has_no_more_than_it_needs(self):
        files = self.layout()
        [old] = json.loads(files["manifest.json"])
        root = self.folder / "root"
        with tarfile.open(fileobj=io.BytesIO(files[old["Layers"][0]])) as layer:
            owners = {(member.uid, member.gid) for member in layer}
            layer.extractall(root, filter="tar") if hasattr(tarfile, "tar_filter") else layer.extractall(root)
        self.assertEqual(owners, {(0, 0)})
        self.assertEqual([path.name for path in (root / "usr" / "bin").iterdir()], ["deepgap"])
        self.assertFalse((root / "usr/share/deepgap/data").exists())
        if os.geteuid() != 0:
            self.skipTest("needs root for chroot")
        done = subprocess.run([shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin"), str(root), "/usr/bin/deepgap"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
