"""The input at the top of a page: one row of widgets, and a row of samples below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.ui.app.markdown import escape_markdown, shorten_line
from areaviz.ui.app.page import AnyPage

MAX_VISIBLE_SAMPLES = 3
"""Number of samples that are offered without opening the list."""
MAX_LABEL_CHARACTERS = 32
"""Largest number of characters of a sample's button."""


def draw_input_row(page: AnyPage) -> DeltaGenerator:
    """Return a row for the input, the model, the options and the button that runs the model."""
    return st.container(
        key=page.key("input"), horizontal=True, vertical_alignment="bottom", gap="small"
    )


def draw_sample_row(
    page: AnyPage, samples: Sequence[str], present: str, take: Callable[[str], None]
) -> None:
    """Draw buttons for the first samples and a list of the rest, without the present input."""
    offered = [sample for sample in samples if sample != present]
    with st.container(
        key=page.key("try"), horizontal=True, vertical_alignment="center", gap="small"
    ):
        st.caption("Or try", width="content")
        for sample in offered[:MAX_VISIBLE_SAMPLES]:
            _draw_button(page, shorten_line(sample, MAX_LABEL_CHARACTERS), sample, take)
        if len(offered) > MAX_VISIBLE_SAMPLES:
            draw_sample_menu(
                page,
                f"{len(offered) - MAX_VISIBLE_SAMPLES} more",
                offered[MAX_VISIBLE_SAMPLES:],
                take,
            )


def draw_sample_menu(
    page: AnyPage, label: str, samples: Sequence[str], take: Callable[[str], None]
) -> None:
    """Draw a menu of samples. `take` is called with the chosen one, before the page is drawn."""
    with st.popover(label, key=page.key("more_samples")):
        for sample in samples:
            _draw_button(page, sample, sample, take)


def _draw_button(page: AnyPage, label: str, sample: str, take: Callable[[str], None]) -> None:
    st.button(
        escape_markdown(label),
        key=page.key(f"try {sample}"),
        type="tertiary",
        on_click=take,
        args=(sample,),
    )
