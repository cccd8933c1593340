#!/usr/bin/env python3
"""Exports TensorFlow's functions, with their own answers. In a virtual environment with tensorflow-cpu, tf2onnx and onnx<1.18:

    tensorflow_files.py FOLDER [WORD]  # those whose name has WORD; then tests/onnx_suite.py DEEPGAP --kind folders --folders FOLDER"""
import os
import pathlib
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
import tf2onnx
from cases import Cases

cases = Cases("tensorflow")
chance = np.random.default_rng(0)
tf.random.set_seed(0)
L = tf.keras.layers


def normal(*sizes):
    return chance.standard_normal(sizes).astype(np.float32)


def case(name, function, *inputs):
    """`inputs` are (shape, value); they are called x, y, z."""
    if not cases.wanted(name):
        return
    specs = [tf.TensorSpec(shape, value.dtype if value.dtype != object else tf.string, place) for (shape, value), place in zip(inputs, "xyz")]
    function = tf.function(function, input_signature=specs)
    model, _ = tf2onnx.convert.from_function(function, input_signature=specs, opset=17)
    values = [value for _, value in inputs]
    answers = tf.nest.flatten(function(*[tf.constant(value) for value in values]))
    cases.write(name, model, dict(zip("xyz", values)), [answer.numpy() for answer in answers])


def network(name, layers, value):
    shape = value.shape[1:]
    model = tf.keras.Sequential([tf.keras.Input(shape, dtype=value.dtype.name), *layers])
    for weight in model.weights:
        if "moving_variance" in weight.path:
            weight.assign(chance.uniform(0.5, 1.5, weight.shape))
        elif "moving_mean" in weight.path or "bias" in weight.path:
            weight.assign(chance.normal(0, 0.1, weight.shape))
    case(name, lambda x: model(x, training=False), ((None, *shape), value))


def networks():
    network("dense", [L.Dense(16, activation="relu"), L.Dense(4, activation="softmax")], normal(3, 8))
    network("conv", [L.Conv2D(8, 3, strides=2, padding="same"), L.BatchNormalization(), L.ReLU(6.0), L.DepthwiseConv2D(3, padding="same"),
                     L.MaxPooling2D(2), L.GlobalAveragePooling2D(), L.Dense(5)], normal(2, 15, 15, 3))
    network("separable", [L.SeparableConv2D(8, 3, strides=2, padding="same"), L.LeakyReLU(), L.AveragePooling2D(2, padding="same"), L.Flatten(),
                          L.Dense(5)], normal(2, 16, 16, 3))
    network("transposed", [L.Conv2DTranspose(4, 3, strides=2, padding="same"), L.PReLU(), L.UpSampling2D(2, interpolation="bilinear")],
            normal(2, 6, 6, 3))
    network("conv_1d", [L.Conv1D(8, 3, padding="causal", dilation_rate=2), L.ELU(), L.GlobalMaxPooling1D()], normal(2, 12, 4))
    network("conv_3d", [L.Conv3D(4, 3, padding="same"), L.AveragePooling3D(2)], normal(2, 6, 6, 6, 2))
    network("lstm", [L.LSTM(6)], normal(3, 5, 4))
    network("gru", [L.GRU(6, return_sequences=True)], normal(3, 5, 4))
    network("bidirectional", [L.Bidirectional(L.LSTM(5, return_sequences=True)), L.Dense(3)], normal(2, 6, 4))
    network("rnn", [L.SimpleRNN(6)], normal(3, 5, 4))
    network("embedding", [L.Embedding(20, 6), L.GlobalAveragePooling1D(), L.Dense(2)], chance.integers(0, 20, (3, 7)).astype(np.int32))
    network("layer_norm", [L.LayerNormalization(), L.Dense(8, activation="gelu"), L.GroupNormalization(2)], normal(2, 5, 8))
    attention = L.MultiHeadAttention(2, 4)
    attention(tf.zeros((1, 5, 8)), tf.zeros((1, 5, 8)))
    case("attention", lambda x: attention(x, x), ((None, 5, 8), normal(2, 5, 8)))
    mobilenet = tf.keras.applications.MobileNetV2((96, 96, 3), alpha=0.35, weights=None, classes=10)
    case("mobilenet", lambda x: mobilenet(x, training=False), ((None, 96, 96, 3), normal(2, 96, 96, 3)))


def resizing():
    image, old = tf.image, tf.compat.v1.image
    picture = ((None, 5, 6, 3), normal(2, 5, 6, 3))
    case("resize", lambda x: image.resize(x, (11, 7)), picture)
    case("resize_nearest", lambda x: image.resize(x, (11, 7), method="nearest"), picture)
    case("resize_cubic", lambda x: old.resize_bicubic(x, (10, 12), half_pixel_centers=True), picture)
    case("resize_corners", lambda x: old.resize_bilinear(x, (9, 11), align_corners=True), picture)
    case("open_sizes", lambda x: image.resize(tf.nn.avg_pool2d(x, 2, 2, "SAME"), tf.shape(x)[1:3]), ((None, None, None, 3), normal(2, 9, 12, 3)))
    case("crop_resize", lambda x: image.crop_and_resize(x, [[0.1, 0.2, 0.8, 0.9]], [0], (4, 4)), ((1, 8, 8, 2), normal(1, 8, 8, 2)))
    corners = np.sort(chance.uniform(0, 1, (10, 2, 2)), 1).reshape(10, 4).astype(np.float32)
    case("nms", lambda x, y: image.non_max_suppression(x, y, 5, 0.5), ((10, 4), corners), ((10,), chance.uniform(0, 1, 10).astype(np.float32)))


