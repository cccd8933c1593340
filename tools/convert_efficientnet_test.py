#!/usr/bin/env python3
"""Tests of convert_efficientnet.py: what it converts, and what it must refuse. Run with python3; standard library only."""

import array
import collections
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import convert_efficientnet as tool


def global_named(module, name):
    """Something that pickles as a reference to module.name, whether that exists or not."""
    sys.modules.setdefault(module, types.ModuleType(module))
    made = type(name, (), {"__module__": module})
    setattr(sys.modules[module], name, made)
    return made


REBUILD = global_named("torch._utils", "_rebuild_tensor_v2")
FLOATS, LONGS = global_named("torch", "FloatStorage"), global_named("torch", "LongStorage")


class Stored:
    """A storage as PyTorch's pickles refer to it."""

    def __init__(self, key, values, kind=FLOATS, code="f", count=None):
        self.key, self.kind = key, kind
        self.values = array.array(code, values)
        self.count = len(values) if count is None else count


class Made:
    """A tensor as PyTorch pickles it."""

    def __init__(self, storage, offset, shape, strides, rebuild=REBUILD):
        self.arguments, self.rebuild = (storage, offset, shape, strides, False, collections.OrderedDict()), rebuild

    def __reduce__(self):
        return self.rebuild, self.arguments


class Pickler(pickle.Pickler):
    def persistent_id(self, thing):
        if isinstance(thing, Stored):
            return ("storage", thing.kind, thing.key, "cpu", thing.count, None)
        return None


def pickled(thing):
    buffer = io.BytesIO()
    Pickler(buffer, 2).dump(thing)
    return buffer.getvalue()


def legacy_file(state, storages, magic=tool.MAGIC):
    parts = [pickled(magic), pickled(tool.PROTOCOL), pickled({"little_endian": True}), pickled(state)]
    parts.append(pickled([storage.key for storage in storages]))
    for storage in storages:
        parts.append(struct.pack("<q", len(storage.values)) + storage.values.tobytes())
    return b"".join(parts)


class Conversion(unittest.TestCase):
    def test_tensors_are_laid_out_row_major(self):
        storage = Stored("7", range(6))
        state = collections.OrderedDict(turned=Made(storage, 0, (2, 3), (1, 2)), part=Made(storage, 2, (3,), (1,)), one=Made(storage, 5, (), ()))
        tensors = tool.float_tensors(tool.read_state_dict(legacy_file(state, [storage])))
        self.assertEqual(list(tensors["turned"][1]), [0, 2, 4, 1, 3, 5])
        self.assertEqual(list(tensors["part"][1]), [2, 3, 4])
        self.assertEqual((tensors["one"][0], list(tensors["one"][1])), ([], [5]))

    def test_whole_numbers_are_left_out_and_names_lose_underscores(self):
        weight, seen = Stored("a", [1.5]), Stored("b", [9], LONGS, "q")
        state = {"_blocks.0._bn1.running_var": Made(weight, 0, (1,), (1,)), "_bn0.num_batches_tracked": Made(seen, 0, (), ())}
        tensors = tool.float_tensors(tool.read_state_dict(legacy_file(state, [weight, seen])))
        self.assertEqual(list(tensors), ["blocks.0.bn1.running_var"])

    def test_written_file_is_safetensors(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "x.pth"), os.path.join(folder, "deep/x.safetensors")
            storage = Stored("0", [1, -2, 0.5, 4])
            with open(source, "wb") as file:
                file.write(legacy_file({"_fc.weight": Made(storage, 0, (2, 2), (2, 1))}, [storage]))
            tool.convert(source, target)
            with open(target, "rb") as file:
                size = struct.unpack("<Q", file.read(8))[0]
                header, data = json.loads(file.read(size)), file.read()
            self.assertEqual(size % 8, 0)
            self.assertEqual(header["fc.weight"], {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]})
            self.assertEqual(struct.unpack("<4f", data), (1, -2, 0.5, 4))
            self.assertEqual(os.listdir(os.path.dirname(target)), ["x.safetensors"])


