"""The sections of Home: an interactive stored example, ready-made examples, kinds of attention."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import streamlit as st

from areaviz.data.places import CARDS, HOME, LOOKS
from areaviz.data.release_models import to_get_models
from areaviz.interactive.first_look import first_look
from areaviz.interactive.ribbon import TAKEAWAY as RIBBON
from areaviz.trace import codec
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.components.ribbon import ribbon
from areaviz.ui.forms.read_form import WRITES
from areaviz.ui.forms.samples import EXAMPLES, Example
from areaviz.ui.shell.engine import missing_models
from areaviz.ui.shell.errors import show_errors
from areaviz.ui.shell.frame import page_link
from areaviz.ui.shell.state import LEVEL, link_params

WIDEST = 400
"""Largest width in pixels of a picture other than text."""


def picture() -> None:
    """Draw the stored example in an interactive ribbon, with a selected span."""
    with show_errors("showing the example"), st.container(border=True):
        trace, focus = _stored(HOME.stat().st_mtime_ns)
        ribbon(trace, focus, key="home")
        st.caption(RIBBON.how_to_read)


@st.cache_resource(show_spinner=False, max_entries=1)
def _stored(modified: int) -> tuple[Trace, Focus]:
    trace = codec.load(HOME)
    return trace, first_look(trace)


@dataclass(frozen=True, slots=True)
class Stored:
    """Data of an example, found when `areaviz openings` opened it.

    Args:
        models: the models that ran.
        look: URL parameters of the selection, for an example that names no items.
    """

    models: tuple[str, ...] = ()
    look: Mapping[str, str] = field(default_factory=dict)


@cache
def stored_examples() -> Mapping[str, Stored]:
    """Return the stored data of the examples, by their slugs."""
    found: dict[str, Any] = json.loads(LOOKS.read_text(encoding="utf-8"))
    return {slug: Stored(tuple(one["models"]), one.get("look", {})) for slug, one in found.items()}


def gallery() -> None:
    """Draw a card per example, two in a row; a card says which of its models are missing."""
    missing = {
        example.slug: missing_models(stored_examples().get(example.slug, Stored()).models)
        for example in EXAMPLES
    }
    count = sum(bool(models) for models in missing.values())
    if count:
        st.caption(f"{count} of {len(EXAMPLES)} need models that are not here; {to_get_models()}.")
    for left in range(0, len(EXAMPLES), 2):
        for example, place in zip(EXAMPLES[left : left + 2], st.columns(2), strict=False):
            with place.container(border=True, height="stretch"):
                _card(example, missing[example.slug])


def _card(example: Example, missing: Sequence[str]) -> None:
    """Draw an example, with a link to its page unless models are missing."""
    st.subheader(example.title, anchor=False)
    _card_picture(example.slug, f"What the example “{example.title}” opens with")
    if example.text:
        st.text(example.text)
    st.caption(example.note)
    if missing:
        st.caption(f"Not here: {', '.join(f'`{model}`' for model in missing)}")
    else:
        page_link(example.page, f"Open “{example.title}”", link_of(example))


def _card_picture(slug: str, alt: str) -> None:
    """Draw the picture of a card, if `areaviz openings` has drawn one."""
    path = CARDS / f"{slug}.png"
    if path.is_file():
        content = path.read_bytes()
        width = int.from_bytes(content[16:20], "big")
        # Texts take the whole width. Other pictures are shown at half their size, for sharp
        # screens.
        st.image(content, width="stretch" if width > WIDEST else width // 2, alt=alt)


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
        params |= stored_examples().get(example.slug, Stored()).look
    if example.writes:
        params[WRITES] = "1"
    for name in ("picture", "sound", "clip", "hidden"):
        value = getattr(example, name)
        if value:
            params[name] = value
    return params


@dataclass(frozen=True, slots=True)
class Kind:
    """One field of the survey's taxonomy of attention."""

    title: str
    what: str
    examples: str
    # The file and the title of the page that shows it.
    page: str = "pages/four_ways.py"
    page_title: str = "Four ways to look"

    @property
    def slug(self) -> str:
        """The mechanism in the form of a file name."""
        return self.title.lower().replace(", ", "-")


# Rows: attention to items or to locations. Columns: soft or hard attention.
KINDS: tuple[tuple[Kind, Kind], ...] = (
    (
        Kind(
            "Item-wise, soft",
            "The input is a set of items, such as the words of a sentence. Every item, or every"
            " area of neighbouring items, gets a weight, and the model reads their weighted sum.",
            "Translation with regular and with area attention.",
            "pages/translate.py",
            "Translate",
        ),
        Kind(
            "Item-wise, hard",
            "One item is drawn at random by the weights, and only that one is read. Such a choice"
            " has no slope to follow, so the model learns by reward: it tries, and repeats what"
            " worked.",
            "A digit reader that reads one cell of a picture at each look.",
        ),
    ),
    (
        Kind(
            "Location-wise, soft",
            "The input is a whole picture. The model cuts one part out of it, turned and stretched"
            " as it likes, and reads that.",
            "A spatial transformer that straightens a digit before it is read.",
        ),
        Kind(
            "Location-wise, hard",
            "The model chooses a place in the picture and reads only a small window around it, one"
            " glimpse after another.",
            "The recurrent attention model, which reads a digit by six glimpses.",
        ),
    ),
)


def taxonomy() -> None:
    """Draw the kinds of attention as cards; each links to the page that shows it."""
    for row in KINDS:
        for kind, place in zip(row, st.columns(2), strict=True):
            with place.container(border=True, height="stretch"):
                st.subheader(kind.title, anchor=False)
                _card_picture(kind.slug, f"What attention of this kind reads: {kind.title.lower()}")
                st.write(kind.what)
                st.caption(kind.examples)
                page_link(kind.page, f"Open {kind.page_title}")
