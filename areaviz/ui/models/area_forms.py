"""What different keys learn, by seed, as a table on the page Models."""

from __future__ import annotations

import streamlit as st

from areaviz.data.places import LETTERS
from areaviz.evaluation.forms import COLUMNS, read_forms

ABOUT = (
    "The network for letters in six forms that differ in their keys alone, 3,000 steps each;"
    " validation loss is cross-entropy a letter, lower is better. Spans on top: the share of"
    " queries whose heaviest area has two letters or more, in one head that depends on its query."
    " Where a dash stands, nothing was trained yet, or no span wins. Rows of a single seed are"
    " hints, not results."
)


def trained_forms() -> None:
    """Draw the table, where there is one."""
    rows = read_forms(LETTERS, "letters")
    if not any(row.seeds for row in rows):
        return
    st.header("What different keys learn", anchor="keys")
    st.caption(ABOUT)
    st.table({name: [row.cells()[column] for row in rows] for column, name in enumerate(COLUMNS)})
