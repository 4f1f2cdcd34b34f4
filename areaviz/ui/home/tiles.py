"""Home's six tiles: one per page, with a picture from the page's stored example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from areaviz.cards.tasks import TASKS
from areaviz.samples.paths import CARDS, to_get_models
from areaviz.texts.catalogue import message
from areaviz.ui.app.engine import list_missing_models
from areaviz.ui.app.frame import draw_page_link
from areaviz.ui.app.language import sentence
from areaviz.ui.app.page import TITLES
from areaviz.ui.forms.example_links import build_example_link, list_missing_models_for
from areaviz.ui.forms.samples import EXAMPLES, Example


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile that opens a page, at a stored example if there is one.

    Args:
        page: the name of the page.
        what: what the page shows, in a few words.
        example: the example that the tile opens, and that its picture shows; None opens the page
            as its menu does.
        model: the model that a tile without an example needs.
    """

    page: str
    what: str
    example: Example | None = None
    model: str = ""

    @property
    def picture(self) -> Path:
        """The picture of the tile, which `areaviz openings` writes."""
        return CARDS / f"{self.page}.svg"

    @property
    def missing(self) -> list[str]:
        """The models that the tile needs and this machine lacks."""
        return (
            list_missing_models_for(self.example)
            if self.example
            else list_missing_models([self.model])
        )

    @property
    def link(self) -> dict[str, str]:
        """The URL parameters of the tile."""
        return build_example_link(self.example) if self.example else {}


_EXAMPLES_BY_TITLE = {example.title: example for example in EXAMPLES}
TILES: tuple[Tile, ...] = (
    Tile(
        "caption", message("A picture in words"), _EXAMPLES_BY_TITLE["A caption and its rectangles"]
    ),
    Tile(
        "reason", message("A story in three hops"), _EXAMPLES_BY_TITLE["A question and its facts"]
    ),
    Tile(
        "watch",
        message("A clip, frame by frame"),
        _EXAMPLES_BY_TITLE["What happens, frame by frame"],
    ),
    Tile("four_ways", message("One digit, four readers"), model=TASKS["digits"].opens),
    Tile("listen", message("Spoken digits"), _EXAMPLES_BY_TITLE["Seven digits, heard one by one"]),
    Tile("read", message("What comes next?"), _EXAMPLES_BY_TITLE["A sentence goes on"]),
)


def draw_tiles() -> None:
    """Draw the tiles in one row, and say which of them need models that are not installed."""
    missing = [way.missing for way in TILES]
    count = sum(bool(models) for models in missing)
    if count:
        st.caption(
            sentence(
                "{count} of {all} need models that are not installed. To get them, {what_to_do}.",
                count=count,
                all=len(TILES),
                what_to_do=sentence(to_get_models()),
            )
        )
    with st.container(key="ways_in"):
        for way, models, place in zip(TILES, missing, st.columns(len(TILES)), strict=True):
            with place.container(border=True, height="stretch", key=f"way_{way.page}"):
                _draw_tile(way, models)


def _draw_tile(way: Tile, missing: Sequence[str]) -> None:
    """Draw one tile, with a link to its page unless models are missing."""
    title = sentence(TITLES[way.page])
    with st.container(key=f"tile_{way.page}"):
        if way.picture.is_file():
            st.image(
                way.picture.read_text("utf-8"),
                width="stretch",
                alt=sentence("Preview of {title}", title=title),
            )
        elif way.example:
            st.markdown(f"{way.example.text} **…**")
    if missing:
        st.markdown(f"**{title}**")
        names = ", ".join(f"`{model}`" for model in missing)
        st.caption(sentence("Missing model: {names}", names=names))
        return
    draw_page_link(f"pages/{way.page}.py", f"**{title}**", way.link)
    st.markdown(sentence(way.what))
