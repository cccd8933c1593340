"""Python functions as models: `@deepgap.backend` describes one, and `run` measures it through a server in this process."""
from __future__ import annotations

import contextlib
import functools
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

from deepgap._errors import Error, UsageError
from deepgap._flags import text_of
from deepgap._optional import optional
from deepgap._server import DATATYPES, Call, Served, Server, Tensor

P = ParamSpec("P")
R = TypeVar("R")

EMPTY = "-empty"  # behind a function's name: the same tensors, and nothing computed
MOST_TIMEOUT_S = 50.0


class CallableError(UsageError):
    """A Python function cannot be measured: it raises, blocks, or answers something other than arrays."""


class PythonBackend(Generic[P, R]):
    """A Python function with the tensors that it takes. It can still be called as before; `run` measures it."""

    def __init__(self, function: Callable[P, R], inputs: Mapping[str, Any], name: str, concurrent: bool, timeout_s: float) -> None:
        functools.update_wrapper(self, function)
        self.function, self.name, self.concurrent, self.timeout_s = function, name, concurrent, timeout_s
        self.inputs = [_tensor(tensor, value) for tensor, value in inputs.items()]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        tensors = ", ".join(f"{name}: {dtype}{['N' if size < 0 else size for size in shape]}" for name, dtype, shape in self.inputs)
        return f"<deepgap.backend {self.name}({tensors})>"


def backend(
    *, inputs: Mapping[str, Any], name: str | None = None, concurrent: bool = False, timeout_s: float = 10.0
) -> Callable[[Callable[P, R]], PythonBackend[P, R]]:
    """Makes a function something that `run` measures: @deepgap.backend(inputs={"image": ("float32", ["N", 3, 224, 224])}).

    `inputs` names the function's arguments, each with a dtype and a shape in which "N" is the batch, or with an example array whose first
    dimension is the batch. The function gets NumPy arrays by name and returns an array, a tuple of arrays, a dict of arrays, or None.
    Calls come one after the other unless `concurrent` is set; then it must be safe to call the function from several threads. A call that
    takes longer than `timeout_s` has failed.
    """
    if not isinstance(inputs, Mapping) or not inputs:
        raise UsageError("invalid inputs: expected a dict such as {'image': ('float32', ['N', 3, 224, 224])}")
    if not 0.001 <= timeout_s <= MOST_TIMEOUT_S:
        raise UsageError(f"invalid value {timeout_s!r} for timeout_s: expected a number of seconds from 0.001 to {MOST_TIMEOUT_S:g}")

    def decorate(function: Callable[P, R]) -> PythonBackend[P, R]:
        if not callable(function):
            raise TypeError(f"@deepgap.backend(...) needs a function, got {type(function).__name__}")
        title = name or str(getattr(function, "__name__", type(function).__name__))
        if not title.replace("_", "a").replace("-", "a").replace(".", "a").isalnum() or not title.isascii():
            raise UsageError(f"invalid value {title!r} for name: expected letters, digits and _ - .")
        return PythonBackend(function, inputs, title, concurrent, timeout_s)

    return decorate


def _tensor(name: str, value: Any) -> Tensor:
    expected = f"invalid input {name!r}: expected (dtype, shape), such as ('float32', ['N', 3]), or an example array"
    if isinstance(value, (tuple, list)) and len(value) == 2 and isinstance(value[1], (tuple, list)):
        dtype, sizes = getattr(value[0], "__name__", str(value[0])), list(value[1])
        shape = [-1 if size in ("N", -1, None) else size for size in sizes]
    elif hasattr(value, "dtype") and hasattr(value, "shape") and len(value.shape) > 0:
        dtype, shape = str(value.dtype).removeprefix("torch."), [-1, *(int(size) for size in value.shape[1:])]
    else:
        raise UsageError(expected)
    if any(not isinstance(size, int) or isinstance(size, bool) or (size < 1 and size != -1) for size in shape):
        raise UsageError(f"{expected}; a size is a positive number or 'N'")
    if -1 in shape[1:]:
        raise UsageError(f"{expected}; only the first size can be 'N'")
    if dtype not in DATATYPES:
        raise UsageError(f"invalid input {name!r}: unknown dtype {dtype!r}; known: {', '.join(sorted(DATATYPES))}")
    return name, dtype, shape


def _arrays(numpy: Any, made: PythonBackend[Any, Any], batch: int) -> dict[str, Any]:
    return {name: numpy.zeros([batch if size < 0 else size for size in shape], dtype) for name, dtype, shape in made.inputs}


def _named(numpy: Any, result: Any, batch: int) -> dict[str, Any]:
    """Returns what a function answered as arrays by name."""
    if result is None:
        return {"none": numpy.zeros((batch, 1), "uint8")}
    if isinstance(result, Mapping):
        return {str(name): numpy.asarray(value) for name, value in result.items()}
    if isinstance(result, (tuple, list)):
        return {f"output{i}": numpy.asarray(value) for i, value in enumerate(result)}
    return {"output": numpy.asarray(result)}


