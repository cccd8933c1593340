"""Files of which an engine's ordinary use is right, and inputs that decide what is computed. Usage: foreign_inputs_test.py PROGRAM. Run from
the tree's root."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from onnx_file import BOOL, FLOAT, FLOAT16, INT8, INT16, INT32, INT64, UINT8, UINT16, graph, model, node, tensor, value
from sanitized import sanitizer_of

PROGRAM = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300)


def engines():
    rows = json.loads(run("backends", "--json").stdout)
    return [row["name"] for row in rows if row["available"] and row["name"] in ("native", "onnxruntime", "openvino")]


ENGINES = engines()


class Files(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="deepgap-inputs-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def file(self, nodes, inputs, outputs, initialisers=(), opset=17, domains=()):
        path = self.folder / "net.onnx"
        path.write_bytes(model(graph(nodes, inputs, outputs, initialisers), opset=opset, domains=domains))
        return path

    def samples(self, inputs, outputs=()):
        folder = self.folder / "samples"
        folder.mkdir(exist_ok=True)
        for kind, tensors in (("input", inputs), ("output", outputs)):
            for i, content in enumerate(tensors):
                (folder / f"{kind}_{i}.pb").write_bytes(content)
        return folder

    def measure(self, path, *arguments, backends=None):
        """One short run on every engine; its end and the rows it made by engine."""
        store = self.folder / "store.db"
        store.unlink(missing_ok=True)
        done = run("run", path, "-e", ",".join(backends or ENGINES), "-n", "5", "--repeats", "1", "--warmup", "1", "-v", "--cache",
                   self.folder / "cache", "--store", store, *arguments)
        rows = json.loads(run("export", store, "--format", "json").stdout) if store.exists() else []
        return done, {row["backend"]: row for row in rows}

    def right(self, path, *arguments, backends=None):
        """Every engine is measured, and right."""
        done, rows = self.measure(path, *arguments, backends=backends)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(sorted(rows), sorted(backends or ENGINES))
        for row in rows.values():
            self.assertEqual((row["outcome"], row["check_pass"]), ("ok", True), row)
        return rows

    def unchecked(self, path, *words, backends=None):
        done, rows = self.measure(path, backends=backends)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for backend, row in rows.items():
            self.assertEqual((row["outcome"], row["unchecked"]), ("ok", True), row)
            for word in words:
                self.assertIn(word, row["reason"])
                self.assertIn(word, done.stdout)
            checked = run("check", path, "-e", backend, "--cache", self.folder / "cache")
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            self.assertIn("unchecked", checked.stdout)
            for word in words:
                self.assertIn(word, checked.stdout)

    def one_line(self, done, code, *words):
        self.assertEqual(done.returncode, code, (done.stdout, done.stderr))
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)


class NotTheEnginesFault(Files):
    def test_an_output_that_is_an_input(self):
        outputs = [value("y", ["N", 4]), value("state", ["N", 3])]
        path = self.file([node("Relu", "x", "y")], [value("x", ["N", 4]), value("state", ["N", 3])], outputs)
        rows = self.right(path)
        for row in rows.values():
            self.assertGreaterEqual(row["check_sqnr_db"], 60)
        self.right(path, "-b", "3")
        if "onnxruntime" in ENGINES:
            self.right(path, "--axis", "io_binding=off", backends=["onnxruntime"])

    def test_random_numbers_are_not_compared(self):
        nodes = [node("RandomNormalLike", "mu", "eps", "draw", mean=0.0, scale=1.0), node("Mul", "eps sigma", "s"), node("Add", "mu s", "z")]
        inputs = [value("mu", ["N", 4]), value("sigma", ["N", 4])]
        others = [one for one in ENGINES if one != "native"]  # native does not draw
        if others:
            self.unchecked(self.file(nodes, inputs, [value("z", ["N", 4])]), "draw", "RandomNormalLike", backends=others)
        dropped = [node("Dropout", "x ratio yes", "y", "thinned")]
        numbers = [tensor([0.5], [], name="ratio"), tensor([True], [], BOOL, "yes")]
        if "onnxruntime" in ENGINES:
            self.unchecked(self.file(dropped, [value("x", ["N", 4])], [value("y", ["N", 4])], numbers), "thinned", backends=["onnxruntime"])

    @unittest.skipIf(sanitizer_of(PROGRAM), "the reference is OpenVINO's, and a sanitizer ends a process that loads it")
    def test_random_numbers_that_no_output_needs(self):
        nodes = [node("Relu", "x", "y"), node("RandomNormalLike", "x", "unused", "draw")]
        others = [one for one in ENGINES if one == "onnxruntime"]
        if others:
            self.right(self.file(nodes, [value("x", ["N", 4])], [value("y", ["N", 4])]), backends=others)

    def test_numbers_that_pass_float16_between_operators(self):
        """An engine that computes in float32 is right, and one that rounds after each operator is not called wrong."""
        nodes = [node("Mul", "x k", "xs"), node("Pow", "xs two", "sq", "square"), node("ReduceMean", "sq", "var", axes=[-1], keepdims=1),
                 node("Sqrt", "var", "sd"), node("Div", "xs sd", "y")]
        numbers = [tensor([400.0], [1], FLOAT16, "k"), tensor([2.0], [1], FLOAT16, "two")]
        path = self.file(nodes, [value("x", ["N", 8], FLOAT16)], [value("y", ["N", 8], FLOAT16)], numbers, opset=13)
        samples = self.samples([tensor([1.0, -2.0, 0.5, 3.0, -1.0, 2.0, 1.5, -0.5], [1, 8], FLOAT16)])
        done, rows = self.measure(path, "--dataset", samples)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for backend, row in rows.items():
            self.assertEqual(row["outcome"], "ok", row)
            if row["unchecked"]:
                self.assertIn("square", row["reason"])
            if backend in ("onnxruntime", "openvino"):
                self.assertTrue(row["check_pass"], row)
            self.assertEqual(run("check", path, "-e", backend, "--dataset", samples).returncode, 0)

    def test_the_files_precision_decides_what_is_asked(self):
        """float16 inside, float32 outside, no weights."""
        nodes = [node("Cast", "x", "h", to=10), node("Exp", "h", "e"), node("Mul", "e h", "m"), node("Cast", "m", "y", to=1)]
        path = self.file(nodes, [value("x", ["N", 64])], [value("y", ["N", 64])])
        self.right(path)
        told = run("check", path, "-e", ENGINES[0], "--cache", self.folder / "cache")
        self.assertIn("(at least for fp16: 20 dB)", told.stdout)

    def test_an_input_that_nothing_reads(self):
        path = self.file([node("Relu", "x", "y")], [value("ids", ["N", "seq"], INT64), value("x", ["N", 4])], [value("y", ["N", 4])])
        self.right(path, "--shape", "ids:Nx7")

    def test_a_loop_whose_state_grows_from_nothing(self):
        """The length of 0 that it begins with is no size of its body."""
        body = graph([node("Identity", "on", "goes_on"), node("Concat", "s x", "next", axis=0)],
                     [value("i", [], INT64), value("on", [], BOOL), value("s", [0, 4])], [value("goes_on", [], BOOL), value("next", ["n", 4])])
        nodes = [node("Cast", "m", "trips", to=7), node("Loop", "trips - none", "y", body=("graph", body))]
        path = self.file(nodes, [value("x", [1, 4]), value("m", [])], [value("y", ["n", 4])], [tensor([], [0, 4], name="none")])
        self.right(path, "--input", "m=3", backends=[one for one in ENGINES if one != "openvino"])

    def test_halves_go_to_even_before_an_odd_zero_point(self):
        numbers = [tensor([0.5], [1], name="s"), tensor([127], [1], UINT8, "z")]
        nodes = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "y")]
        path = self.file(nodes, [value("x", ["N", 8])], [value("y", ["N", 8])], numbers, opset=13)
        given = [0.25, 0.75, -0.25, -0.75, 1000, -1000, 1.25, -1.25]
        samples = self.samples([tensor(given, [1, 8])], [tensor([0, 1, 0, -1, 64, -63.5, 1, -1], [1, 8])])
        for backend in ENGINES:
            done = run("check", path, "-e", backend, "-p", "int8", "--against", samples, "--json")
            most = 0.5 if backend == "openvino" else 0  # a step of its own rounding
            self.assertLessEqual(json.loads(done.stdout)["max_abs_error"], most, (backend, done.stdout, done.stderr))

    def test_integers_of_dynamic_quantization_are_seen(self):
        nodes = [node("DynamicQuantizeLinear", "x", "xq xs xz"), node("Mul", "xs ws", "scale"), node("MatMulInteger", "xq wq xz wz", "m", "product"),
                 node("Cast", "m", "f", to=1), node("Mul", "f scale", "y")]
        numbers = [tensor([0.01], [8], name="ws"), tensor([i % 200 - 100 for i in range(128)], [16, 8], INT8, "wq"), tensor([0], [8], INT8, "wz")]
        path = self.file(nodes, [value("x", ["N", 3, 16])], [value("y", ["N", 3, 8])], numbers, opset=13)
        for backend in [one for one in ENGINES if one != "openvino"]:
            done, rows = self.measure(path, "-p", "int8", backends=[backend])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(rows[backend]["int8_mac_share"], 1, rows)


class Indices(Files):
    def test_any_integer_type_stays_inside_the_axis(self):
        for kind in (UINT8, INT8, INT32, INT64):
            nodes = [node("Cast", "cls", "c64", to=7), node("GatherElements", "logits c64", "y", axis=1)]
            path = self.file(nodes, [value("cls", ["N", 1], kind), value("logits", ["N", 5])], [value("y", ["N", 1])])
            self.right(path)

    def test_indices_that_come_as_other_types(self):
        """Floats and booleans are cast to indices too."""
        for kind, length in ((FLOAT, 2), (FLOAT16, 2), (BOOL, 1)):
            nodes = [node("Cast", "f", "at", to=7), node("Gather", "table at", "y")]
            table = tensor([0.1 * i for i in range(3 * length)], [length, 3], name="table")
            self.right(self.file(nodes, [value("f", ["N", 6], kind)], [value("y", ["N", 6, 3])], [table]))

    def test_positions_behind_an_offset(self):
        nodes = [node("Add", "ids two", "at"), node("Gather", "table at", "y")]
        numbers = [tensor([2], [1], INT64, "two"), tensor([0.1 * i for i in range(12)], [4, 3], name="table")]
        self.right(self.file(nodes, [value("ids", ["N", 6], INT64)], [value("y", ["N", 6, 3])], numbers))

    def test_tuples_of_indices(self):
        table = tensor([0.5 * i for i in range(24)], [3, 4, 2], name="table")
        self.right(self.file([node("GatherND", "table at", "y")], [value("at", ["N", 5, 2], INT64)], [value("y", ["N", 5, 2])], [table]))

    def test_a_number_that_is_given_and_wrong_is_no_crash(self):
        """An index outside of its axis, a division by 0: engines raise an error, or their process dies of it."""
        table = tensor([0.5 * i for i in range(12)], [4, 3], name="table")
        gather = ([node("Gather", "table at", "y")], [value("at", ["N", 2], INT64)], [value("y", ["N", 2, 3])], [table])
        divide = ([node("Div", "x at", "y")], [value("x", ["N", 2], INT64), value("at", ["N", 2], INT64)], [value("y", ["N", 2], INT64)])
        for parts, given in ((gather, "at=7"), (divide, "at=0")):
            _, rows = self.measure(self.file(*parts), "--input", given)
            self.assertEqual(sorted(rows), sorted(ENGINES))
            for row in rows.values():
                self.assertIn(row["outcome"], ("refused", "ok", "incorrect"), row)


class Steering(Files):
    def top(self):
        return self.file([node("TopK", "x k", "v i", "best", axis=1)], [value("x", ["N", 100]), value("k", [1], INT64)],
                         [value("v", ["N", "k"]), value("i", ["N", "k"], INT64)], opset=13)

    def test_what_decides_how_much_is_asked_for_by_name(self):
        path = self.top()
        for command in (["run", path, "-e", ",".join(ENGINES), "--store", self.folder / "s.db"], ["check", path], ["profile", path]):
            self.one_line(run(*command, "--cache", self.folder / "cache"), 2, "input 'k' decides how many values TopK (node 'best') picks",
                          "--dataset FOLDER or --input k=5")
        self.assertFalse((self.folder / "s.db").exists())

    def test_it_is_given(self):
        path = self.top()
        self.right(path, "--input", "k=5")
        self.assertEqual(run("check", path, "--input", "k=5").returncode, 0)
        self.assertEqual(run("profile", path, "--input", "k=5", "--cache", self.folder / "cache").returncode, 0)
        self.right(path, "--dataset", self.samples([tensor([0.1 * i for i in range(100)], [1, 100]), tensor([7], [1], INT64)]))
        self.right(path, "--axis", "input=k=4")

    def test_wrong_numbers_are_told(self):
        path = self.top()
        self.one_line(run("check", path, "--input", "q=5"), 2, "input 'k' decides", "--input k=5")
        self.one_line(run("check", path, "--input", "k=5/q=5"), 2, "--input: unknown input 'q'")
        self.one_line(run("check", path, "--input", "k"), 2, "invalid value 'k' for --input: expected NAME=NUMBERS such as k=5")
        self.one_line(run("check", path, "--input", "k=1,2"), 2, "2 numbers", "holds 1")

    def test_outputs_that_are_all_empty_are_no_throughput(self):
        done, rows = self.measure(self.top(), "--input", "k=0")
        self.assertNotEqual(done.returncode, 0)
        for row in rows.values():
            self.assertEqual(row["outcome"], "refused", row)
            self.assertIsNone(row["throughput"])

    def asked(self, nodes, inputs, outputs, name, numbers=()):
        self.one_line(run("check", self.file(nodes, inputs, outputs, numbers)), 2, f"input '{name}' decides")

    def test_others_that_decide(self):
        x, y = value("x", ["N", 3, 4, 4]), value("y")
        self.asked([node("Reshape", "x sizes", "y")], [x, value("sizes", [3], INT64)], [y], "sizes")
        self.asked([node("Resize", "x - - sizes", "y", mode="nearest")], [x, value("sizes", [4], INT64)], [y], "sizes")
        self.asked([node("Resize", "x - scales", "y", mode="nearest")], [x, value("scales", [4])], [y], "scales")
        self.asked([node("Concat", "two size", "both", axis=0), node("Expand", "x both", "y")], [value("x", [1, 1]), value("size", [1], INT64)],
                   [y], "size", [tensor([2], [1], INT64, "two")])
        self.asked([node("Cast", "k", "wide", to=7), node("Unsqueeze", "wide none", "list"), node("Tile", "x list", "y")],
                   [value("x", [3]), value("k", [], INT32)], [y], "k", [tensor([0], [1], INT64, "none")])
        self.asked([node("ReduceSum", "x axes", "y")], [x, value("axes", [1], INT64)], [y], "axes")
        self.asked([node("Slice", "x a b", "y")], [x, value("a", [1], INT64), value("b", [1], INT64)], [y], "a")
        then, other = graph([node("Relu", "x", "t")], [], [value("t")]), graph([node("Neg", "x", "e")], [], [value("e")])
        self.asked([node("If", "yes", "y", then_branch=("graph", then), else_branch=("graph", other))], [x, value("yes", [], BOOL)], [y], "yes")
        body = graph([node("Identity", "on", "goes_on"), node("Add", "s s", "next")],
                     [value("i", [], INT64), value("on", [], BOOL), value("s", ["N", 3, 4, 4])], [value("goes_on"), value("next")])
        self.asked([node("Loop", "trips - x", "y", body=("graph", body))], [x, value("trips", [], INT64)], [y], "trips")

    def test_masks_take_everything_and_nothing_is_divided_by_0(self):
        two = [value("a", ["N", 100], INT64), value("b", ["N", 100], INT64)]
        for operator in ("Div", "Mod"):
            self.right(self.file([node(operator, "a b", "y")], two, [value("y", ["N", 100], INT64)]))
        path = self.file([node("Compress", "x taken", "y", axis=1)], [value("x", [1, 6]), value("taken", [6], BOOL)], [value("y")])
        self.right(path, backends=["native", "onnxruntime"] if "onnxruntime" in ENGINES else ["native"])

    def test_the_example_in_the_message_works(self):
        x = value("x", [1, 3, 4, 4])
        for nodes, name, count in (([node("Pad", "x n", "y")], "n", 8), ([node("Reshape", "x n", "y")], "n", 3),
                                   ([node("Expand", "x n", "y")], "n", 4), ([node("Tile", "x n", "y")], "n", 4),
                                   ([node("Resize", "x - n", "y", mode="nearest")], "n", 4)):
            kind = FLOAT if nodes[0] == node("Resize", "x - n", "y", mode="nearest") else INT64
            path = self.file(nodes, [x, value(name, [count], kind)], [value("y")])
            asked = run("check", path)
            self.one_line(asked, 2, f"input '{name}' decides")
            example = asked.stderr.strip().split("--input ")[1]
            checked = run("check", path, "-e", "native", "--input", example, "--cache", self.folder / "cache")
            self.assertEqual(checked.returncode, 0, (example, checked.stdout, checked.stderr))

    def test_what_the_network_itself_decides(self):
        """The only sensible numbers: an axis that is there, a full sequence, a Dropout that does not train."""
        self.right(self.file([node("CumSum", "x axis", "y")], [value("x", ["N", 3, 4]), value("axis", [], INT32)], [value("y", ["N", 3, 4])]),
                   backends=["native"])
        self.right(self.file([node("ReverseSequence", "x lengths", "y", batch_axis=0, time_axis=1)], [value("x", ["N", 5, 2]), value("lengths", ["N"], INT64)],
                             [value("y", ["N", 5, 2])]), backends=["native"])


class Nothing(Files):
    def test_a_first_size_of_0_is_an_open_batch(self):
        path = self.file([node("Conv", "x w", "y")], [value("x", [0, 3, 8, 8])], [value("y", [0, 4, 6, 6])], [tensor([0.1], [4, 3, 3, 3], name="w")])
        self.right(path, "-b", "2")

    def test_other_sizes_of_0_are_asked_for(self):
        path = self.file([node("Relu", "x", "y")], [value("x", [1, 3, 0, 0])], [value("y")])
        self.one_line(run("check", path), 2, "input 'x', dimension 2", "--shape=x:1x3x224x224")
        self.right(path, "--shape", "x:1x3x8x8")

    def test_an_empty_input_is_no_result(self):
        path = self.file([node("Relu", "x", "y")], [value("x", ["N", "length"])], [value("y", ["N", "length"])])
        done, rows = self.measure(path, "--shape", "x:Nx0")
        self.assertNotEqual(done.returncode, 0)
        for row in rows.values():
            self.assertEqual(row["outcome"], "refused", row)

    def decoder(self):
        nodes = [node("Gather", "emb ids", "h"), node("Unsqueeze", "h one", "q"), node("Concat", "past q", "present", axis=2),
                 node("Transpose", "present", "kt", perm=[0, 1, 3, 2]), node("MatMul", "q kt", "s"), node("Cast", "mask", "f", to=1),
                 node("Unsqueeze", "f both", "m"), node("Add", "s m", "sm"), node("Softmax", "sm", "p"), node("MatMul", "p present", "o")]
        numbers = [tensor([0.1 * (i % 7) for i in range(400)], [50, 8], name="emb"), tensor([1], [1], INT64, "one"), tensor([1, 2], [2], INT64, "both")]
        inputs = [value("ids", ["N", "sequence"], INT64), value("mask", ["N", "total"], INT64), value("past", ["N", 1, "before", 8])]
        return self.file(nodes, inputs, [value("o"), value("present")], numbers, opset=13)

    def test_the_suggested_sizes_are_taken(self):
        path = self.decoder()
        done = run("check", path)
        self.one_line(done, 2, "is open; give the sizes, as --shape=")
        flag = done.stderr.split("as --shape=")[1].split(" does")[0]
        self.right(path, f"--shape={flag}")

    def test_a_past_of_no_length(self):
        self.right(self.decoder(), "--shape", "ids:Nx4", "--shape", "mask:Nx4", "--shape", "past:Nx1x0x8")


if __name__ == "__main__":
    unittest.main()
