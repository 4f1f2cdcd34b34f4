"""The address of a view: reading a link into the widgets, and keeping the address equal to what is
shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

import streamlit as st

from areaviz.cards.card import Card
from areaviz.data.picture_samples import SAMPLES
from areaviz.trace.errors import InputError
from areaviz.trace.link import from_params, to_params
from areaviz.trace.request import Focus, Request
from areaviz.ui.forms.options import default_model
from areaviz.ui.look.focus_state import recall_focus
from areaviz.ui.look.result import just_run
from areaviz.ui.shell.markdown import shortened

_SEEN = "address"
_PROBLEM = "address_problem"
_VIEW, _COMPARE = "view", "compare"
NOTHING: Mapping[str, str] = {}


Recall = Callable[[Request, Mapping[str, str], str, bool], None]
"""Fills a page's form with a link's request: the request, all parameters, what to compare with,
whether to run.
"""


def restore(cards: Mapping[str, Card], recall: Recall) -> None:
    """Set the widgets to what the address says, if it says something new, and ask for the result.

    Raises:
        InputError: the link cannot be followed; the page stays usable, with what could be read of
            the link.
    """
    params, problem = news(), st.session_state.pop(_PROBLEM, None)
    if just_run() and problem:
        raise InputError(
            problem
        )  # the page was only drawn again; the sentence has not been read yet
    if not cards or not params:
        return
    try:
        _follow(cards, recall, params)
    except InputError as error:
        st.session_state[_PROBLEM] = str(error)
        raise


def news() -> dict[str, str]:
    """What the address says if the page has not followed it yet, else nothing."""
    params = st.query_params.to_dict()
    return {} if params == st.session_state.get(_SEEN) else params


def _follow(cards: Mapping[str, Card], recall: Recall, params: dict[str, str]) -> None:
    st.session_state[_SEEN] = dict(params)
    view, compare = params.pop(_VIEW, None), params.pop(_COMPARE, "")
    recall(Request(default_model(cards), ""), params, "", False)
    request, focus = from_params({"model": default_model(cards), **params})
    recall(request, params, compare, request.model in cards)
    recall_focus(focus, view)
    if request.model not in cards:
        raise InputError(
            f"The link asks for the model “{shortened(request.model, 40)}”, which is not here; "
            "choose one of the models below."
        )


def address(
    request: Request, focus: Focus | None = None, view: str = "", compare: str = ""
) -> dict[str, str]:
    """The address parameters of a view; compare: the name of the other model, or `COUNTERPART`."""
    own = {_VIEW: view} if view else {}
    return {**to_params(request, focus), **own, **({_COMPARE: compare} if compare else {})}


def keep(params: Mapping[str, str]) -> None:
    """Make the browser's address these parameters."""
    if st.query_params.to_dict() != params:
        st.query_params.from_dict(params)
    st.session_state[_SEEN] = dict(params)


def offer(params: Mapping[str, str], request: Request) -> None:
    """Make the browser's address these parameters of a request, and let the whole be copied."""
    keep(params)
    with st.popover("Link to this view", key="link"):
        st.caption("Opens what this page shows now.")
        if request.picture and request.picture.name not in SAMPLES:
            st.caption(
                "The picture is yours and is not stored: whoever opens the link has to upload it."
            )
        st.code(f"{st.context.url or ''}?{urlencode(params)}", language=None, wrap_lines=True)
