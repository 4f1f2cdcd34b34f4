"""Errors that a program such as xCOMET marked in an output. A rater can adopt them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from areaviz.app.texts import escape_markdown, shorten_line
from areaviz.data.raters import is_automatic
from areaviz.draw.labels import escape_controls
from areaviz.notes.error_spans import Judgement


def draw_automatic_errors(
    judged: Sequence[Judgement],
    fresh: Judgement,
    adopt: Callable[[Judgement], None] | None,
) -> None:
    """Draw the errors that programs marked in an output.

    Args:
        judged: all judgements of the example's outputs.
        fresh: an empty judgement of the present output.
        adopt: adds a program's errors to the rater's own; None if the user may not mark errors.
    """
    for one in judged:
        is_here = one.model == fresh.model and one.output == fresh.output
        if not is_here or one.differs or not is_automatic(one.rater):
            continue
        st.caption(f"Marked by {escape_markdown(shorten_line(one.rater))}, in no figure")
        draw_marked_errors(one)
        if one.spans and adopt:
            st.button(
                "Start from these",
                key=f"automatic_{one.id}",
                on_click=adopt,
                args=(one,),
                help="Adds these errors to your saved marks, where you keep or delete each of them."
                " Save first what you have marked.",
            )


def draw_marked_errors(judgement: Judgement) -> None:
    """Draw marked errors in words, one per line."""
    lines = [f"• {judgement.describe(span)}" for span in judgement.spans]
    st.text(escape_controls("\n".join(lines)) or "no errors")


def merge_marks(own: Judgement, program: Judgement) -> Judgement:
    """Return a rater's judgement with those errors of a program that it lacks."""
    new = tuple(span for span in program.spans if span not in own.spans)
    return replace(own, spans=own.spans + new)
