"""Comparisons of two results, as `deepgap compare --format json` makes them."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deepgap import _call, _flags, _html
from deepgap._errors import UsageError
from deepgap._results import Kind, Results, Row, data_frame

EXIT_CODES = (0, 1, 4, 5)


class Comparison:
    """Pairs of points of two results, with the ratio of a metric, its interval and a verdict: faster, slower, same or unknown."""

    def __init__(self, found: Mapping[str, Any], exit_code: int) -> None:
        self._found = dict(found)
        self.exit_code = exit_code

    @property
    def pairs(self) -> list[Row]:
        """One dict per pair: `a`, `b`, `ratio`, `low`, `high`, `verdict`, `needs_repeats` and more."""
        return list(self._found["comparisons"])

    @property
    def metric(self) -> str:
        """The column of the export that was compared."""
        return str(self._found["metric"])

    @property
    def a(self) -> str:
        """The name of the baseline."""
        return str(self._found["a"])

    @property
    def b(self) -> str:
        """The name of the results that are judged."""
        return str(self._found["b"])

    @property
    def gate(self) -> str | None:
        """With fail_if_slower: "held", "slower", "not enough data" or "nothing to compare". Otherwise None."""
        gate = self._found["gate"]
        return None if gate is None else str(gate["result"])

    @property
    def only_a(self) -> int:
        """Number of points of the baseline without a partner."""
        return int(self._found["only_a"])

    @property
    def only_b(self) -> int:
        """Number of points of the other results without a partner."""
        return int(self._found["only_b"])

    @property
    def notes(self) -> list[str]:
        """The program's notes, such as environments that differ."""
        return list(self._found["notes"])

    def to_dict(self) -> Row:
        """Returns everything that `deepgap compare --format json` printed."""
        return dict(self._found)

    def frame(self, kind: Kind = "pandas") -> Any:
        """Returns a DataFrame with a row per pair."""
        return data_frame(self.pairs, None, kind)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return f"<deepgap.Comparison: {len(self)} pair{'' if len(self) == 1 else 's'} of {self.metric}, {self.a} and {self.b}>"

    def _repr_html_(self) -> str:
        return _html.comparison_table(self)


def compare(first: Results, second: Results, flags: Mapping[str, Any]) -> Comparison:
    if not isinstance(second, Results):
        raise TypeError(f"compare() needs Results, such as deepgap.open('before.db'), got {type(second).__name__}")
    for side in (first, second):
        if len(side._stores) != 1:
            raise UsageError("compare() takes one store a side: join several with deepgap merge")
    if first._times != second._times:
        raise UsageError("compare() needs the same since and until on both sides: select by run_id, study or tag instead")
    # What both ask for must not count as an axis that may differ.
    both = [condition for condition in first._conditions if condition in second._conditions]
    own = [";".join(condition for condition in side._conditions if condition not in both) for side in (first, second)]
    if first._stores == second._stores and own[0] == own[1]:
        raise UsageError("compare() got the same results twice: select two sets, such as r.select(backend='a') and r.select(backend='b')")
    reserved = {name: "compare() sets it" for name in ("a", "b", "json", "format", "output", "select", "since", "until")}
    line = [f"--select={condition}" for condition in both] + list(first._times)
    line += [f"--{name}={text}" for name, text in zip("ab", own) if text]
    stores = first._names() + second._names()
    return _run(["compare", *stores, *line, "--format=json", *_flags.arguments("compare", flags, reserved)])


def _run(command: list[str]) -> Comparison:
    code, text = _call.output_and_code(*command, ok=EXIT_CODES)
    return Comparison(_call.parsed(text), code)
