"""deepgap in Python: measure models, read the results, compare them.

>>> import deepgap
>>> results = deepgap.run("resnet50", backend=["native", "onnxruntime"], batch=[1, 8])
>>> results.frame()[["backend", "batch", "throughput"]]

Everything is measured and computed by the program `deepgap`, which this package calls. Reference: docs/reference/python.md.
"""
from __future__ import annotations

from deepgap._backend import CallableError, PythonBackend, backend
from deepgap._call import program
from deepgap._compare import Comparison
from deepgap._errors import Error, ExportError, InternalError, Interrupted, MissingPackage, ProgramError, UsageError
from deepgap._models import from_onnx, from_torch
from deepgap._results import Results
from deepgap._results import open_stores as open  # noqa: A001 (deepgap.open reads as gzip.open does)
from deepgap._run import plan, run

__all__ = [
    "CallableError",
    "Comparison",
    "Error",
    "ExportError",
    "InternalError",
    "Interrupted",
    "MissingPackage",
    "ProgramError",
    "PythonBackend",
    "Results",
    "UsageError",
    "backend",
    "from_onnx",
    "from_torch",
    "open",
    "plan",
    "program",
    "run",
]
