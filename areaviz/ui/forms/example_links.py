"""Links to the ready-made examples, and the menu of a page's own examples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from areaviz.data.paths import LOOKS
from areaviz.trace.request import Request
from areaviz.ui.app.engine import missing_models
from areaviz.ui.app.frame import page_link
from areaviz.ui.app.state import LEVEL, link_params
from areaviz.ui.forms.read_form import WRITES
from areaviz.ui.forms.samples import EXAMPLES, Example


@cache
def stored_examples() -> Mapping[str, Mapping[str, Any]]:
    """Return the results of `areaviz openings`, which opened the examples, by their slugs.

    These are the "models" that ran and, for an example that names no items, the URL parameters of
    its selection, "look".
    """
    found: dict[str, Any] = json.loads(LOOKS.read_text(encoding="utf-8"))
    return found


def missing_for(example: Example) -> list[str]:
    """Return the models that an example needs and this machine lacks."""
    return missing_models(stored_examples().get(example.slug, {}).get("models", ()))


def link_of(example: Example) -> dict[str, str]:
    """Return the URL parameters of an example, which set its text, picture, options and selection.

    The page chooses the model, because it knows which ones are available.
    """
    request = Request("", example.text, area_size=example.area_size)
    params = link_params(request, example.focus, example.view, example.compare)
    params.pop("model", None)
    if example.level:
        params[LEVEL] = example.level
    if not example.focus.items:
        params |= stored_examples().get(example.slug, {}).get("look", {})
    if example.writes:
        params[WRITES] = "1"
    for name in ("picture", "sound", "clip", "hidden"):
        value = getattr(example, name)
        if value:
            params[name] = value
    return params


def examples_of(page: str) -> Sequence[Example]:
    """Return the examples of a page, given by its name."""
    return [example for example in EXAMPLES if Path(example.page).stem == page]


def examples_menu(page: str) -> None:
    """Draw a button that lists the examples of a page, if it has any whose models are available."""
    examples = [example for example in examples_of(page) if not missing_for(example)]
    if not examples:
        return
    with st.popover("Examples", key="examples", type="tertiary"):
        for example in examples:
            page_link(example.page, example.title, link_of(example), help=example.note)
