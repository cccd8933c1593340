"""ONNX messages written byte by byte, so that tests need no package for them. Fields are numbered as in onnx.proto."""
import math
import struct

FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, UINT32, UINT64 = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13
_LAYOUTS = {FLOAT: "f", UINT8: "B", INT8: "b", UINT16: "H", INT16: "h", INT32: "i", INT64: "q", BOOL: "?", FLOAT16: "e", UINT32: "I", UINT64: "Q"}


def varint(value):
    value &= (1 << 64) - 1  # negative numbers take ten bytes
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def raw(kind, values):
    return struct.pack(f"<{len(values)}{_LAYOUTS[kind]}", *values)


def tensor(values, shape=None, kind=FLOAT, name=""):
    """TensorProto; without a shape [1, n]. One value fills the shape."""
    shape = [1, len(values)] if shape is None else shape
    if len(values) == 1:
        values = values * math.prod(shape)
    head = b"".join(number(1, size) for size in shape) + number(2, kind)
    return head + (block(8, name) if name else b"") + block(9, raw(kind, values))


def packed(name, shape, kind, content):
    """TensorProto of a type that has elements of less than a byte, or floats of one: bytes as they lie in the file."""
    return b"".join(number(1, size) for size in shape) + number(2, kind) + block(8, name) + block(9, content)


def external(name, shape, location, length):
    """TensorProto of floats whose bytes lie in a file beside the model."""
    entries = {"location": location, "offset": "0", "length": str(length)}
    head = b"".join(number(1, size) for size in shape) + number(2, FLOAT) + block(8, name)
    return head + b"".join(block(13, block(1, key) + block(2, value)) for key, value in entries.items()) + number(14, 1)


def rankless(name, kind=FLOAT):
    """ValueInfoProto of a tensor whose shape the file does not give."""
    return block(1, name) + block(2, block(1, number(1, kind)))


def value(name, shape=None, kind=FLOAT):
    """ValueInfoProto; a size that is text is open, by that name."""
    if shape is None:
        return block(1, name)
    dims = b"".join(block(1, block(2, size) if isinstance(size, str) else number(1, size)) for size in shape)
    return block(1, name) + block(2, block(1, number(1, kind) + block(2, dims)))


class Reference:
    """To an attribute of the function around a node, a float."""

    def __init__(self, name):
        self.name = name


def attribute(name, content):
    if isinstance(content, int):
        body = number(3, content) + number(20, 2)
    elif isinstance(content, float):
        body = varint(2 << 3 | 5) + struct.pack("<f", content) + number(20, 1)
    elif isinstance(content, str):
        body = block(4, content) + number(20, 3)
    elif isinstance(content, Reference):
        body = block(21, content.name) + number(20, 1)
    elif isinstance(content, list):
        body = b"".join(number(8, item) for item in content) + number(20, 7)
    else:
        kind, message = content
        body = block(*{"tensor": (5, message), "graph": (6, message)}[kind]) + number(20, {"tensor": 4, "graph": 5}[kind])
    return block(1, name) + body


def node(op, inputs, outputs, name="", domain="", **attributes):
    """`inputs` and `outputs` are names with blanks between them; '-' is one left out."""
    names = lambda field, text: b"".join(block(field, "" if one == "-" else one) for one in text.split())
    return (names(1, inputs) + names(2, outputs) + (block(3, name) if name else b"") + block(4, op) +
            b"".join(block(5, attribute(key, content)) for key, content in attributes.items()) + (block(7, domain) if domain else b""))


def graph(nodes, inputs, outputs, initialisers=()):
    return (b"".join(block(1, one) for one in nodes) + block(2, "g") + b"".join(block(5, one) for one in initialisers) +
            b"".join(block(11, one) for one in inputs) + b"".join(block(12, one) for one in outputs))


def function(name, inputs, outputs, nodes, domain, attributes="", opset=17):
    """FunctionProto: an operator that the file defines itself."""
    texts = lambda field, text: b"".join(block(field, one) for one in text.split())
    return (block(1, name) + texts(4, inputs) + texts(5, outputs) + texts(6, attributes) + b"".join(block(7, one) for one in nodes) +
            block(9, number(2, opset)) + block(10, domain))


def model(content, opset=17, ir_version=8, domains=(), functions=()):
    others = b"".join(block(8, block(1, domain) + number(2, 1)) for domain in domains)
    return (number(1, ir_version) + block(7, content) + block(8, number(2, opset)) + others + b"".join(block(25, one) for one in functions))


def relu_model(size, op="Relu"):
    """x [1,size] -> y of one node called "only"."""
    return relu_model_of([1, size], op)


def relu_model_of(shape, op="Relu"):
    return model(graph([node(op, "x", "y", "only")], [value("x", shape)], [value("y", shape)]))
