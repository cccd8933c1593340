"""Results: the points of one or several stores, or some of them. Every number comes from the program."""
from __future__ import annotations

import datetime
import os
import pathlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union

from deepgap import _call, _flags, _html
from deepgap._errors import UsageError
from deepgap._optional import optional

if TYPE_CHECKING:
    from deepgap._compare import Comparison

Path = Union[str, os.PathLike[str]]
Kind = Literal["pandas", "polars"]
By = Literal["point", "record"]
Row = dict[str, Any]


def data_frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None, kind: str) -> Any:
    """Returns rows as a DataFrame of pandas or polars."""
    if kind == "pandas":
        return optional("pandas", "frame() needs").DataFrame(list(rows), columns=columns)
    if kind == "polars":
        polars = optional("polars", "frame('polars') needs")
        return polars.DataFrame(list(rows), schema=columns if not rows else None, infer_schema_length=None)
    raise UsageError(f"invalid value {kind!r} for kind: expected 'pandas' or 'polars'")


class Results:
    """Points of a store, from `deepgap.open` or `deepgap.run`.

    A point is one thing that was measured; its repeats are combined as `deepgap export --by point` does. Iterating gives the points as
    dicts with the columns of the export; missing values are None.
    """

    def __init__(
        self,
        stores: Sequence[pathlib.Path],
        conditions: Sequence[str] = (),
        times: Sequence[str] = (),
        *,
        summary: Mapping[str, Any] | None = None,
        harness: Results | None = None,
        traceback: str | None = None,
    ) -> None:
        self._stores = tuple(stores)
        self._conditions = tuple(conditions)  # "backend=native|null", all of which hold
        self._times = tuple(times)  # --since and --until
        self._summary = dict(summary or {})
        self._harness = harness
        self._traceback = traceback
        self._points: list[Row] | None = None

    @property
    def stores(self) -> tuple[pathlib.Path, ...]:
        """The files that hold these results."""
        return self._stores

    @property
    def points(self) -> list[Row]:
        """One dict per point, with the interval over its repeats."""
        if self._points is None:
            self._points = self._with_harness(self._as_planned(self._export("--by", "point")))
        return self._points

    @property
    def records(self) -> list[Row]:
        """One dict per repeat of a point, with the interval within the run."""
        return self._export("--by", "record")

    @property
    def failures(self) -> list[Row]:
        """The failures that `run` counts: dicts with `point`, `repeat` and `result`. Empty for results of `open`."""
        return list(self._summary.get("failures", []))

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended the run of these results."""
        return bool(self._summary.get("interrupted", False))

    @property
    def summary(self) -> Row:
        """The output of `deepgap run --json`, with its comparisons, peaks and tenants. Empty for results of `open`."""
        return dict(self._summary)

    @property
    def harness(self) -> Results | None:
        """Results of an empty function, for a measured Python function: what the harness itself costs. Otherwise None."""
        return self._harness

    @property
    def traceback(self) -> str | None:
        """The traceback of the first exception that a measured Python function raised, or None."""
        return self._traceback

    def __iter__(self) -> Iterator[Row]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def frame(self, kind: Kind = "pandas", *, by: By = "point") -> Any:
        """Returns a DataFrame of pandas or polars, a row per point or (by="record") per repeat.

        The columns are those of `deepgap export`. A Python function's rows also have `harness_p50_ms`.
        """
        if by not in ("point", "record"):
            raise UsageError(f"invalid value {by!r} for by: expected 'point' or 'record'")
        return data_frame(self.points if by == "point" else self.records, None, kind)

    def timings(self, kind: Kind = "pandas") -> Any:
        """Returns a DataFrame with a row per timed query (`deepgap export --timings`)."""
        return data_frame(self._export("--timings"), None, kind)

    def sql(self, query: str, parameters: Sequence[Any] | Mapping[str, Any] = (), kind: Kind = "pandas") -> Any:
        """Returns a DataFrame of an SQL query over the store's views v1_records, v1_metrics, v1_options, v1_remarks and v1_facts.

        The query sees the whole store, whatever was selected.
        """
        if len(self._stores) != 1:
            raise UsageError(f"sql() reads one store, and these results are in {len(self._stores)}: join them with deepgap merge")
        try:
            with sqlite3.connect(f"{self._stores[0].absolute().as_uri()}?mode=ro", uri=True) as database:
                cursor = database.execute(query, parameters)
                columns = [column[0] for column in cursor.description or ()]
                rows = [dict(zip(columns, row)) for row in cursor]
        except sqlite3.Error as error:
            raise UsageError(f"{self._stores[0]}: {error}") from error
        finally:
            if "database" in locals():
                database.close()
        return data_frame(rows, columns, kind)

    def select(
        self, selection: str = "", *, since: str | datetime.datetime | None = None, until: str | datetime.datetime | None = None, **columns: Any
    ) -> Results:
        """Returns the results whose columns have these values: select(backend="native", batch=[1, 8]).

        `columns` are columns of the export or options of the points. `selection` is text as for `--select`, for names with dots:
        select("native.path=fast|plain"). A condition that no record meets is a UsageError that lists the values.
        """
        conditions = [part.strip() for part in selection.split(";") if part.strip()]
        for name, value in columns.items():
            values = [_flags.text_of(one) for one in (value if _flags.is_list(value) else [value])]
            if not values or any("|" in one or ";" in one for one in values):
                raise UsageError(f"invalid value {value!r} for {name}: expected a value or a list of values, without | and ;")
            conditions.append(f"{name}={'|'.join(values)}")
        times = [f"--{flag}={_time(flag, at)}" for flag, at in (("since", since), ("until", until)) if at is not None]
        chosen = Results(
            self._stores,
            [*self._conditions, *(condition for condition in conditions if condition not in self._conditions)],
            [*self._times, *times],
            summary=self._summary,
            harness=self._harness,
            traceback=self._traceback,
        )
        chosen.points  # so that a condition that nothing meets fails here
        return chosen

    def compare(self, other: Results, **flags: Any) -> Comparison:
        """Compares `other` with these results, point by point, as `deepgap compare` does: ratios above 1 mean that `other` is better.

        `flags` are those of `deepgap compare`, such as metric="latency_p99_ms", margin="1%" or fail_if_slower="2%".
        """
        from deepgap._compare import compare

        return compare(self, other, flags)

    def report(self, path: Path | None = None, **flags: Any) -> pathlib.Path:
        """Writes an HTML report (Markdown if `path` ends with .md), and returns its path. `flags` are those of `deepgap report`."""
        format_ = str(flags.get("format", "md" if path is not None and str(path).endswith(".md") else "html"))
        target = pathlib.Path(path) if path is not None else self._stores[0].with_suffix(f".{format_}")
        flags = {"format": format_, **flags}
        reserved = {"output": "give the path as the first argument", "select": "use select() before report()"}
        _call.output("report", *self._names(), *self._chosen(), f"--output={target}", *_flags.arguments("report", flags, reserved))
        return target

    def _names(self) -> list[str]:
        return [store_argument(store) for store in self._stores]

    def _chosen(self) -> list[str]:
        return [f"--select={condition}" for condition in self._conditions] + list(self._times)

    def _export(self, *flags: str) -> list[Row]:
        rows: list[Row] = _call.json_output("export", *self._names(), *self._chosen(), *flags, "--format=json")
        return rows

    def _as_planned(self, rows: list[Row]) -> list[Row]:
        """A run measures in random order; its points are shown in the order that was asked for."""
        order = {point["point_id"]: i for i, point in enumerate(self._summary.get("points", []))}
        return sorted(rows, key=lambda row: order.get(row["point_id"], len(order)))

    def _with_harness(self, rows: list[Row]) -> list[Row]:
        if self._harness is None:
            return rows
        cost = {row["batch"]: row["latency_p50_ms"] for row in self._harness.points}
        return [{**row, "harness_p50_ms": cost.get(row["batch"])} for row in rows]

    def __repr__(self) -> str:
        stores = ", ".join(str(store) for store in self._stores)
        chosen = f" where {'; '.join(self._conditions)}" if self._conditions else ""
        return f"<deepgap.Results: {len(self)} point{'' if len(self) == 1 else 's'} of {stores}{chosen}>"

    def _repr_html_(self) -> str:
        return _html.results_table(self)


def _time(flag: str, at: str | datetime.datetime) -> str:
    if isinstance(at, datetime.datetime):
        if at.tzinfo is not None:
            at = at.astimezone(datetime.timezone.utc)
        return at.strftime("%Y-%m-%dT%H:%M:%S")
    if isinstance(at, datetime.date):
        return at.isoformat()
    if not isinstance(at, str):
        raise UsageError(f"invalid value {at!r} for {flag}: expected a time such as '2026-11-23T14:05' or a datetime")
    return at


def store_argument(path: pathlib.Path) -> str:
    """Returns a path that the program does not take for a flag."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def open_stores(*stores: Path) -> Results:
    """Opens one or several stores for reading: deepgap.open("deepgap.db")."""
    if not stores:
        raise TypeError("open() needs at least one store, such as deepgap.open('deepgap.db')")
    paths = [pathlib.Path(store) for store in stores]
    for path in paths:
        try:
            with path.open("rb"):
                pass
        except OSError as error:
            raise UsageError(f"cannot open {path}: {error.strerror}") from error
    results = Results(paths)
    results.points  # so that a file that is not a store, or that of a newer deepgap, fails here
    return results


__all__ = ["Results", "open_stores"]
