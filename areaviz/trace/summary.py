"""A trace in a line and in a table: what an interpreter and a notebook show of it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from areaviz.trace.record import Trace

LONGEST = 60
"""Characters of a text that are shown."""
COLUMNS = ("site", "layers", "heads", "queries", "items", "areas", "")
_STYLE = "text-align: left; padding: 2px 12px 2px 0"


def line_of(trace: Trace) -> str:
    """Such as '<Trace of char-tiny-area: "A dog." to "Ein Hund.", 3 maps>'."""
    parts = [f"<Trace of {trace.request.model}"]
    if trace.request.text.strip():
        parts.append(f': "{_short(trace.request.text)}"')
    answer = answer_of(trace) if trace.output.field in trace.fields else ""
    if answer.strip():
        parts.append(f' to "{_short(answer)}"')
    counts = [_counted(len(trace.maps), "map")] if trace.maps else []
    if trace.gazes:
        counts.append(_counted(len(trace.gazes), "gaze"))
    return f"{''.join(parts)}, {', '.join(counts) or 'no attention'}>"


def answer_of(trace: Trace) -> str:
    """The text that the model wrote; of a reader of digits its answer, not what each look said."""
    written = trace.fields[trace.output.field].raw
    return written if trace.request.picture is None else trace.details.get("answer", written)


def table_of(trace: Trace) -> str:
    """The same as HTML: the line, and a row for each map and gaze; texts stay text."""
    rows = [_row(COLUMNS, "th")]
    for site, one in trace.maps.items():
        layers, heads, queries, areas = one.weights.shape
        note = "derived" if one.derived else ""
        values = (site, layers, heads, queries, one.grid.items, areas, note)
        rows.append(_row(values, "td"))
    for site, gaze in trace.gazes.items():
        steps, scales = gaze.seen.shape[:2]
        note = f"{_counted(steps, 'step')}, {_counted(scales, 'scale')}"
        rows.append(_row((site, "", "", steps, "", "", note), "td"))
    line = escape(line_of(trace).strip("<>"))
    hint = "areaviz.show(trace) makes it seen."
    return f"<div><p>{line}. {hint}</p><table>{''.join(rows)}</table></div>"


def _row(values: Iterable[object], tag: str) -> str:
    cells = []
    for value in values:
        text = f"{value:,}" if isinstance(value, int) else str(value)
        cells.append(f'<{tag} style="{_STYLE}">{escape(text)}</{tag}>')
    return f"<tr>{''.join(cells)}</tr>"


def _short(text: str) -> str:
    """One line without what a terminal would obey, cut where it is long."""
    line = " ".join(text.split())
    printable = "".join(letter if letter.isprintable() else "\ufffd" for letter in line)
    return printable if len(printable) <= LONGEST else f"{printable[: LONGEST - 1]}…"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
