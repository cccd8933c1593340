#!/usr/bin/env python3
"""Labelled samples and their accuracy, as a user runs them. Argument: the program. Run from the tree's root."""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import onnx_file as onnx
from built_with import needs
from store_case import PROGRAM, StoreCase

QUICK = ["-n", "20", "--warmup", "1", "-r", "1"]
PICTURES = pathlib.Path("tests/data/pictures")


def array(path, kind, shape, values):
    """A .npy file."""
    descr, layout = {"float": ("<f4", "f"), "int": ("<i8", "q")}[kind]
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    data = struct.pack(f"<{len(values)}{layout}", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def nearest_mean(path, means):
    """The linear classifier that answers the class whose mean is nearest: x.m - |m|^2/2 is the largest for it."""
    size, classes = len(means[0]), len(means)
    weights = [means[c][i] for i in range(size) for c in range(classes)]
    biases = [-sum(v * v for v in mean) / 2 for mean in means]
    graph = onnx.graph([onnx.node("Gemm", "x w b", "scores", "classify")], [onnx.value("x", ["N", size])], [onnx.value("scores", ["N", classes])],
                       [onnx.tensor(weights, [size, classes], name="w"), onnx.tensor(biases, [classes], name="b")])
    path.write_bytes(onnx.model(graph))


def dot(count, at):
    return [1.0 if i == at else 0.0 for i in range(count)]


class AccuracyTest(StoreCase):
    backend = "native"

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.dir) / self.id().split(".")[-1]
        self.folder.mkdir()
        self.data = self.folder / "data"
        self.data.mkdir()
        self.network = self.folder / "eight.onnx"
        nearest_mean(self.network, [dot(8, c) for c in range(8)])

    def samples(self, classes):
        """A .npy file each: of class c the c-th unit vector, so that the network answers c."""
        for i, c in enumerate(classes):
            array(self.data / f"{i:02}.npy", "float", [8], dot(8, c))

    def measured(self, *flags):
        return self.one(0, "--model", str(self.network), "--dataset", str(self.data), *QUICK, *flags)

    def refused(self, message, *flags, model=None, dataset=None):
        result = self.run_deepgap("--model", str(model or self.network), "--dataset", str(dataset or self.data), *QUICK, *flags)
        self.assertEqual(result.returncode, 2, result.stderr + result.stdout)
        lines = result.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertIn(message, lines[0])

    def labels(self, text, name="labels.csv"):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def test_a_csv_tells_how_many_are_right(self):
        self.samples([0, 1, 2, 3, 4, 5, 6, 7])
        # Two of eight are said to be others; of these the second is among the best five: scores besides the largest are equal, the lower goes first.
        file = self.labels('file,label\n00.npy,0\n01.npy,1\n02.npy,2\n"03.npy",3\n04.npy,4\n05.npy,5\n06.npy,7\n07.npy,1\n')
        row = self.measured("--labels", file)
        self.assertEqual(row["accuracy_top1"], 0.75)
        self.assertEqual(row["accuracy_top5"], 0.875)
        self.assertEqual(row["accuracy_samples"], 8)
        self.assertAlmostEqual(row["accuracy_top1_ci_low"], 0.4093, places=4)
        self.assertAlmostEqual(row["accuracy_top1_ci_high"], 0.9285, places=4)
        self.assertEqual(row["accuracy_loss"], 0)
        self.assertIn("labels by labels.csv", row["dataset_description"])

    def test_batches_that_do_not_come_out_even_count_every_sample_once(self):
        self.samples([0, 1, 2, 3, 4, 5, 6])
        file = self.labels("".join(f"{c}\n" for c in [0, 1, 2, 3, 4, 5, 5]))
        row = self.measured("--labels", file, "-b", "4")
        self.assertEqual(row["accuracy_samples"], 7)
        self.assertAlmostEqual(row["accuracy_top1"], 6 / 7)

    def test_one_array_holds_many_samples(self):
        array(self.folder / "x.npy", "float", [300, 8], [v for i in range(300) for v in dot(8, i % 8)])
        array(self.folder / "y.npy", "int", [300], [i % 8 if i else 3 for i in range(300)])
        self.data = self.folder / "x.npy"
        row = self.measured("--labels", str(self.folder / "y.npy"), "-b", "7", "--axis", "instances=2")
        self.assertEqual(row["accuracy_samples"], 300)
        self.assertAlmostEqual(row["accuracy_top1"], 299 / 300)
        row = self.rows()[0]
        self.assertIn("300 samples of a .npy file", row["dataset_description"])

    def test_folders_are_classes(self):
        for c, name in enumerate(["ant", "bee", "cat"]):
            (self.data / name).mkdir()
            for i in range(2):
                array(self.data / name / f"{i}.npy", "float", [8], dot(8, c))
        row = self.measured()
        self.assertEqual((row["accuracy_top1"], row["accuracy_samples"]), (1, 6))
        self.assertIn("labels by 3 folders", row["dataset_description"])
        os.remove(self.store)
        row = self.measured("--labels", self.labels("cow\nbee a small one\nant\ncat\n", "classes.txt"))
        self.assertEqual(row["accuracy_top1"], 2 / 6)  # of bee alone
        self.refused("none of them is the folder 'bee'", "--labels", self.labels("ant\ncat\n", "few.txt"))
        for i in range(6):
            (self.data / f"dog{i}").mkdir()
            array(self.data / f"dog{i}" / "0.npy", "float", [8], dot(8, c))
        self.refused("the network has 8 classes, 0 to 7")

    def pictures_with_a_map(self):
        """Three images with the label file of MLPerf, as flags."""
        (self.data / "val").mkdir()
        for i, name in enumerate(["waves.png", "waves.jpg", "grey.jpg"]):
            shutil.copy(PICTURES / name, self.data / "val" / f"{i}{pathlib.Path(name).suffix}")
        (self.data / "val_map.txt").write_text("val/2.jpg 3\nval/0.png 1\nval/1.jpg 0\n")
        return ["--model", "resnet18:width=0.125,classes=10", "--shape", "input:Nx3x32x32", "--dataset", str(self.data)]

    def test_pictures_by_the_map_of_mlperf(self):
        row = self.one(0, *self.pictures_with_a_map(), *QUICK)
        self.assertEqual(row["accuracy_samples"], 3)
        self.assertIn("3 images of data", row["dataset_description"])
        self.assertIn("labels by val_map.txt", row["dataset_description"])

    @needs(PROGRAM, "run", "--mlperf", "v6.0")
    def test_an_mlperf_run_counts_right_answers(self):
        small = self.pictures_with_a_map()
        mlperf = [*small, "--mlperf", "v6.0", "-s", "single-stream", "--mlperf-mode", "accuracy", "--axis", "mlperf_performance_sample_count_override=3"]
        row = self.one(1, *mlperf, "--axis", "mlperf_accuracy_target=100%", "--mlperf-log", str(self.folder / "log"))
        self.assertEqual((row["verdict"], row["accuracy_samples"]), ("invalid", 3))
        self.assertIn("answers are correct, the target is 100.00 %", row["reason"])
        logged = (self.folder / "log" / "mlperf_log_accuracy.json").read_text()
        self.assertEqual(logged.count('"data" : "'), 3, logged)
        os.remove(self.store)
        row = self.one(0, *mlperf)
        self.assertEqual(row["verdict"], "valid", "no benchmark asks anything of this network")

    def test_int8_loses_against_fp32(self):
        self.samples([0, 1, 2, 3, 4, 5, 6, 7])
        result = self.run_deepgap("--model", str(self.network), "--dataset", str(self.data), *QUICK, "--labels",
                                  self.labels("0\n1\n2\n3\n4\n5\n6\n0\n"), "-p", "fp32,int8", "-r", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("top-1 %", result.stdout)
        rows = {row["precision"]: row for row in self.rows() if row["repeat"] == 1}
        self.assertEqual(rows["fp32"]["accuracy_top1"], 0.875)
        self.assertAlmostEqual(rows["int8"]["accuracy_loss"], 0.875 - rows["int8"]["accuracy_top1"])
        self.assertEqual({row["accuracy_top1"] for row in self.rows() if row["repeat"] == 2}, {None}, "once a point is enough")
        points = subprocess.run([PROGRAM, "export", self.store, "--by", "point"], capture_output=True, text=True, check=True).stdout
        self.assertIn("accuracy_loss", points.splitlines()[0])
        report = subprocess.run([PROGRAM, "report", self.store, "-o", str(self.folder / "r.html")], capture_output=True, text=True)
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertIn(f"{rows['int8']['accuracy_top1'] * 100:.2f} % of 8 labelled samples are answered correctly", (self.folder / "r.html").read_text())

    def test_fewer_are_answered_where_that_is_asked(self):
        self.samples([0, 1, 2, 3, 4, 5, 6, 7])
        file = self.labels("0\n0\n0\n0\n0\n0\n0\n0\n")
        self.assertEqual(self.measured("--labels", file, "--axis", "accuracy=2")["accuracy_top1"], 0.5)
        os.remove(self.store)
        self.assertIsNone(self.measured("--labels", file, "--axis", "accuracy=off")["accuracy_top1"])
        self.refused("invalid value 'few' for --axis accuracy: expected all, off or a number of samples", "--labels", file, "--axis", "accuracy=few")

    def test_a_background_class_shifts_the_labels(self):
        self.samples([1, 2, 3])
        file = self.labels("0\n1\n2\n")
        self.assertEqual(self.measured("--labels", file)["accuracy_top1"], 0)
        os.remove(self.store)
        self.assertEqual(self.measured("--labels", file, "--axis", "label_offset=1")["accuracy_top1"], 1)

    def test_bad_labels_are_one_line(self):
        self.samples([0, 1, 2])
        for message, text in (("holds 2 labels", "0\n1\n"), ("has 3 samples", "0\n1\n2\n3\n"), ("label 8 of sample 2 is out of range", "0\n1\n8\n"),
                              ("label -1 of sample 0 is out of range", "-1\n1\n2\n"), ("labels.csv:2: 'two' is not the number of a class", "0\ntwo\n2\n"),
                              ("names 03.npy, which is not in", "00.npy,0\n01.npy,1\n03.npy,2\n"), ("02.npy has none", "00.npy,0\n01.npy,1\n"),
                              ("labels.csv:2 names 00.npy once more", "00.npy,0\n00.npy,1\n"), ("it holds none", "\n"),
                              ("some lines name a file and some do not", "00.npy,0\n1\n")):
            with self.subTest(message):
                self.refused(message, "--labels", self.labels(text))
        self.refused("No such file", "--labels", str(self.folder / "no.csv"))
        self.refused("the samples of 'seeded' are made up", "--labels", self.labels("0\n"), dataset="seeded")
        relu = self.folder / "relu.onnx"
        relu.write_bytes(onnx.model(onnx.graph([onnx.node("Relu", "x", "y")], [onnx.value("x", ["N", 2, 4])], [onnx.value("y", ["N", 2, 4])])))
        self.refused("labels need a classifier", "--labels", self.labels("0\n1\n2\n"), model=relu)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
