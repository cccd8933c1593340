"""No program and no library that is built looks for libraries in the working directory: every entry of its path is absolute or begins with its own
place ($ORIGIN); an empty one is the working directory to the dynamic linker. Usage: library_paths.py BUILD PROGRAM"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, PROGRAM = pathlib.Path(sys.argv[1]).resolve(), os.path.abspath(sys.argv[2])
del sys.argv[1:3]


def elf_files():
    for folder in ("bin", "lib", "tests"):
        for path in sorted((BUILD / folder).rglob("*")):
            if path.is_file() and not path.is_symlink() and "CMakeFiles" not in path.parts:
                with open(path, "rb") as file:
                    if file.read(4) == b"\x7fELF":
                        yield path


def search_paths(path):
    said = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True).stdout
    return [entry for found in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", said) for entry in found.split(":")]


class LibraryPaths(unittest.TestCase):
    def test_every_entry_is_absolute_or_its_own_place(self):
        files = list(elf_files())
        self.assertIn(pathlib.Path(PROGRAM), files)
        bad = {str(path.relative_to(BUILD)) for path in files for entry in search_paths(path) if not re.match(r"/|\$ORIGIN(/|$)", entry)}
        self.assertEqual(bad, set())

    def test_a_library_in_the_working_directory_is_not_loaded(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", subprocess.run(["readelf", "-d", PROGRAM], capture_output=True, text=True, check=True).stdout)
        self.assertTrue(needed)
        with tempfile.TemporaryDirectory() as folder:
            for name in needed:
                pathlib.Path(folder, name).write_text("no library, and long enough to be read as the header of one " * 4)
            done = subprocess.run([PROGRAM, "--version"], cwd=folder, capture_output=True, text=True, timeout=60,
                                  env={k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"})
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
