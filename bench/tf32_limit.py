#!/usr/bin/env python3
"""Computes how near a network's outputs can be to FP32 if its GEMMs have TF32's factors, by their rounding alone.

    python3 bench/tf32_limit.py [--program build/bin/deepgap] [--models resnet18,densenet121,inception_v3,efficientnet_lite0,mobilenet_v2] [--samples 2]

Each network is written as ONNX, once as it is and once with the factors of its convolutions and products rounded to ten bits of fraction: weights
to the nearest with ties away from zero, values by a cast to float16 and back, which has as many. ONNX Runtime computes both in FP32 on the same
samples (`deepgap check --outputs`). Printed: SQNR of the outputs with rounded factors; where whoever else reads such a value (a sum with a later one)
reads it rounded, too, as an engine does that rounds it once, where it is made; and where results of products are rounded. A GPU that is nearer than
the first computes some layers more precisely. Needs Python's numpy, onnx and onnxruntime."""
import argparse
import glob
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

PRODUCTS = ("Conv", "Gemm", "MatMul")


def rounded(values):
    bits = values.astype(numpy.float32).view(numpy.uint32).astype(numpy.uint64)
    return ((bits + 0x1000) & 0xFFFFE000).astype(numpy.uint32).view(numpy.float32).reshape(values.shape)


class Rounding:
    """A copy of a model whose products have rounded factors."""

    def __init__(self, model, kept=False, results=False):
        self.model = onnx.ModelProto.FromString(model.SerializeToString())
        self.graph = self.model.graph
        self.constants = {one.name: one for one in self.graph.initializer}
        self.nodes, self.casts = [], 0
        self.shared = {}  # values that are rounded where they are made, for all who read them
        multiplied = self.multiplied() if kept else set()
        self.share(multiplied.intersection(one.name for one in self.graph.input))
        for node in list(self.graph.node):
            for i, name in enumerate(node.input):
                node.input[i] = self.shared.get(name, name)
            made = list(node.output)
            if self.is_product(node):
                node.input[0], node.input[1] = self.factor(node.input[0]), self.factor(node.input[1])
                if results:
                    node.output[0] += "_sum"
            self.nodes.append(node)
            if node.output[0] != made[0]:
                self.cast(node.output[0], made[0])
            self.share(multiplied.intersection(made))
        del self.graph.node[:]
        self.graph.node.extend(self.nodes)

    def is_product(self, node):
        return node.op_type in PRODUCTS and not self.is_depthwise(node)

    def multiplied(self):
        """Values that products with constants read."""
        products = [node.input[:2] for node in self.graph.node if self.is_product(node)]
        return {name for pair in products if any(one in self.constants for one in pair) for name in pair if name not in self.constants}

    def share(self, names):
        for name in names:
            self.shared[name] = self.cast(name, name + "_rounded")

    def is_depthwise(self, node):
        return any(one.name == "group" and one.i > 1 for one in node.attribute)  # tensor cores do not serve it

    def factor(self, name):
        if name in self.shared.values():
            return name
        new = name + "_rounded"
        if name not in self.constants:
            return self.cast(name, f"{new}_{self.casts}")
        if new not in self.constants:
            self.graph.initializer.append(numpy_helper.from_array(rounded(numpy_helper.to_array(self.constants[name])), new))
            self.constants[new] = self.graph.initializer[-1]
        return new

    def cast(self, name, new):
        self.casts += 1
        self.nodes.append(helper.make_node("Cast", [name], [new + "_short"], to=TensorProto.FLOAT16))
        self.nodes.append(helper.make_node("Cast", [new + "_short"], [new], to=TensorProto.FLOAT))
        return new


def outputs(arguments, file, folder):
    os.makedirs(folder)
    done = subprocess.run([arguments.program, "check", file, "-e", "onnxruntime", "--samples", str(arguments.samples), "--outputs", folder], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return numpy.concatenate([numpy.load(path).astype(numpy.float64).ravel() for path in sorted(glob.glob(folder + "/*.npy"))])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/deepgap")
    parser.add_argument("--models", default="resnet18,densenet121,inception_v3,efficientnet_lite0,mobilenet_v2")
    parser.add_argument("--samples", type=int, default=2, help="the same as `deepgap check --samples` of what this is held against")
    arguments = parser.parse_args()
    for name in arguments.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            file = folder + "/model.onnx"
            subprocess.run([arguments.program, "models", name, "--onnx", file], check=True, stdout=subprocess.DEVNULL)
            model = onnx.load(file)
            plain = outputs(arguments, file, folder + "/plain")
            told = []
            for way in ({}, {"kept": True}, {"results": True}):
                onnx.save(Rounding(model, **way).model, folder + "/rounded.onnx")
                error = outputs(arguments, folder + "/rounded.onnx", f"{folder}/rounded{len(told)}") - plain
                told.append(10 * numpy.log10((plain**2).sum() / (error**2).sum()))
            print(f"{name}: factors rounded {told[0]:.1f} dB, all their readers' {told[1]:.1f} dB, results too {told[2]:.1f} dB", flush=True)


if __name__ == "__main__":
    main()