class Refusal(unittest.TestCase):
    def refuse(self, data, why):
        with self.assertRaisesRegex(tool.Refused, why):
            tool.float_tensors(tool.read_state_dict(data))

    def test_a_call_to_the_system_is_not_made(self):
        with tempfile.TemporaryDirectory() as folder:
            witness = os.path.join(folder, "witness")
            for opcodes in (
                b"cos\nsystem\n(S'touch %s'\ntR." % witness.encode(),
                b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c%s\x85R." % (bytes([len("touch " + witness)]) + b"touch " + witness.encode()),
                b"(S'touch %s'\nios\nsystem\n." % witness.encode(),
                b"cbuiltins\neval\n(S'1'\ntR.",
            ):
                self.refuse(opcodes, "which is no tensor")
                self.refuse(pickled(tool.MAGIC) + opcodes, "which is no tensor")
            self.assertFalse(os.path.exists(witness))

    def test_neighbours_of_the_allowed_names(self):
        for module, name in (("collections", "Counter"), ("torch", "load"), ("torch._utils", "_rebuild_parameter"), ("builtins", "getattr")):
            self.refuse(f"c{module}\n{name}\n.".encode(), f"{module}.{name}")

    def test_objects_cannot_be_changed_after_they_are_checked(self):
        storage = Stored("0", [1, 2])
        good = pickled({"w": Made(storage, 0, (2,), (1,))})
        # BUILD with a slot state on the tensor: (None, {"offset": 99})
        bad = good.replace(b"R", b"R" + b"N}X\x06\x00\x00\x00offsetK\x63s\x86b", 2)
        self.refuse(pickled(tool.MAGIC) + pickled(tool.PROTOCOL) + pickled({"little_endian": True}) + bad, "broken|no tensor")

    def test_tensors_that_reach_outside(self):
        storage = Stored("0", [1, 2, 3, 4])
        for offset, shape, strides in ((1, (4,), (1,)), (0, (2, 2), (3, 2)), (4, (1,), (1,)), (0, (5,), (0,)), (0, (2,), (-1,)), (0, (2, 2), (1,))):
            self.refuse(legacy_file({"w": Made(storage, offset, shape, strides)}, [storage]), ".")

    def test_storages_that_lie(self):
        longer = Stored("0", [1, 2], count=1 << 30)
        self.refuse(legacy_file({"w": Made(longer, 0, (2,), (1,))}, [longer]), "not as long")
        storage = Stored("0", [1, 2])
        whole = legacy_file({"w": Made(storage, 0, (2,), (1,))}, [storage])
        self.refuse(whole[:-1], "ends in the middle")
        self.refuse(whole + b"x", "follows")
        self.refuse(legacy_file({"w": Made(storage, 0, (2,), (1,))}, []), "list of storages")

    def test_not_a_state_dict(self):
        self.refuse(b"", "broken")
        self.refuse(b"PK\x03\x04 a newer file", "broken")
        self.refuse(legacy_file({}, [], magic=5), "not a legacy")
        self.refuse(legacy_file({"w": 1}, []), "not a dictionary of tensors")
        storage = Stored("0", [float("nan")])
        self.refuse(legacy_file({"w": Made(storage, 0, (1,), (1,))}, [storage]), "not finite")

    def test_truncated_anywhere(self):
        storage = Stored("0", [1, 2])
        whole = legacy_file({"w": Made(storage, 0, (2,), (1,))}, [storage])
        for length in range(len(whole)):
            self.refuse(whole[:length], ".")

    def test_command_says_it_in_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "bad.pth"), os.path.join(folder, "out.safetensors")
            with open(source, "wb") as file:
                file.write(b"cos\nsystem\n(S'true'\ntR.")
            for flags, why in (([], r"its SHA-256 is not that of the published file"), (["--unverified"], r"it asks for os\.system, which is no tensor")):
                ran = subprocess.run([sys.executable, tool.__file__, source, target, *flags], capture_output=True, text=True)
                self.assertEqual((ran.returncode, ran.stdout), (2, ""))
                self.assertRegex(ran.stderr, r"\Acannot convert .*bad\.pth: " + why + r"\n\Z")
            self.assertFalse(os.path.exists(target))


if __name__ == "__main__":
    unittest.main()
