#!/usr/bin/env python3
"""Makes the QOperator files beside it with ONNX Runtime's own quantizer (onnxruntime 1.31.1, onnx 1.23.2, numpy).

Small networks with seeded weights, so that every operator of QuantFormat.QOperator occurs: quantize_static writes QLinearConv,
QLinearMatMul, QGemm and the others of com.microsoft. The conformance suite runs the files in every engine.
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

random = np.random.default_rng(8)
HERE = os.path.dirname(os.path.abspath(__file__))


class Net:
    def __init__(self, shape):
        self.shape = shape
        self.nodes, self.constants = [], []

    def weights(self, *shape):
        name = f"w{len(self.constants)}"
        fan_in = max(1, int(np.prod(shape[1:])))
        values = random.normal(0, fan_in**-0.5, shape).astype(np.float32)
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def node(self, op, *inputs, **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name + "_out"], name=name, **attributes))
        return name + "_out"

    def model(self, output, opset):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *self.shape])
        y = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "net", [x], [y], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model)


def residual():
    net = Net((3, 12, 12))
    x = net.node("Relu", net.node("Conv", "x", net.weights(8, 3, 3, 3), net.weights(8), pads=[1, 1, 1, 1]))
    y = net.node("Conv", x, net.weights(8, 2, 3, 3), net.weights(8), pads=[1, 1, 1, 1], group=4)
    y = net.node("Relu", net.node("Add", x, y))
    y = net.node("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])
    y = net.node("AveragePool", y, kernel_shape=[2, 2], strides=[2, 2])
    y = net.node("Flatten", net.node("GlobalAveragePool", y))
    return net, net.node("Gemm", y, net.weights(10, 8), net.weights(10), transB=1)


def gates():
    net = Net((4, 8, 8))
    x = net.node("LeakyRelu", net.node("Conv", "x", net.weights(6, 4, 1, 1), net.weights(6)), alpha=0.1)
    gate = net.node("Sigmoid", net.node("Conv", x, net.weights(6, 6, 1, 1)))
    y = net.node("Concat", net.node("Mul", x, gate), x, axis=1)
    return net, net.node("Conv", y, net.weights(5, 12, 3, 3), strides=[2, 2])


def attention():
    net = Net((6, 16))
    q, k = (net.node("MatMul", "x", net.weights(16, 16)) for _ in range(2))
    scores = net.node("MatMul", q, net.node("Transpose", k, perm=[0, 2, 1]))
    return net, net.node("MatMul", net.node("Softmax", scores, axis=-1), net.node("MatMul", "x", net.weights(16, 16)))


class Samples(CalibrationDataReader):
    def __init__(self, shape):
        self.left = [random.normal(0, 1, (4, *shape)).astype(np.float32) for _ in range(4)]

    def get_next(self):
        return {"x": self.left.pop()} if self.left else None


def main():
    for make in (residual, gates, attention):
        net, output = make()
        plain = os.path.join(HERE, "plain.onnx")
        onnx.save(net.model(output, 13), plain)
        for suffix, per_channel, activations in (("", False, QuantType.QUInt8), ("_per_channel", True, QuantType.QInt8)):
            path = os.path.join(HERE, make.__name__ + suffix + ".onnx")
            quantize_static(plain, path, Samples(net.shape), quant_format=QuantFormat.QOperator, per_channel=per_channel,
                            activation_type=activations, weight_type=QuantType.QInt8)
            operators = sorted({node.op_type for node in onnx.load(path).graph.node})
            print(os.path.basename(path), os.path.getsize(path), *operators)
        os.remove(plain)


if __name__ == "__main__":
    sys.exit(main())
