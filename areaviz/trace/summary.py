"""The parts of a trace's summary: short texts for its line, and a table for a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MAX_CHARACTERS = 60
"""Maximum number of characters of a text to show."""
COLUMNS = ("site", "layers", "heads", "queries", "items", "areas", "")
_STYLE = "text-align: left; padding: 2px 12px 2px 0"


def shorten_to_line(text: str) -> str:
    """Return a text as one line without control characters, shortened if it is long."""
    line = " ".join(text.split())
    printable = "".join(letter if letter.isprintable() else "\ufffd" for letter in line)
    return printable if len(printable) <= MAX_CHARACTERS else f"{printable[: MAX_CHARACTERS - 1]}…"


def count_noun(count: int, noun: str) -> str:
    """Return a count with its noun: "1 map", "2,000 maps"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def render_table(line: str, rows: Sequence[Sequence[object]]) -> str:
    """Return HTML with a line about a trace and a table. All texts are escaped.

    Args:
        line: The line above the table.
        rows: The names of the columns, then the values of each row.
    """
    cells = [_render_row(rows[0], "th"), *(_render_row(row, "td") for row in rows[1:])]
    hint = "Call areaviz.show(trace) to see it."
    return f"<div><p>{escape(line)}. {hint}</p><table>{''.join(cells)}</table></div>"


def _render_row(values: Iterable[object], tag: str) -> str:
    cells = []
    for value in values:
        text = f"{value:,}" if isinstance(value, int) else str(value)
        cells.append(f'<{tag} style="{_STYLE}">{escape(text)}</{tag}>')
    return f"<tr>{''.join(cells)}</tr>"
