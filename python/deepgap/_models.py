"""Models in memory as ONNX files that the program reads."""
from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import inspect
import os
import pathlib
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from deepgap._errors import ExportError, UsageError
from deepgap._optional import optional

MOST_PROTOBUF_BYTES = 2**31 - 1


def default_folder() -> pathlib.Path:
    """Returns where models from memory are kept, so that `deepgap rerun` and later runs find them."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "deepgap" / "python-models"


def _writable(folder: pathlib.Path) -> pathlib.Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise UsageError(f"cannot keep the model in {folder}: {error.strerror}; name another folder=") from error


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._") or "model"


def _keep(name: str, folder: pathlib.Path | None, write: Callable[[pathlib.Path], None]) -> pathlib.Path:
    """Writes a model into a folder named by its content, so that equal models are one file."""
    parent = _writable(folder or default_folder())
    with tempfile.TemporaryDirectory(dir=parent, prefix=".new-") as made:
        file = pathlib.Path(made) / f"{_file_name(name)}.onnx"
        try:
            write(file)
        except OSError as error:
            raise UsageError(f"cannot write {file.name} into {parent}: {error.strerror or error}") from error
        digest = hashlib.blake2b(digest_size=8)
        for part in sorted(pathlib.Path(made).iterdir()):
            with part.open("rb") as data:
                while block := data.read(1 << 20):
                    digest.update(block)
        kept = parent / digest.hexdigest()
        kept.mkdir(exist_ok=True)
        for part in pathlib.Path(made).iterdir():
            part.replace(kept / part.name)
        return kept / file.name


def is_onnx(model: Any) -> bool:
    return type(model).__name__ == "ModelProto" and hasattr(model, "SerializeToString")


def is_torch(model: Any) -> bool:
    return any(base.__module__.partition(".")[0] == "torch" and base.__name__ == "Module" for base in type(model).__mro__)


def from_onnx(model: Any, *, name: str | None = None, folder: str | os.PathLike[str] | None = None) -> pathlib.Path:
    """Writes an `onnx.ModelProto` to a file that `run` takes, and returns its path.

    `name` is the file's name [default: the name of the graph]. Equal models give the same file. `folder` is where files are kept
    [default: ~/.cache/deepgap/python-models].
    """
    if not is_onnx(model):
        raise TypeError(f"from_onnx() needs an onnx.ModelProto, got {type(model).__name__}")

    def write(file: pathlib.Path) -> None:
        if model.ByteSize() <= MOST_PROTOBUF_BYTES:
            file.write_bytes(model.SerializeToString())
            return
        copy = type(model)()  # saving with external data moves the weights out of the model that is given
        copy.CopyFrom(model)
        optional("onnx", "a model of more than 2 GB needs").save_model(copy, str(file), save_as_external_data=True, location=f"{file.stem}.data")

    return _keep(name or model.graph.name or "model", pathlib.Path(folder) if folder else None, write)


def from_torch(
    module: Any,
    example_inputs: Any,
    *,
    name: str | None = None,
    dynamic_batch: bool = True,
    folder: str | os.PathLike[str] | None = None,
) -> pathlib.Path:
    """Exports a `torch.nn.Module` to an ONNX file that `run` takes, and returns its path.

    `example_inputs` is a tensor, or a tuple of tensors in the order of `forward`. With `dynamic_batch` the first dimension of every input
    is the batch, so that one file serves all values of `batch`. The module is exported in evaluation mode and left as it was.
    """
    torch = optional("torch", "from_torch() needs")
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"from_torch() needs a torch.nn.Module, got {type(module).__name__}")
    inputs = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    if not inputs or not all(isinstance(one, torch.Tensor) for one in inputs):
        raise UsageError("invalid example_inputs: expected a tensor, or a tuple of tensors in the order of forward()")
    if dynamic_batch and any(one.dim() == 0 for one in inputs):
        raise UsageError("invalid example_inputs: an input without dimensions has no batch; set dynamic_batch=False")
    title = name or type(module).__name__

    def write(file: pathlib.Path) -> None:
        with _evaluating(module), warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            _export(torch, module, inputs, file, title, dynamic_batch)

    return _keep(title, pathlib.Path(folder) if folder else None, write)


@contextlib.contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def _input_names(module: Any, count: int) -> list[str]:
    try:
        named = [parameter.name for parameter in inspect.signature(module.forward).parameters.values() if parameter.kind in (0, 1)]
    except (TypeError, ValueError):
        named = []
    return named[:count] if len(named) >= count else [f"input{i}" for i in range(count)]


def _export(torch: Any, module: Any, inputs: Sequence[Any], file: pathlib.Path, title: str, dynamic_batch: bool) -> None:
    try:
        settings: dict[str, Any] = {"input_names": _input_names(module, len(inputs))}
        if dynamic_batch:
            # A batch of one would be exported as the constant 1.
            inputs = tuple(torch.cat([one, one]) if one.shape[0] == 1 else one for one in inputs)
        # PyTorch's newer exporter needs onnxscript; the older one serves where that is missing.
        newer = importlib.util.find_spec("onnxscript") is not None
        if dynamic_batch:
            settings |= {"dynamic_shapes": tuple({0: torch.export.Dim("N")} for _ in inputs)} if newer else _dynamic_axes(module, inputs, settings)
        torch.onnx.export(module, tuple(inputs), str(file), dynamo=newer, **settings)
    except OSError:
        raise
    except Exception as error:  # whatever the module, the exporter or an operator raises
        raise ExportError(f"cannot export {title} to ONNX: {type(error).__name__}: {_first_line(error)}") from error


def _dynamic_axes(module: Any, inputs: Sequence[Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns names and open dimensions for the older exporter, which has to know the outputs."""
    outputs = module(*inputs)
    results = list(outputs.values()) if isinstance(outputs, Mapping) else list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    names = ["output"] if len(results) == 1 else [f"output{i}" for i in range(len(results))]
    return {"output_names": names, "dynamic_axes": {one: {0: "N"} for one in [*settings["input_names"], *names]}}


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else "no reason was given"
