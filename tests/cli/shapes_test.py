"""Files with any leading sizes, run and checked. Usage: shapes_test.py PROGRAM. Run from the tree's root."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from onnx_file import FLOAT, INT64, block, graph, model, node, number, tensor, value

PROGRAM = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300)


def engines():
    rows = json.loads(run("backends", "--json").stdout)
    return [row["name"] for row in rows if row["available"] and row["name"] in ("native", "libtorch", "onnxruntime", "openvino")]


CACHE = "build/test-cache"  # where the ceilings of this machine are kept
ENGINES = engines()


class Shapes(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="deepgap-shapes-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def file(self, nodes, inputs, outputs, name="net.onnx"):
        path = self.folder / name
        path.write_bytes(model(graph(nodes, inputs, outputs)))
        return path

    def measure(self, *arguments):
        """One run; its return code and the rows it made."""
        store = self.folder / "store.db"
        store.unlink(missing_ok=True)
        done = run("run", "-n", "5", "--repeats", "1", "--warmup", "1", "--cache", self.folder / "cache", "--store", store, *arguments)
        rows = json.loads(run("export", store, "--format", "json").stdout) if store.exists() else []
        return done, rows

    def measured(self, *arguments, batch):
        """Each row is a run at this batch, whose outputs were compared with the reference."""
        done, rows = self.measure(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for row in rows:
            self.assertEqual((row["outcome"], row["batch"], row["check_pass"]), ("ok", batch, True), row)
        return rows

    def one_line(self, done, code, *words):
        self.assertEqual(done.returncode, code, (done.stdout, done.stderr))
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def data_set(self, number, inputs, outputs):
        """{name: tensor}; a list is written without names."""
        folder = self.folder / f"test_data_set_{number}"
        folder.mkdir()
        for kind, tensors in (("input", inputs), ("output", outputs)):
            for i, content in enumerate(tensors):
                (folder / f"{kind}_{i}.pb").write_bytes(content)


class FixedBatch(Shapes):
    def test_is_what_a_query_has(self):
        path = self.file([node("Relu", "x", "y")], [value("x", [2, 3])], [value("y", [2, 3])])
        rows = self.measured("--model", path, "--backend", ",".join(ENGINES), batch=2)
        self.assertEqual(len(rows), len(ENGINES))
        self.measured("--model", path, "--batch", "2", batch=2)
        for backend in ENGINES:
            self.assertEqual(run("check", path, "--backend", backend, "--cache", self.folder).returncode, 0, backend)

    def test_no_other_batch_is_begun(self):
        path = self.file([node("Relu", "x", "y")], [value("x", [2, 3])], [value("y", [2, 3])])
        done, rows = self.measure("--model", path, "--batch", "1,2,4")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual({row["batch"]: row["outcome"] for row in rows}, {1: "refused", 2: "ok", 4: "refused"})
        for row in rows:
            if row["batch"] != 2:
                self.assertIn("has a fixed batch of 2", row["reason"])

    def test_beside_another_input_of_that_batch(self):
        path = self.file([node("Add", "x y", "z")], [value("x", [4, 3]), value("y", [4, 1])], [value("z", [4, 3])])
        self.measured("--model", path, "--backend", ",".join(ENGINES), batch=4)

    def test_items_that_are_not_apart_are_compared_as_one(self):
        """A sum over the batch: no output has it as its first size."""
        path = self.file([node("ReduceMean", "x", "y", axes=[0], keepdims=0)], [value("x", [4, 3])], [value("y", [3])])
        self.measured("--model", path, "--backend", ",".join(ENGINES), batch=4)

    def test_of_the_shape_flag_is_the_batch(self):
        path = self.file([node("Relu", "x", "y")], [value("x", ["batch", 3, "h"])], [value("y")])
        self.measured("--model", path, "--shape", "x:8x3x4", batch=8)
        done, rows = self.measure("--model", path, "--shape", "x:8x3x4", "--batch", "4")
        self.assertEqual([row["outcome"] for row in rows], ["refused"])
        self.assertIn("has a fixed batch of 8", rows[0]["reason"])

    def test_layers_are_profiled_at_it(self):
        path = self.file([node("Relu", "x", "y")], [value("x", [2, 3])], [value("y", [2, 3])])
        done = run("profile", path, "--rounds", "3", "--cache", CACHE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.one_line(run("profile", path, "--batch", "3", "--cache", CACHE), 1, "has a fixed batch of 2")


class NoBatch(Shapes):
    def test_two_inputs_of_batches_2_and_1(self):
        path = self.file([node("Add", "x y", "z")], [value("x", [2, 3]), value("y", [1, 3])], [value("z", [2, 3])])
        self.measured("--model", path, "--backend", ",".join(ENGINES), batch=1)

    def test_a_scalar_beside_an_open_batch(self):
        path = self.file([node("Mul", "x s", "z")], [value("x", ["batch", 3]), value("s", [])], [value("z")])
        self.measured("--model", path, "--backend", ",".join(ENGINES), batch=1)
        done, rows = self.measure("--model", path, "--batch", "4")
        self.assertEqual([row["outcome"] for row in rows], ["refused"])
        self.assertIn("no batch dimension that all inputs share", rows[0]["reason"])

    def test_a_fixed_size_beside_an_open_one(self):
        """Samples of one input once were copied to room for fewer."""
        path = self.file([node("Add", "x y", "z")], [value("x", [4, 3]), value("y", ["batch", 3])], [value("z")])
        self.measured("--model", path, "--backend", ",".join(ENGINES), batch=1)
        for backend in ENGINES:
            self.assertEqual(run("check", path, "--backend", backend, "--cache", self.folder).returncode, 0, backend)

    def test_no_sample_at_all(self):
        path = self.file([node("Relu", "x", "y")], [value("x", [0, 3])], [value("y", [0, 3])])
        for backend in ENGINES:
            done = run("check", path, "--backend", backend, "--cache", self.folder)
            self.assertEqual(done.returncode, 0, (backend, done.stdout, done.stderr))


class TestFolder(Shapes):
    def test_sizes_are_those_of_its_tensors(self):
        path = self.file([node("Add", "x y", "z")], [value("x", ["batch", "size"]), value("y", ["batch", "size"])], [value("z")])
        self.data_set(0, [tensor([1, 2], [2, 1]), tensor([3, 4], [2, 1])], [tensor([4, 6], [2, 1])])
        self.data_set(1, [tensor([1, 2, 3]), tensor([4, 5, 6])], [tensor([5, 7, 9])])
        for backend in ENGINES:
            done = run("check", path, "--backend", backend, "--against", self.folder, "--json")
            self.assertEqual(done.returncode, 0, (backend, done.stdout, done.stderr))
            self.assertEqual(json.loads(done.stdout)["samples"], 2)
        self.data_set(2, [tensor([1, 2]), tensor([3, 4])], [tensor([4, 5])])
        self.assertEqual(run("check", path, "--against", self.folder).returncode, 1)

    def test_samples_of_a_dataset_are_those_along_its_batch(self):
        path = self.file([node("Relu", "x", "y")], [value("x", ["batch", "size"])], [value("y")])
        self.data_set(0, [tensor([1, -2, 3, -4, 5, -6], [3, 2])], [tensor([1, 0, 3, 0, 5, 0], [3, 2])])
        rows = self.measured("--model", path, "--dataset", self.folder, "--batch", "2", batch=2)
        self.assertIn("3 samples", rows[0]["dataset_description"])

    def test_names_go_before_numbers(self):
        path = self.file([node("Sub", "x y", "z"), node("Neg", "x", "n")], [value("x", [1, 2]), value("y", [1, 2])],
                         [value("z", [1, 2]), value("n", [1, 2])])
        x, y = tensor([5, 7], name="x"), tensor([1, 2], name="y")
        self.data_set(0, [y, x], [tensor([-5, -7], name="n"), tensor([4, 5], name="z")])
        done = run("check", path, "--against", self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_does_not_fit_is_one_line(self):
        path = self.file([node("Add", "x y", "z")], [value("x", [1, 2]), value("y", [1, 2])], [value("z", [1, 2])])
        self.data_set(0, [tensor([1, 2])], [tensor([1, 2])])
        self.one_line(run("check", path, "--against", self.folder), 2, "1 input_N.pb", "x, y")
        shutil.rmtree(self.folder / "test_data_set_0")
        self.data_set(0, [tensor([1, 2]), tensor([1, 2, 3])], [tensor([1, 2])])
        self.one_line(run("check", path, "--against", self.folder), 2, "input_1.pb holds float32 [1,3]", "'y' takes float32 [1,2]")

    def test_no_inputs_and_many_outputs(self):
        """Forty outputs of a network that reads nothing."""
        nodes = [node("Constant", "", "c", value=("tensor", tensor([3, 4])))] + [node("Neg", "c", f"y{i}") for i in range(40)]
        path = self.file(nodes, [], [value(f"y{i}", [1, 2]) for i in range(40)])
        self.data_set(0, [], [tensor([-3, -4])] * 40)
        for backend in ("native", "onnxruntime"):
            done = run("check", path, "--backend", backend, "--against", self.folder)
            self.assertEqual(done.returncode, 0, (backend, done.stdout, done.stderr))

    def test_sequences_are_refused_by_name(self):
        sequence = block(1, "items") + block(2, block(4, block(1, block(1, number(1, FLOAT)))))
        path = self.file([node("SequenceLength", "items", "n")], [sequence], [value("n", [], INT64)])
        self.data_set(0, [tensor([1, 2])], [tensor([1], [], INT64)])
        self.one_line(run("check", path, "--against", self.folder), 2, "'items' is not a tensor", "sequences")


class Sizes(Shapes):
    def test_a_missing_one_gives_the_flag_to_add(self):
        path = self.file([node("Add", "a/x:0 y", "z")], [value("a/x:0", ["batch", 3, "h", "w"]), value("y", ["batch", 1, 1, "w"])], [value("z")])
        done = run("check", path)
        self.one_line(done, 2, "input 'a/x:0', dimension 2 ('h') is open", "--shape=")
        flag = next(word for word in done.stderr.split() if word.startswith("--shape="))
        again = run("check", path, flag, "--cache", self.folder)
        self.assertEqual(again.returncode, 0, (flag, again.stdout, again.stderr))
        for command in (["run", path, "-e", "native,onnxruntime", "--dry-run"], ["profile", path], ["quantize", path, "-o", self.folder / "q.onnx"]):
            self.one_line(run(*command), 2, f"{path}: input 'a/x:0', dimension 2 ('h') is open", flag)

    def test_a_file_that_was_moved_is_the_same_point(self):
        path = self.file([node("Relu", "x", "y")], [value("x", [1, 3])], [value("y", [1, 3])])
        _, (before,) = self.measure("--model", path)
        moved = path.rename(self.folder / "elsewhere.onnx")
        _, (after,) = self.measure("--model", moved)
        self.assertEqual(after["point_id"], before["point_id"])
        self.assertEqual(after["model"], str(moved))
        copy = pathlib.Path(shutil.copy(moved, self.folder / "copy.onnx"))
        done, rows = self.measure("--model", f"{moved},{copy}")
        self.assertEqual(len(rows), 1, done.stderr)
        self.assertIn("a file of the same content", done.stderr)


if __name__ == "__main__":
    unittest.main()
