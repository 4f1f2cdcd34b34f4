"""Ready examples: each opens its page with its text, picture, settings and focus."""

from __future__ import annotations

import streamlit as st

from areaviz.data.picture_samples import SAMPLES, thumbnail
from areaviz.trace.request import Request
from areaviz.ui.forms.samples import EXAMPLES, Example
from areaviz.ui.shell.frame import page_link
from areaviz.ui.shell.page import link_params


def gallery() -> None:
    """One card an example, two a row."""
    for left in range(0, len(EXAMPLES), 2):
        for example, place in zip(EXAMPLES[left : left + 2], st.columns(2), strict=False):
            with place.container(border=True, height="stretch"):
                st.subheader(example.title, anchor=False)
                _shown(example)
                st.caption(example.note)
                page_link(example.page, "Open this example", link_of(example))


def link_of(example: Example) -> dict[str, str]:
    """The address parameters of an example; the model is left to the page, which knows which ones
    there are.
    """
    request = Request("", example.text, area_size=example.area_size)
    params = link_params(request, example.focus, example.view, example.compare)
    params |= {"picture": example.picture} if example.picture else {}
    params |= {"hidden": example.hidden} if example.hidden else {}
    return {name: value for name, value in params.items() if name != "model"}


def _shown(example: Example) -> None:
    """Its picture and its sentence."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if example.picture:
            st.image(thumbnail(example.picture), width=72, alt=SAMPLES[example.picture].title)
        if example.text:
            st.text(example.text)
