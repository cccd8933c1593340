#!/usr/bin/env python3
"""Exports Paddle's layers, with their own answers. In a virtual environment with paddlepaddle, paddle2onnx and packaging:

    paddle_files.py FOLDER [WORD]      # those whose name has WORD; then tests/onnx_suite.py DEEPGAP --kind folders --folders FOLDER"""
import pathlib
import tempfile

import numpy as np
import onnx
import paddle
import paddle2onnx
from cases import Cases
from paddle import nn
from paddle.nn import functional as F
from paddle.static import InputSpec

cases = Cases("paddle")
chance = np.random.default_rng(0)
paddle.seed(0)


class One(nn.Layer):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Two(One):
    def forward(self, x, y):
        return self.function(x, y)


def normal(*sizes):
    return chance.standard_normal(sizes).astype(np.float32)


def case(name, layer, shapes, values, opset=15):
    if not cases.wanted(name):
        return
    layer.eval()
    answers = paddle.utils.flatten(layer(*[paddle.to_tensor(value) for value in values]))
    specs = [InputSpec(shape, str(value.dtype), place) for shape, value, place in zip(shapes, values, "xy")]
    with tempfile.TemporaryDirectory() as folder:
        paddle.jit.save(layer, f"{folder}/m", input_spec=specs)
        program = f"{folder}/m.json" if pathlib.Path(f"{folder}/m.json").exists() else f"{folder}/m.pdmodel"
        paddle2onnx.export(program, f"{folder}/m.pdiparams", f"{folder}/m.onnx", opset_version=opset)
        model = onnx.load(f"{folder}/m.onnx")
    cases.write(name, model, dict(zip("xy", values)), [answer.numpy() for answer in answers])


def main():
    case("conv", nn.Sequential(nn.Conv2D(3, 8, 3, 2, 1), nn.BatchNorm2D(8), nn.Hardswish(), nn.Conv2D(8, 8, 3, 1, 1, groups=8), nn.Hardsigmoid(),
                               nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(8, 5), nn.Softmax()), [[None, 3, 15, 15]], [normal(2, 3, 15, 15)])
    case("dense", nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4)), [[None, 8]], [normal(3, 8)])
    case("pool", nn.Sequential(nn.MaxPool2D(3, 2, ceil_mode=True), nn.AvgPool2D(2, ceil_mode=True, exclusive=False)), [[None, 3, 10, 10]],
         [normal(2, 3, 10, 10)])
    case("lstm", nn.LSTM(4, 6), [[None, 5, 4]], [normal(3, 5, 4)])
    case("gru", nn.GRU(4, 6, direction="bidirect"), [[None, 5, 4]], [normal(3, 5, 4)])
    case("embedding", nn.Embedding(20, 6), [[None, 7]], [chance.integers(0, 20, (3, 7))])
    case("attention", nn.TransformerEncoderLayer(8, 2, 16), [[None, 5, 8]], [normal(2, 5, 8)])
    case("open_sizes", One(lambda x: F.interpolate(F.avg_pool2d(x, 2), size=paddle.shape(x)[2:], mode="nearest")), [[None, 3, None, None]],
         [normal(2, 3, 8, 12)])
    case("topk", One(lambda x: paddle.topk(x, 3)), [[None, 9]], [normal(3, 9)])
    case("two_inputs", Two(lambda x, y: paddle.concat([x, x * y], 1)), [[None, 4], [None, 4]], [normal(3, 4), normal(3, 4)])
    case("group_norm", nn.Sequential(nn.GroupNorm(2, 4), nn.InstanceNorm2D(4), nn.Swish()), [[None, 4, 6, 6]], [normal(2, 4, 6, 6)])
    case("shuffle", nn.Sequential(nn.PixelShuffle(2), nn.ReLU6()), [[None, 8, 3, 3]], [normal(2, 8, 3, 3)])
    case("grid_sample", Two(F.grid_sample), [[2, 3, 6, 6], [2, 4, 4, 2]],
         [normal(2, 3, 6, 6), chance.uniform(-1, 1, (2, 4, 4, 2)).astype(np.float32)], opset=16)
    case("argmax", One(lambda x: (paddle.argmax(x, 1), paddle.where(x > 0, x, paddle.zeros_like(x)))), [[None, 9]], [normal(3, 9)])
    case("mobilenet_v3", paddle.vision.models.mobilenet_v3_small(num_classes=10, scale=0.5), [[None, 3, 64, 64]], [normal(2, 3, 64, 64)])


if __name__ == "__main__":
    main()
