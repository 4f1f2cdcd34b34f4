"""A trace as one line for the interpreter, and as a table for a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from areaviz.trace.record import Trace

LONGEST = 60
"""Maximum number of characters of a text to show."""
COLUMNS = ("site", "layers", "heads", "queries", "items", "areas", "")
_STYLE = "text-align: left; padding: 2px 12px 2px 0"


def line_of(trace: Trace) -> str:
    """Return a line such as '<Trace of char-tiny-area: "A dog." to "Ein Hund.", 3 maps>'."""
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
    """Return the text that the model wrote, or the answer of a digit classifier.

    A digit classifier's output field has a prediction per step. The answer is the final prediction.
    """
    written = trace.fields[trace.output.field].raw
    return written if trace.request.picture is None else trace.details.get("answer", written)


def table_of(trace: Trace) -> str:
    """Return HTML with that line and a table with one row per map and gaze. Texts are escaped."""
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
    """Return a text as one line without control characters, shortened if it is long."""
    line = " ".join(text.split())
    printable = "".join(letter if letter.isprintable() else "\ufffd" for letter in line)
    return printable if len(printable) <= LONGEST else f"{printable[: LONGEST - 1]}…"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
