"""The program as a child process whose progress is followed and which an interrupt ends in order."""
from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from types import FrameType
from typing import IO, Any, NamedTuple

from deepgap._errors import InternalError


class Event(NamedTuple):
    """A step of the program's progress: a line of text, a record that is finished, or a point that is under way."""

    text: str
    number: int | None = None  # number of the record that is finished; None for other steps
    total: int | None = None
    phase: str = ""  # "warm_up" or "steady", while a point is under way
    left_s: float | None = None  # until the run ends, where it can be estimated


SET_PARENT_DEATH_SIGNAL = 1  # prctl's PR_SET_PDEATHSIG


class Ended(NamedTuple):
    code: int
    output: str
    messages: str  # what it wrote to standard error
    interrupted: bool  # by a signal to this process


def _ends_with_parent() -> Callable[[], None] | None:
    """Returns what makes a child end in order when this process is killed, or None where the system does not have it."""
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    return lambda: prctl(SET_PARENT_DEATH_SIGNAL, int(signal.SIGINT), 0, 0, 0)


class _Interrupts:
    """Passes each Ctrl-C on to the program, once, and lets this process go on until the program has ended.

    The program has a process group of its own, so that a terminal or a notebook server that signals ours does not signal it a second time:
    the first interrupt keeps what is finished, a second one would not wait.
    """

    def __init__(self) -> None:
        self.seen = 0
        self._process: subprocess.Popen[bytes] | None = None

    def pass_to(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        if self.seen:
            process.send_signal(signal.SIGINT)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self.seen += 1
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)

    def __enter__(self) -> _Interrupts:
        self._main = threading.current_thread() is threading.main_thread()  # only the main thread gets signals
        if self._main:
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._main:
            signal.signal(signal.SIGINT, self._before)


def follow(command: list[str], env: Mapping[str, str], on_event: Callable[[Event], None]) -> Ended:
    """Runs the program and calls `on_event` for each line of its progress."""
    messages: list[str] = []
    with tempfile.TemporaryFile() as output, _Interrupts() as interrupts:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, env=dict(env), process_group=0, preexec_fn=_ends_with_parent()
            )
        except OSError as error:
            raise InternalError(f"cannot run {command[0]}: {error.strerror}") from error
        assert process.stderr is not None
        interrupts.pass_to(process)
        with process.stderr:
            try:
                _read(process.stderr, on_event, messages)
                code = process.wait()
            except BaseException:  # from the progress bar, say: what is finished is kept, and the program does not go on by itself
                process.send_signal(signal.SIGINT)
                process.wait()
                raise
        output.seek(0)
        return Ended(code, output.read().decode("utf-8", "replace"), "\n".join(messages), interrupts.seen > 0)


def _read(stream: IO[bytes], on_event: Callable[[Event], None], messages: list[str]) -> None:
    rest = b""
    while data := os.read(stream.fileno(), 1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "replace")
            messages.append(text)
            event = _event(text)
            if event is not None:
                on_event(event)
    if rest:
        messages.append(rest.decode("utf-8", "replace"))


def _event(line: str) -> Event | None:
    """Returns the progress that a line of standard error reports (`--progress json`), or None for an error."""
    if line.startswith('{"'):
        try:
            return _reported(json.loads(line))
        except (ValueError, KeyError, TypeError):
            pass
    return None if not line.strip() or (line.startswith("deepgap: ") and not line.startswith("deepgap: note:")) else Event(line)


def _reported(event: Mapping[str, Any]) -> Event | None:
    if event["event"] == "note":
        return Event(event["text"])
    if event["event"] not in ("phase", "record"):
        return None
    total = event["total"] or None  # 0: not known
    place = f"[{event['number']}/{total}]" if total else f"[{event['number']}]"
    if event["event"] == "record":
        return Event(f"{place} {event['point']}: {event['result']}", event["number"], total, left_s=event["left_s"])
    done = f" {event['done']}" if event["phase"] in ("warm_up", "steady") and event["done"] else ""
    return Event(f"{event['point']}: {event['phase']}{done}", None, total, event["phase"], event["left_s"])