def control_flow():
    small = ((2, 3), normal(2, 3))
    case("loop_count", lambda x: tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * 1.5 + tf.cast(i, tf.float32)), [tf.constant(0), x])[1],
         ((None, 3), normal(2, 3)))
    case("loop_data", lambda x: tf.while_loop(lambda y: tf.reduce_sum(tf.abs(y)) < 100.0, lambda y: (y * 2.0,), [x])[0], small)
    case("cond", lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x - 1), small)


def operators():
    rows = ((None, 6), normal(3, 6))
    case("two_inputs", lambda x, y: (tf.matmul(x, y), x + 1.0), ((None, 3, 4), normal(2, 3, 4)), ((4, 5), normal(4, 5)))
    case("top_k", lambda x: tf.math.top_k(x, 3), rows)
    case("argmax", lambda x: (tf.argmax(x, 1), tf.one_hot(tf.argmax(x, 1), 6)), rows)
    case("gather_nd", tf.gather_nd, ((4, 5, 2), normal(4, 5, 2)), ((3, 2), np.array([[0, 1], [3, 4], [2, 0]], np.int32)))
    case("einsum", lambda x, y: tf.einsum("bik,bjk->bij", x, y), ((None, 4, 3), normal(2, 4, 3)), ((None, 5, 3), normal(2, 5, 3)))
    case("space_to_depth", lambda x: tf.nn.depth_to_space(tf.nn.relu(tf.nn.space_to_depth(x, 2)), 2), ((None, 4, 6, 4), normal(2, 4, 6, 4)))
    case("math", lambda x: tf.math.cumsum(tf.math.erf(x), axis=1) + tf.math.softplus(x) * tf.math.sign(x) - tf.math.floormod(x, 0.7)
         + tf.math.rsqrt(tf.abs(x) + 1), rows)
    case("strided", lambda x: x[:, ::2, -1:0:-1, tf.newaxis], ((None, 6, 5), normal(2, 6, 5)))
    case("where", lambda x: tf.where(x > 0, x, tf.zeros_like(x) - 1) + tf.cast(tf.reduce_any(x > 1, axis=-1, keepdims=True), tf.float32), rows)
    case("mask", lambda x: tf.boolean_mask(x, x > 0), ((4, 5), normal(4, 5)))
    case("unique", lambda x: tf.unique(x)[0], ((8,), np.array([3, 1, 3, 2, 2, 9, 1, 0], np.int32)))
    case("scatter", lambda x: tf.tensor_scatter_nd_update(x, [[1], [3]], [9.0, 8.0]), ((6,), normal(6)))
    case("segment", lambda x, y: tf.math.unsorted_segment_sum(x, y, 3), ((5, 2), normal(5, 2)), ((5,), np.array([0, 2, 1, 0, 2], np.int32)))
    case("rfft", lambda x: tf.abs(tf.signal.rfft(x)), ((2, 16), normal(2, 16)))
    case("uint8_picture", lambda x: tf.cast(x, tf.float32) / 255.0 - 0.5, ((None, 4, 4, 3), chance.integers(0, 255, (2, 4, 4, 3)).astype(np.uint8)))
    case("half", lambda x: tf.cast(tf.nn.relu(tf.cast(x, tf.float16) * 2), tf.float32), rows)
    case("fixed_batch", tf.nn.softmax, ((4, 6), normal(4, 6)))
    case("fake_quant", lambda x: tf.quantization.fake_quant_with_min_max_args(x, -2.0, 2.0), rows)
    case("roll_pad", lambda x: tf.roll(tf.pad(x, [[0, 0], [1, 2]], mode="REFLECT"), 2, 1), rows)
    case("string", lambda x: tf.cast(tf.equal(x, "a"), tf.float32), ((3,), np.array(["a", "b", "a"], object)))


def quantized():
    """A TensorFlow Lite file in INT8."""
    if not cases.wanted("tflite_int8"):
        return
    model = tf.keras.Sequential([tf.keras.Input((12, 12, 3)), L.Conv2D(8, 3, activation="relu"), L.GlobalAveragePooling2D(), L.Dense(4)])
    function = tf.function(model, input_signature=[tf.TensorSpec((1, 12, 12, 3), tf.float32, "x")])
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([normal(1, 12, 12, 3)] for _ in range(16))
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    content = converter.convert()
    with tempfile.NamedTemporaryFile(suffix=".tflite") as file:
        pathlib.Path(file.name).write_bytes(content)
        onnx_model, _ = tf2onnx.convert.from_tflite(file.name, opset=13)
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    value = chance.integers(-100, 100, (1, 12, 12, 3)).astype(np.int8)
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], value)
    interpreter.invoke()
    cases.write("tflite_int8", onnx_model, {onnx_model.graph.input[0].name.split(":")[0]: value},
                [interpreter.get_tensor(interpreter.get_output_details()[0]["index"])])


if __name__ == "__main__":
    networks()
    resizing()
    control_flow()
    operators()
    quantized()
