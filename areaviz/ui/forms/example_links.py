"""Links to the ready-made examples, and the menu of a page's own examples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from areaviz.samples.paths import LOOKS
from areaviz.trace.request import Request
from areaviz.ui.app.engine import list_missing_models
from areaviz.ui.app.frame import draw_page_link
from areaviz.ui.app.state import LEVEL, WRITES_PARAM, build_link_params
from areaviz.ui.forms.samples import EXAMPLES, Example


@cache
def load_stored_examples() -> Mapping[str, Mapping[str, Any]]:
    """Return the results of `areaviz openings`, which opened the examples, by their slugs.

    These are the "models" that ran and, for an example that names no items, the URL parameters of
    its selection, "look".
    """
    found: dict[str, Any] = json.loads(LOOKS.read_text(encoding="utf-8"))
    return found


def list_missing_models_for(example: Example) -> list[str]:
    """Return the models that an example needs and this machine lacks."""
    return list_missing_models(load_stored_examples().get(example.slug, {}).get("models", ()))


def build_example_link(example: Example) -> dict[str, str]:
    """Return the URL parameters of an example, which set its text, picture, options and selection.

    The page chooses the model, because it knows which ones are available.
    """
    request = Request("", example.text, area_size=example.area_size)
    params = build_link_params(request, example.focus, example.view, example.compare)
    params.pop("model", None)
    if example.level:
        params[LEVEL] = example.level
    if not example.focus.items:
        params |= load_stored_examples().get(example.slug, {}).get("look", {})
    if example.writes:
        params[WRITES_PARAM] = "1"
    for name in ("picture", "sound", "clip", "hidden"):
        value = getattr(example, name)
        if value:
            params[name] = value
    return params


def list_examples(page: str) -> Sequence[Example]:
    """Return the examples of a page, given by its name."""
    return [example for example in EXAMPLES if Path(example.page).stem == page]


def draw_examples_menu(page: str) -> None:
    """Draw a button that lists the examples of a page, if it has any whose models are available."""
    examples = [example for example in list_examples(page) if not list_missing_models_for(example)]
    if not examples:
        return
    with st.popover("Examples", key="examples", type="tertiary"):
        for example in examples:
            draw_page_link(
                example.page, example.title, build_example_link(example), help=example.note
            )
