"""Progress of a run: a bar of tqdm with the phase of the point under way, or a line for each finished record."""
from __future__ import annotations

import importlib.util
import sys
from typing import Any, Literal, Protocol

from deepgap._errors import UsageError
from deepgap._optional import optional
from deepgap._process import Event

Wanted = bool | Literal["auto"]


class Progress(Protocol):
    def __call__(self, event: Event) -> None: ...
    def close(self) -> None: ...


def left_text(event: Event) -> str:
    return "" if event.left_s is None else f", about {event.left_s:.0f} s left"


class Silent:
    def __call__(self, event: Event) -> None:
        pass

    def close(self) -> None:
        pass


class Lines:
    """For logs, and where tqdm is missing."""

    def __call__(self, event: Event) -> None:
        if not event.phase:
            print(event.text + left_text(event), file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


class Bar:
    def __init__(self, tqdm: Any) -> None:
        self._bar = tqdm(total=None, unit="record", dynamic_ncols=True, file=sys.stderr)

    def __call__(self, event: Event) -> None:
        if event.total is not None:
            self._bar.total = event.total
        if event.phase:
            self._bar.set_postfix_str(event.text + left_text(event))
            return
        self._bar.write(event.text, file=sys.stderr)
        if event.number is not None:
            self._bar.set_postfix_str("", refresh=False)
            self._bar.update(event.number - self._bar.n)
            self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


def in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in shell.config


def progress(wanted: Wanted) -> Progress:
    """Returns what shows progress. "auto": a bar at a terminal and in a notebook if tqdm is installed, else lines."""
    if wanted not in (True, False, "auto"):
        raise UsageError(f"invalid value {wanted!r} for progress: expected True, False or 'auto'")
    if wanted is False:
        return Silent()
    if wanted == "auto" and (importlib.util.find_spec("tqdm") is None or not (sys.stderr.isatty() or in_notebook())):
        return Lines()
    # The bar of a notebook needs ipywidgets; without it tqdm's text is shown there as well.
    module = "tqdm.notebook" if in_notebook() and importlib.util.find_spec("ipywidgets") else "tqdm.std"
    return Bar(optional(module, "a progress bar needs").tqdm)
