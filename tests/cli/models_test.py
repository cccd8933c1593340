"""Tests `deepgap models`: figures, files that it writes and reads again, one line and exit code 2 for bad input.

Usage: models_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from sanitized import sanitizer_of

PROGRAM = os.path.abspath(sys.argv[1])
TINY = "resnet18:width=0.125,classes=10,image=32"


def field(number, content):
    """A length-delimited protobuf field, content below 16 KiB."""
    size = len(content)
    return bytes([number << 3 | 2]) + (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + content


def relu_model(tensor=b"", second=b"\x08\x04"):
    """x [N,4] -> Relu -> y, with a TensorProto as initialiser where one is given. `second` is the second dimension."""
    def value(name):
        dims = field(1, field(2, b"batch")) + field(1, second)
        return field(1, name) + field(2, field(1, b"\x08\x01" + field(2, dims)))
    node = field(1, b"x") + field(2, b"y") + field(4, b"Relu")
    graph = field(1, node) + field(2, b"g") + (field(5, tensor) if tensor else b"") + field(11, value(b"x")) + field(12, value(b"y"))
    return b"\x08\x08" + field(8, b"\x10\x11") + field(7, graph)


class ModelsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="deepgap-models-test-")
        self.addCleanup(self.folder.cleanup)

    def run_models(self, *arguments):
        return subprocess.run([PROGRAM, "models", *arguments], capture_output=True, text=True, timeout=900)

    def rows(self, *arguments):
        done = self.run_models("--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def file(self, name, content):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as f:
            f.write(content)
        return path

    def refused(self, *arguments, saying):
        done = self.run_models(*arguments)
        self.assertEqual(done.returncode, 2, (arguments, done.stdout, done.stderr))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("deepgap: "), done.stderr)
        self.assertIn(saying, done.stderr)

    def test_figures_of_the_zoo(self):
        rows = {row["name"]: row for row in self.rows()}
        self.assertEqual(rows["resnet18"]["parameters"], 11689512)
        self.assertEqual(rows["resnet50"]["parameters"], 25557032)
        self.assertEqual(rows["resnet50"]["macs"], 4089184256)
        self.assertEqual(rows["resnet101"]["parameters"], 44549160)
        self.assertEqual(rows["mobilenet_v2"]["parameters"], 3504872)
        self.assertIn("efficientnet_lite0", rows)
        keys = {"name", "parameters", "macs", "flop", "bytes", "inputs", "outputs", "weights", "operators", "opset"}
        self.assertLessEqual(keys, set(rows["resnet18"]))
        self.assertEqual(rows["resnet18"]["inputs"], [{"name": "input", "type": "float32", "shape": ["N", 3, 224, 224]}])
        self.assertIn("seeded", rows["resnet18"]["weights"])

    def test_table(self):
        done = self.run_models("resnet18")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("11,689,512", done.stdout)
        self.assertIn("Nx3x224x224", done.stdout)

    def test_a_written_file_has_the_same_figures(self):
        path = os.path.join(self.folder.name, "out.onnx")
        written = self.rows(TINY, "--onnx", path)[0]
        read = self.rows(path)[0]
        for key in ("parameters", "macs", "flop", "bytes", "operators", "opset", "content_hash"):
            self.assertEqual(read[key], written[key], key)

    def test_open_sizes(self):
        path = self.file("relu.onnx", relu_model())
        self.assertEqual(self.rows(path)[0]["flop"], 4)
        self.assertEqual(self.rows(path, "--shape", "x:5x4")[0]["outputs"][0]["shape"], [5, 4])
        self.refused(path, "--shape", "x:5", saying="2 dimensions")
        named = self.file("named.onnx", relu_model(second=field(2, b"x.2")))
        self.assertIn("Nx?", self.run_models(named).stdout)
        self.assertEqual(self.rows(named)[0]["inputs"][0]["shape"], ["N", "x.2"])
        self.refused(path, "--shape", "z:5x4", saying="'z'")

    def test_wrong_names_and_flags(self):
        self.refused("resnet5", saying="did you mean")
        self.refused("resnet18:widht=2", saying="widht")
        self.refused("none.onnx", saying="none.onnx")
        self.refused("resnet18", "--josn", saying="unknown flag '--josn', did you mean '--json'?")
        self.refused("resnet18", "resnet50", "--onnx", "x.onnx", saying="--onnx")
        self.refused("resnet18", "--onnx", os.path.join(self.folder.name, "none", "x.onnx"), "--weights", "imagenet", saying="imagenet")
        self.refused(TINY, "--onnx", os.path.join(self.folder.name, "none", "x.onnx"), saying="none/x.onnx")

    def test_bad_files(self):
        good = relu_model()
        self.refused(self.file("empty.onnx", b""), saying="empty.onnx")
        self.refused(self.file("text.onnx", b"hello\n" * 100), saying="text.onnx")
        self.refused(self.file("cut.onnx", good[:-5]), saying="cut.onnx")
        self.refused(self.file("opset.onnx", good.replace(b"\x42\x02\x10\x11", b"\x42\x02\x10\x63")), saying="opset 99")
        self.refused(self.folder.name + "/", saying="is a folder")
        pipe = os.path.join(self.folder.name, "pipe.onnx")
        os.mkfifo(pipe)
        self.refused(pipe, saying="regular file")

    def test_more_memory_than_may_be_used(self):
        if sanitizer_of(PROGRAM):
            self.skipTest(f"{sanitizer_of(PROGRAM)} ends a process that asks for too much")
        # 2^37 floats, in a file with a hole that large: honest in every number.
        dims = b"\x08\x80\x80\x80\x80\x80\x04"
        tensor = dims + b"\x10\x01" + field(8, b"w") + field(13, field(1, b"location") + field(2, b"w.bin")) + b"\x70\x01"
        self.file("w.bin", b"")
        try:
            os.truncate(os.path.join(self.folder.name, "w.bin"), 1 << 39)
        except OSError as error:
            self.skipTest(f"no file of 512 GiB with a hole here: {error}")
        self.refused(self.file("bomb.onnx", relu_model(tensor)), saying="memory")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
