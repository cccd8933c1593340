#!/usr/bin/env python3
"""Tests which GPU code strip_cuda_provider keeps, on a made-up wheel."""
import importlib.machinery
import importlib.util
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.dont_write_bytecode = True
TOOL = pathlib.Path(__file__).resolve().parent / "strip_cuda_provider"
loader = importlib.machinery.SourceFileLoader("strip_cuda_provider", str(TOOL))
tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("strip_cuda_provider", loader))
loader.exec_module(tool)
PTX, ELF = tool.PTX, tool.ELF


def bundle(*entries):
    """A bundle of (kind, chip, code) entries, as nvcc writes it: headers of 64 bytes, code in steps of 8."""
    body = b"".join(struct.pack("<HHIQ12xI32x", kind, 0x101, 64, len(code), chip) + code for kind, chip, code in entries)
    return struct.pack("<IHHQ", tool.MAGIC, 1, 16, len(body)) + body


def library(code, name=b".nv_fatbin"):
    """An ELF library with one section of code."""
    names = b"\0" + name + b"\0.shstrtab\0"
    header = b"\x7fELF\x02\x01".ljust(16, b"\0")
    at = 64 + len(code) + len(names)
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, at, 0, 64, 0, 0, 64, 3, 2)
    sections = bytes(64)
    sections += struct.pack("<IIQQQQIIQQ", 1, 1, 0, 0, 64, len(code), 0, 0, 8, 0)
    sections += struct.pack("<IIQQQQIIQQ", len(name) + 2, 3, 0, 0, 64 + len(code), len(names), 0, 0, 1, 0)
    return header + code + names + sections


def left(*bundles, chip=90):
    data = bytearray(library(b"".join(bundles)))
    count = tool.strip(data, chip)
    return data, count


class Strip(unittest.TestCase):
    def test_only_code_of_the_chip_is_left(self):
        data, count = left(bundle((ELF, 80, b"eighty.."), (ELF, 90, b"ninety..")), bytes(8), bundle((ELF, 120, b"hundred+"), (ELF, 90, b"again90.")))
        self.assertIn(b"ninety..", data)
        self.assertIn(b"again90.", data)
        self.assertNotIn(b"eighty..", data)
        self.assertNotIn(b"hundred+", data)
        self.assertEqual((count["bundles"], count["kept"], count["cleared"], count["unusable"]), (2, 16, 16, 0))

    def test_an_older_chip_of_the_generation_serves(self):
        data, _ = left(bundle((ELF, 80, b"eighty.."), (ELF, 86, b"eightysx"), (ELF, 90, b"ninety..")), chip=89)
        self.assertIn(b"eightysx", data)
        self.assertNotIn(b"eighty..", data)
        self.assertNotIn(b"ninety..", data)

    def test_without_code_the_newest_text_that_is_not_newer_is_kept(self):
        data, _ = left(bundle((ELF, 80, b"eighty.."), (PTX, 80, b"text80.."), (PTX, 75, b"text75.."), (PTX, 120, b"text120.")))
        self.assertIn(b"text80..", data)
        for other in (b"eighty..", b"text75..", b"text120."):
            self.assertNotIn(other, data)

    def test_what_the_chip_cannot_use_is_counted(self):
        _, count = left(bundle((ELF, 120, b"hundred+")))
        self.assertEqual((count["unusable"], count["kept"]), (1, 0))

    def test_the_size_and_all_headers_stay(self):
        code = bundle((ELF, 80, b"eighty.."), (ELF, 90, b"ninety.."))
        data, _ = left(code)
        self.assertEqual(bytes(data), library(code).replace(b"eighty..", bytes(8)))

    def test_unknown_forms_are_refused(self):
        for code, text in ((b"garbage!" * 4, "unknown form of CUDA code"), (bundle((ELF, 90, b"ninety.."))[:-8] + b"", "unknown form of CUDA code")):
            with self.assertRaisesRegex(tool.ProviderError, text):
                left(code)
        with self.assertRaisesRegex(tool.ProviderError, "no section .nv_fatbin"):
            tool.strip(bytearray(library(b"", b".other")), 90)
        with self.assertRaisesRegex(tool.ProviderError, "64-bit ELF"):
            tool.strip(bytearray(b"text"), 90)


class Wheel(unittest.TestCase):
    def run_on(self, files, *flags):
        with tempfile.TemporaryDirectory() as folder:
            wheel, output = pathlib.Path(folder) / "a.whl", pathlib.Path(folder) / "out"
            with zipfile.ZipFile(wheel, "w") as archive:
                for name, data in files.items():
                    archive.writestr("onnxruntime/capi/" + name, data)
            done = subprocess.run([sys.executable, str(TOOL), str(wheel), "--output", str(output), *flags], capture_output=True, text=True)
            return done, {path.name: path.read_bytes() for path in output.glob("*")} if output.exists() else {}

    def test_three_libraries_come_out(self):
        provider = library(bundle((ELF, 80, b"eighty.."), (ELF, 90, b"ninety..")))
        done, files = self.run_on({"libonnxruntime.so.1.31.1": b"core", "libonnxruntime_providers_shared.so": b"shared", "libonnxruntime_providers_cuda.so": provider,
                                   "libonnxruntime_providers_tensorrt.so": b"other"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(files), ["libonnxruntime.so.1.31.1", "libonnxruntime_providers_cuda.so", "libonnxruntime_providers_shared.so"])
        self.assertNotIn(b"eighty..", files["libonnxruntime_providers_cuda.so"])

    def test_a_wheel_without_the_provider(self):
        done, files = self.run_on({"libonnxruntime.so.1.31.1": b"core"})
        self.assertEqual((done.returncode, files), (1, {}))
        self.assertIn("expected a wheel of onnxruntime-gpu", done.stderr)

    def test_a_chip_that_is_not_in_it(self):
        provider = library(bundle((ELF, 90, b"ninety..")))
        done, _ = self.run_on({"libonnxruntime.so.1": b"core", "libonnxruntime_providers_shared.so": b"shared", "libonnxruntime_providers_cuda.so": provider}, "--arch", "70")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no code for sm_70", done.stderr)


if __name__ == "__main__":
    unittest.main()
