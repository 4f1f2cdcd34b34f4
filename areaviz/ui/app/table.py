"""Tables for reading: text is aligned to the left, columns of numbers to the right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

if TYPE_CHECKING:
    import pandas as pd
    from pandas.io.formats.style_render import CSSDict

# A number with sign, unit and marks, an interval of two numbers, or a dash for a missing value.
_NUMBER = re.compile(r"[+−±-]?[\d,.]+ ?[%×*]?")
_RANGE_SEPARATOR = re.compile(r" ?± ?| to ")
_EMPTY_CELLS = {"", "–"}


def draw_text_table(table: pd.DataFrame | Mapping[str, Sequence[str]]) -> None:
    """Draw a table without an index. Its cells are Markdown text."""
    # Import here: pandas takes half a second and 60 MB, which pages without a table save.
    import pandas as pd

    frame = pd.DataFrame(table)
    places = [place for place, name in enumerate(frame) if are_numbers(frame[name])]
    if not places:
        # Styles take most of a table's time.
        st.table(frame, border="horizontal", hide_index=True)
        return
    right = {"text-align": "right !important"}
    # A column of dashes is aligned like a column of numbers.
    places += [place for place, name in enumerate(frame) if are_empty(frame[name])]
    style = frame.style.set_properties(subset=frame.columns[places], **right)
    # Align the titles with the numbers.
    rules: list[CSSDict] = []
    for place in places:
        rules.append({"selector": f"th.col{place}", "props": list(right.items())})
    st.table(style.set_table_styles(rules), border="horizontal", hide_index=True)


def draw_lazy_expander(label: str, key: str) -> Any:
    """Return an expander. Draw its content only while it is `open`."""
    return st.expander(label, key=key, type="compact", on_change="rerun")


def are_numbers(cells: Iterable[object]) -> bool:
    """Return whether every non-empty cell is a number, and at least one cell is."""
    said = _list_cell_texts(cells)
    return bool(said) and all(_is_number(cell) for cell in said)


def are_empty(cells: Iterable[object]) -> bool:
    """Return whether there are cells and each is empty or a dash."""
    cells = list(cells)
    return bool(cells) and not _list_cell_texts(cells)


def _list_cell_texts(cells: Iterable[object]) -> list[str]:
    """Return the texts of the cells, without empty cells and dashes."""
    # A cell may be escaped for Markdown.
    texts = [str(cell).replace("\\", "").strip() for cell in cells]
    return [text for text in texts if text not in _EMPTY_CELLS]


def _is_number(cell: str) -> bool:
    return all(_NUMBER.fullmatch(part) for part in _RANGE_SEPARATOR.split(cell) if part)
