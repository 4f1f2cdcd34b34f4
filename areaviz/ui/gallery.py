"""Ready examples: each opens Translate with its text, settings and focus."""

from __future__ import annotations

import streamlit as st

from areaviz.trace.request import Request
from areaviz.ui.address import address
from areaviz.ui.samples import EXAMPLES, Example

TRANSLATE = "pages/translate.py"


def gallery() -> None:
    """One card an example, two a row."""
    for left in range(0, len(EXAMPLES), 2):
        for example, place in zip(EXAMPLES[left : left + 2], st.columns(2), strict=False):
            with place.container(border=True, height="stretch"):
                st.subheader(example.title, anchor=False)
                st.text(example.text)
                st.caption(example.note)
                st.page_link(TRANSLATE, label="Open this example", query_params=link_of(example))


def link_of(example: Example) -> dict[str, str]:
    """The address parameters of an example; the model is left to Translate, which knows which ones there are."""
    request = Request("", example.text, area_size=example.area_size)
    params = address(request, example.focus, example.view, example.compare)
    return {name: value for name, value in params.items() if name != "model"}
