"""The exceptions of the package. Each message is one line that says what is wrong and what to do."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deepgap._results import Results


class Error(RuntimeError):
    """Anything that deepgap refuses or cannot do. `exit_code` is that of the program, or None if the package found the problem."""

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class UsageError(Error, ValueError):
    """Wrong usage or input (exit code 2): an unknown model, an unreadable file, a store of a newer version. Nothing was measured."""


class ProgramError(Error):
    """The program is missing, this machine cannot run it, or it is of another version than this package."""


class InternalError(Error):
    """The program failed, or could not write the store. What it had saved before is in the store."""


class ExportError(UsageError):
    """A model in memory cannot be written as ONNX."""


class MissingPackage(Error, ImportError):
    """An optional Python package is needed and not installed."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or an interrupted notebook kernel, ended `run`. It is a KeyboardInterrupt, so scripts end as usual.

    `results` are those of what had finished, or None if nothing had. They are in the store as well.
    """

    def __init__(self, message: str, results: Results | None) -> None:
        super().__init__(message)
        self.results = results
