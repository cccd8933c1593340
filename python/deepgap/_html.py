"""Tables for Jupyter: plain HTML without scripts, styles that follow the notebook's theme."""
from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepgap._compare import Comparison
    from deepgap._results import Results

MOST_ROWS = 50


def number(value: Any, digits: int = 4) -> str:
    """Returns a number with its significant digits and without an exponent."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if value == 0 or not value == value or value in (float("inf"), float("-inf")):
        return str(value)
    text = f"{value:.{digits}g}"
    if "e" not in text:
        return text
    return f"{value:,.0f}" if abs(value) >= 1 else f"{value:.{digits + 8}f}".rstrip("0")


def interval(value: Any, low: Any, high: Any) -> str:
    """Returns "647 (612 to 683)"."""
    if value is None:
        return ""
    return number(value) if low is None or high is None else f"{number(value)} ({number(low, 3)} to {number(high, 3)})"


def short(model: str) -> str:
    """Returns a model file's name without its folder."""
    return model.rsplit("/", 1)[-1]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str, numeric: Iterable[int] = ()) -> str:
    right = set(numeric)

    def cells(tag: str, texts: Sequence[str]) -> str:
        style = [' style="text-align:right"' if i in right else ' style="text-align:left"' for i in range(len(texts))]
        return "<tr>" + "".join(f"<{tag}{style[i]}>{html.escape(text)}</{tag}>" for i, text in enumerate(texts)) + "</tr>"

    body = "".join(cells("td", row) for row in rows[:MOST_ROWS])
    more = f"; {len(rows) - MOST_ROWS} more rows are in frame()" if len(rows) > MOST_ROWS else ""
    return f"<table><caption>{html.escape(caption + more)}</caption><thead>{cells('th', heads)}</thead><tbody>{body}</tbody></table>"


def verdict(row: dict[str, Any]) -> str:
    if row["outcome"] != "ok":
        return f"{row['outcome']}: {row['reason'] or ''}".rstrip(": ")
    words = {"as_found": "no target"}.get(row["verdict"], row["verdict"])
    return f"{words}, unchecked" if row.get("unchecked") else str(words)


def results_table(results: Results) -> str:
    heads = ["model", "backend", "device", "precision", "batch", "scenario", "items/s (95 % CI)", "p50 ms", "p99 ms", "verdict"]
    rows = [
        [
            short(row["model"]),
            row["backend"],
            row["device"],
            row["precision"],
            str(row["batch"]),
            row["scenario"],
            interval(row["throughput"], row["throughput_ci_low"], row["throughput_ci_high"]),
            number(row["latency_p50_ms"]),
            number(row["latency_p99_ms"]),
            verdict(row),
        ]
        for row in results.points
    ]
    caption = f"deepgap: {len(rows)} point{'' if len(rows) == 1 else 's'} of {', '.join(str(store) for store in results.stores)}"
    if results.harness is not None:
        costs = ", ".join(f"{number(row['latency_p50_ms'], 3)} ms at batch {row['batch']}" for row in results.harness.points)
        caption += f"; the harness itself takes {costs} (empty function, p50)"
    return table(heads, rows, caption, (4, 6, 7, 8))


def comparison_table(comparison: Comparison) -> str:
    rows = [
        [pair["a"], pair["b"], interval(pair["ratio"], pair["low"], pair["high"]), pair["verdict"]]
        for pair in comparison.pairs
    ]
    return table([comparison.a, comparison.b, f"ratio of {comparison.metric} (95 % CI)", "verdict"], rows, f"deepgap compare: {comparison.a}, then {comparison.b}", (2,))