def _try(numpy: Any, made: PythonBackend[Any, Any], batch: int) -> dict[str, Any]:
    """Calls the function once, in a thread that is given up when it blocks."""
    found: list[Any] = []
    raised: list[BaseException] = []

    def call() -> None:
        try:
            found.append(_named(numpy, made.function(**_arrays(numpy, made, batch)), batch))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=call, name=f"deepgap-{made.name}", daemon=True)
    thread.start()
    thread.join(made.timeout_s)
    if raised:
        raise CallableError(f"{made.name} raised {type(raised[0]).__name__}: {raised[0]} (called with zeros, batch {batch})") from raised[0]
    if not found:
        raise CallableError(f"{made.name} did not return within {made.timeout_s:g} s (called with zeros, batch {batch}); timeout_s= allows more")
    return dict(found[0])


def _outputs(numpy: Any, made: PythonBackend[Any, Any]) -> list[Tensor]:
    """Returns the outputs with -1 for sizes that follow the batch, by two calls."""
    open_batch = any(-1 in shape for _, _, shape in made.inputs)
    one = _try(numpy, made, 1)
    two = _try(numpy, made, 2) if open_batch else one
    outputs: list[Tensor] = []
    for name, array in one.items():
        other = two.get(name)
        if other is None or other.ndim != array.ndim or other.dtype != array.dtype:
            raise CallableError(f"{made.name} answers other tensors at batch 2 than at batch 1")
        if str(array.dtype) not in DATATYPES:
            raise CallableError(f"{made.name} answers {name} with dtype {array.dtype}; expected one of {', '.join(sorted(DATATYPES))}")
        shape = [-1 if a != b else a for a, b in zip(array.shape, other.shape)]
        if open_batch and (not shape or shape[0] != -1 or -1 in shape[1:]):
            raise CallableError(f"{made.name} answers {name} with shape {list(other.shape)} at batch 2: the first size has to be the batch")
        outputs.append((name, str(array.dtype), shape))
    if not outputs:
        raise CallableError(f"{made.name} answers no arrays: expected an array, a tuple or dict of arrays, or None")
    return outputs


def _call_of(numpy: Any, made: PythonBackend[Any, Any], names: Sequence[str]) -> Call:
    def call(arrays: dict[str, Any]) -> Sequence[Any]:
        batch = next(iter(arrays.values())).shape[:1]
        found = _named(numpy, made.function(**arrays), batch[0] if batch else 1)
        return [found[name] for name in names]

    return call


def _empty_call(numpy: Any, outputs: Sequence[Tensor]) -> Call:
    """Returns a function that answers zeros of the right shapes and computes nothing."""
    known: dict[int, list[Any]] = {}

    def call(arrays: dict[str, Any]) -> Sequence[Any]:
        shape = next(iter(arrays.values())).shape
        batch = shape[0] if shape else 1
        if batch not in known:
            known[batch] = [numpy.zeros([batch if size < 0 else size for size in sizes], dtype) for _, dtype, sizes in outputs]
        return known[batch]

    return call


class Serving:
    """Functions that are served while a run measures them."""

    def __init__(self, functions: Sequence[PythonBackend[Any, Any]]) -> None:
        numpy = optional("numpy", "a Python function as backend needs")
        names = [made.name for made in functions]
        if len(set(names)) != len(names):
            raise UsageError(f"two functions are called {next(name for name in names if names.count(name) > 1)}: set name= of one")
        self.names = names
        self.empty = [name + EMPTY for name in names]
        self.timeout = text_of(f"{round(max(made.timeout_s for made in functions) * 1000)}ms")
        models = []
        for made in functions:
            outputs = _outputs(numpy, made)
            models.append(Served(made.name, made.inputs, outputs, _call_of(numpy, made, [name for name, _, _ in outputs]), made.concurrent))
            models.append(Served(made.name + EMPTY, made.inputs, outputs, _empty_call(numpy, outputs), made.concurrent))
        token = secrets.token_urlsafe(24)
        self._models = models
        try:
            self._server = Server(models, token, numpy)
        except OSError as error:
            raise Error(f"cannot serve Python functions on 127.0.0.1: {error.strerror}") from error
        self.url = self._server.url
        self.environment = {"DEEPGAP_KSERVE_TOKEN": token}

    @property
    def traceback(self) -> str | None:
        return next((model.traceback for model in self._models if model.traceback), None)

    def close(self) -> None:
        self._server.close()


@contextlib.contextmanager
def serving(functions: Sequence[PythonBackend[Any, Any]]) -> Iterator[Serving | None]:
    """Serves functions, if there are any."""
    served = Serving(functions) if functions else None
    try:
        yield served
    finally:
        if served is not None:
            served.close()
