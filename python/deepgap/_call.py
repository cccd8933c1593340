"""Calls the program and turns its exit codes and lines into results and exceptions."""
from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import pathlib
import signal
import subprocess
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from deepgap import _program
from deepgap._errors import Error, InternalError, ProgramError, UsageError

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def message_of(stderr: str, code: int) -> str:
    """Returns the line of the program that says why it ended."""
    lines = [line for line in stderr.splitlines() if line.strip() and not line.startswith('{"event"')]
    own = [line.removeprefix("deepgap: ") for line in lines if line.startswith("deepgap: ") and not line.startswith("deepgap: note:")]
    if own:
        return own[-1]
    if code < 0:
        return f"the program was ended by {signal.Signals(-code).name}"
    return lines[-1] if lines else f"the program ended with exit code {code}"


def error_of(stderr: str, code: int) -> Error:
    message = message_of(stderr, code)
    return UsageError(message, code) if code == EXIT_USAGE else InternalError(message, code)


def program() -> pathlib.Path:
    """Returns the program, and warns once if its version is not that of this package."""
    try:
        path = _program.program()
    except _program.ProgramError as error:
        raise ProgramError(str(error)) from error
    try:
        _look_at(str(path), os.stat(path).st_mtime_ns)
    except OSError as error:
        raise ProgramError(f"cannot run {path}: {error.strerror}") from error
    return path


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**_program.environment(), **(extra or {})}


@functools.lru_cache(maxsize=16)
def _look_at(path: str, _changed: int) -> str:
    words = _run([path, "version"], (0,))[1].split()
    if words[:1] != ["deepgap"] or len(words) < 2:
        raise ProgramError(f"{path} is not the deepgap program: `{path} version` does not print one")
    version = words[1]
    try:
        own = importlib.metadata.version("deepgap")
    except importlib.metadata.PackageNotFoundError:
        return version
    if release(version) != release(own):
        warnings.warn(
            f"the program {path} is deepgap {version} and this package is {own}: install the package of that version, or unset DEEPGAP_PROGRAM",
            stacklevel=4,
        )
    return version


def release(version: str) -> tuple[str, ...]:
    """Returns the numbers of "0.1.0-5-gabc" and "0.1.0.dev3": 0, 1, 0."""
    parts = version.replace("-", ".").replace("+", ".").split(".")[:3]
    return tuple(part for part in parts if part.isdigit())


def _run(command: list[str], ok: Iterable[int]) -> tuple[int, str]:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", errors="replace", env=environment(), check=False
    )
    if done.returncode not in ok:
        raise error_of(done.stderr, done.returncode)
    return done.returncode, done.stdout


def output_and_code(*arguments: str, ok: Iterable[int] = (0,)) -> tuple[int, str]:
    """Runs a command of the program and returns exit code and standard output. Throws its error for other exit codes than `ok`."""
    return _run([str(program()), *arguments], ok)


def output(*arguments: str) -> str:
    return output_and_code(*arguments)[1]


def parsed(text: str) -> Any:
    """Returns JSON that the program printed."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise InternalError(f"the program printed something other than JSON: {text.strip()[:80]!r}") from error


def json_output(*arguments: str) -> Any:
    return parsed(output(*arguments))


def help_of(command: str) -> str:
    """Returns `deepgap COMMAND --help`, which the program makes of the tables that it reads flags by."""
    path = program()
    return _help_of(str(path), os.stat(path).st_mtime_ns, command)


@functools.lru_cache(maxsize=64)
def _help_of(path: str, _changed: int, command: str) -> str:
    return _run([path, command, "--help"], (0,))[1]
