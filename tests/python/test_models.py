"""Models from memory: onnx.ModelProto, torch.nn.Module, paths."""
import pathlib
import sys
import types

import pytest
from conftest import TINY, VIRTUAL

import deepgap

SHORT = {"axis": VIRTUAL, "iterations": 20, "warmup": 1}


def doubling():
    onnx = pytest.importorskip("onnx", reason="onnx is not in .venv; ./check installs it")
    from onnx import TensorProto, helper

    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "twice/as much", value[:1], value[1:])
    return onnx.helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_model_proto_is_measured(tmp_path, cache):
    results = deepgap.run(doubling(), backend="native", iterations=20, warmup=1, cache=cache, progress=False)
    point = results.points[0]
    assert point["outcome"] == "ok" and point["check_pass"] is True
    kept = pathlib.Path(point["model"])
    assert kept.name == "twice_as_much.onnx" and kept.is_relative_to(tmp_path / "xdg"), "a later rerun finds the file"
    assert "<td style=\"text-align:left\">twice_as_much.onnx</td>" in results._repr_html_()
    assert deepgap.from_onnx(doubling()) == kept and deepgap.from_onnx(doubling(), name="other").name == "other.onnx"
    assert deepgap.run(kept, backend="null", **SHORT, cache=cache, progress=False).points[0]["model_hash"] == point["model_hash"]


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(deepgap.UsageError, match="^cannot keep the model in .*file: "):
        deepgap.from_onnx(doubling(), folder=tmp_path / "file")


def test_objects_that_are_not_models():
    with pytest.raises(TypeError, match="run\\(\\) does not know models of type int"):
        deepgap.run(3)
    with pytest.raises(TypeError, match="from_onnx\\(\\) needs an onnx.ModelProto, got str"):
        deepgap.from_onnx("net.onnx")
    with pytest.raises(deepgap.UsageError, match="flags are keyword arguments"):
        deepgap.run("--help")


class FakeTensor:
    shape = (1, 3)

    def dim(self):
        return len(self.shape)


@pytest.fixture
def fake_torch(monkeypatch):
    """The part of torch that from_torch uses; `export` stands for the exporter."""
    torch = types.ModuleType("torch")

    class Module:
        training = True

        def modules(self):
            return [self]

        def eval(self):
            self.training = False

        def forward(self, image):
            return image

        def __call__(self, *inputs):
            return self.forward(*inputs)

    Module.__module__ = "torch.nn"
    import contextlib

    torch.nn = types.SimpleNamespace(Module=Module)
    torch.Tensor, torch.no_grad = FakeTensor, contextlib.nullcontext
    torch.cat = lambda tensors: tensors[0]
    torch.export = types.SimpleNamespace(Dim=str)
    torch.onnx = types.SimpleNamespace(export=None)
    monkeypatch.setitem(sys.modules, "torch", torch)
    return torch


def test_a_torch_module_is_exported_in_evaluation_mode(fake_torch, tmp_path, cache):
    module, seen = fake_torch.nn.Module(), {}

    def export(given, inputs, path, **settings):
        seen.update(settings, training=given.training)
        pathlib.Path(path).write_bytes(doubling().SerializeToString())

    fake_torch.onnx.export = export
    path = deepgap.from_torch(module, FakeTensor(), name="net")
    assert path.name == "net.onnx" and seen["training"] is False and module.training is True and seen["input_names"] == ["image"]
    assert deepgap.run(path, backend="null", cache=cache, progress=False, **SHORT).points[0]["outcome"] == "ok"


def test_a_torch_module_that_cannot_be_exported(fake_torch, tmp_path):
    def export(*_, **__):
        raise RuntimeError("unsupported operator aten::odd\nand a long story")

    fake_torch.onnx.export = export
    module = fake_torch.nn.Module()
    with pytest.raises(deepgap.ExportError, match="^cannot export Module to ONNX: RuntimeError: unsupported operator aten::odd$"):
        deepgap.from_torch(module, (FakeTensor(),))
    assert module.training is True and not list((tmp_path / "xdg/deepgap/python-models").iterdir()), "nothing half written is left"
    with pytest.raises(deepgap.UsageError, match="invalid example_inputs"):
        deepgap.from_torch(module, "x")
    with pytest.raises(deepgap.UsageError, match="a torch.nn.Module needs example inputs: "):
        deepgap.run(module)
    with pytest.raises(TypeError, match="from_torch\\(\\) needs a torch.nn.Module, got int"):
        deepgap.from_torch(3, FakeTensor())


def test_without_torch(without_package):
    without_package("torch")
    with pytest.raises(deepgap.MissingPackage, match="^from_torch\\(\\) needs torch: pip install torch$"):
        deepgap.from_torch(None, None)


def test_a_real_torch_module(tmp_path, cache):
    try:
        import torch
    except (ImportError, OSError, ValueError) as missing:
        pytest.skip(f"Python's torch does not load: {str(missing).splitlines()[-1]}")
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(5))
    network(torch.zeros(1, 3, 8, 8))
    path = deepgap.from_torch(network, torch.zeros(1, 3, 8, 8), name="small")
    results = deepgap.run(path, backend="native", batch=[1, 4], iterations=20, warmup=1, cache=cache, progress=False)
    assert [(row["outcome"], row["check_pass"]) for row in results] == [("ok", True)] * 2

    class Odd(torch.nn.Module):
        def forward(self, x):
            return torch.tensor(len(str(x.cpu().numpy()))) if x.sum().item() > 1 else torch.linalg.eigvals(x)

    with pytest.raises(deepgap.ExportError, match="^cannot export Odd to ONNX: "):
        deepgap.from_torch(Odd(), torch.ones(2, 2))
    assert TINY["backend"] == "null"
