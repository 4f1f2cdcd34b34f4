"""The page Translate with a picture: its form, and translations side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import streamlit as st

from areaviz.app.changes import WhatIfState, apply_link
from areaviz.app.chart import draw_warnings
from areaviz.app.input import (
    PictureModelState,
    choose_fitting_picture,
    draw_input_row,
    draw_small_picture,
    get_picture_type,
)
from areaviz.app.options import add_options, choose_model, draw_options_popover, draw_run_options
from areaviz.app.page import Cards, Link, Page
from areaviz.app.result import draw_explored, draw_results, get_current_result
from areaviz.app.tabs import add_attribution, build_attribution_tab
from areaviz.app.texts import escape_markdown
from areaviz.backend.backend import Backend
from areaviz.samples.own_media import (
    PICTURE_SAMPLES,
    get_picture_sample,
    get_picture_sentence,
    list_picture_names,
)
from areaviz.samples.scenes import COLOURS, MASK
from areaviz.trace.query import find_words, item_shares
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus, Picture, Request
from areaviz.views.message import OPENS_AT

# The form of Translate with a picture: picture, sentence, and the pictures to compare.


PICTURE_CONDITIONS = {
    "with": "With the picture",
    "without": "Without a picture",
    "other": "With another picture",
    "grey": "With a grey picture",
}
"""The pictures that a model may get, by their names in links."""
DEFAULT_CONDITIONS = ["with", "without", "other"]
CELLS_LABEL = "{size} items of the sentence, {size} rows and {size} columns of cells"
MAX_WORDS = 40
CONTRADICTING_SAMPLES = ("scene-20", "scene-34")
"""Samples in which the two ambiguous nouns have different meanings."""


@dataclass(frozen=True)
class PictureTranslationState(PictureModelState, WhatIfState):
    """The state of the page Translate with a picture."""

    text: str = ""
    # Positions of the hidden words, from 0.
    hidden: list[int] = field(default_factory=list)
    # `seen` has the chosen keys of `PICTURE_CONDITIONS`. `looked` has those whose attention is
    # shown.
    seen: list[str] = field(default_factory=lambda: DEFAULT_CONDITIONS)
    looked: list[str] = field(default_factory=list)
    # The name of the sample that replaces the picture.
    other: str = ""
    # The name of the sample whose sentence the form offered last.
    offered: str = ""

    @property
    def conditions(self) -> list[str]:
        """The chosen pictures, in the order of `PICTURE_CONDITIONS`."""
        return [sight for sight in PICTURE_CONDITIONS if sight in (self.seen or ["with"])]

    @property
    def runs(self) -> list[str]:
        """The choices that give a model some input: a sentence or a picture."""
        if self.text.strip():
            return self.conditions
        return [name for name in self.conditions if name != "without"] or ["with"]

    def list_explored(self, runs: Sequence[str]) -> list[str]:
        """Return the runs to explore: the chosen ones, or else the first."""
        return [sight for sight in runs if sight in self.looked] or list(runs[:1])

    def from_link(self, link: Link) -> Self:
        """Return this state with the sentence and the pictures of a link."""
        params = link.params
        state = replace(
            super().from_link(link),
            seen=_parse_conditions(params.get("sees", "")) or DEFAULT_CONDITIONS,
            looked=_parse_conditions(params.get("look", "")),
            other=params.get("other", ""),
        )
        if "text" in params:
            state = replace(
                state, text=params["text"], hidden=_parse_positions(params.get("hidden", ""))
            )
        if "picture" in params and not link.problem:
            state = replace(state, offered=params["picture"])
        return state

    def to_link(
        self, request: Request, focus: Focus | None = None, view: str = ""
    ) -> dict[str, str]:
        """Return the URL parameters, with the pictures to compare and the hidden words."""
        params = super().to_link(request, focus, view)
        if self.conditions != DEFAULT_CONDITIONS:
            params["sees"] = ",".join(self.conditions)
        if self.hidden:
            params["hidden"] = ",".join(str(place + 1) for place in sorted(self.hidden))
        if "other" in self.conditions:
            params["other"] = self.other
        looked = self.list_explored(self.runs)
        if looked != self.runs[:1]:
            params["look"] = ",".join(looked)
        return params


PictureTranslationPage = Page[PictureTranslationState]


@dataclass(frozen=True, slots=True)
class PictureTranslationRun:
    """The requests to run.

    Args:
        requests: a request for each chosen key of `PICTURE_CONDITIONS`.
        link: the request for the link. No word is hidden, and the picture is the chosen one.
    """

    requests: Mapping[str, Request]
    link: Request


def draw_picture_translation_form(
    page: PictureTranslationPage, cards: Cards
) -> PictureTranslationRun | None:
    """Draw the form. Return the requests to run side by side, or None without a picture."""
    beside_title = st.container(
        key=page.key("subject"), horizontal=True, vertical_alignment="bottom", gap="small"
    )
    row = draw_input_row(page)
    with row:
        source = st.container(horizontal=True, vertical_alignment="center", gap="small")
    picture = choose_fitting_picture(page, cards, source, source)
    _offer_sentence(page, picture.name if picture else "")
    with beside_title:
        page.draw_widget(
            st.text_input,
            "English sentence",
            "text",
            after_change=lambda: page.set_and_unlock(hidden=[]),
            placeholder="No sentence: the picture is described in German.",
            label_visibility="collapsed",
        )
        text = _draw_hidden_words(page)
    with row:
        card = choose_model(page, cards)
        with draw_options_popover(page):
            draw_run_options(page, card, extent=CELLS_LABEL)
            other = _choose_conditions(page, picture)
    if picture is None:
        return None
    (asked,) = add_options(page, Request(card.name, text, picture=picture))
    pictures = {
        "with": picture,
        "without": None,
        "other": other,
        "grey": _make_grey_picture(picture),
    }
    requests = {sight: replace(asked, picture=pictures[sight]) for sight in page.state.runs}
    return PictureTranslationRun(requests, replace(asked, text=page.state.text))


def _parse_conditions(packed: str) -> list[str]:
    """Return the keys in a string such as "with,other". Unknown keys are ignored."""
    return [sight for sight in PICTURE_CONDITIONS if sight in packed.split(",")]


def _parse_positions(packed: str) -> list[int]:
    """Return the positions in a string such as "3,5", from 0. Other text is ignored."""
    return [int(part) - 1 for part in packed.split(",") if part.isascii() and part.isdecimal()]


def _offer_sentence(page: PictureTranslationPage, name: str) -> None:
    """Show the sentence of a new sample and hide a word in it, unless the user wrote a sentence.

    Without a hidden word the picture would hardly matter.
    """
    state = page.state
    if name == state.offered:
        return
    is_own = state.text not in ("", get_picture_sentence(state.offered))
    page.set(offered=name)
    if not is_own and get_picture_sentence(name):
        page.set(text=get_picture_sentence(name))
        page.set_and_unlock(hidden=_find_first_colour(get_picture_sentence(name)))


def _find_first_colour(text: str) -> list[int]:
    """Return the position of the first colour in a sentence, or [] if it names none."""
    words = text.split()
    return next(([place] for place, word in enumerate(words) if word in COLOURS), [])


def _draw_hidden_words(page: PictureTranslationPage) -> str:
    """Let the user hide words. Return the text with a mask token for each hidden word."""
    state = page.state
    words = state.text.split()
    if not words:
        return state.text
    if len(words) > MAX_WORDS:
        st.caption(f"Words can be hidden in sentences of up to {MAX_WORDS} words.")
        return state.text
    titles = {place: escape_markdown(word) for place, word in enumerate(words)}
    gone = [title for place, title in titles.items() if place in state.hidden]
    shown = ", ".join(gone) if len(gone) in (1, 2) else f"{len(gone)} words"
    with st.popover(f"Hidden: {shown}", key=page.key("hide")):
        label = f"Hide words: the model reads “{MASK}”, and only the picture can tell"
        hidden = page.choose_pills(label, "hidden", titles, page.set_and_unlock)
    if not hidden:
        return state.text
    for place in hidden:
        words[place] = MASK
    return " ".join(words)


def _choose_conditions(page: PictureTranslationPage, picture: Picture | None) -> Picture:
    """Let the user choose the pictures to compare. Return the other picture."""
    kind = "photo" if picture and get_picture_type(picture.name) == "photos" else "scene"
    offered = [name for name in list_picture_names(kind) if picture is None or name != picture.name]
    if page.state.other not in offered:
        page.set(
            other=next((name for name in CONTRADICTING_SAMPLES if name in offered), offered[0])
        )
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        page.choose_pills("Side by side", "seen", PICTURE_CONDITIONS)
        if "other" in page.state.seen:
            page.draw_widget(
                st.selectbox,
                "The other picture",
                "other",
                offered,
                format_func=lambda name: PICTURE_SAMPLES[name].title,
                width=340,
            )
    runs = page.state.runs
    if len(runs) > 1:
        page.set(looked=page.state.list_explored(runs))
        page.choose_pills(
            "Show the attention", "looked", {run: PICTURE_CONDITIONS[run] for run in runs}
        )
    return get_picture_sample(page.state.other)


def _make_grey_picture(picture: Picture) -> Picture:
    """Return an all-grey picture of equal size."""
    return Picture.of("grey", np.full((picture.height, picture.width, 3), 128, np.uint8))


# A sentence translated with different pictures, side by side, with attention on demand.


PICTURE_SIDE_PX = 72
"""Longest side of the small pictures in pixels."""


def draw_side_by_side(
    page: PictureTranslationPage, backend: Backend, cards: Cards, asked: PictureTranslationRun
) -> None:
    """Run the requests, show the translation with each picture, and explore some of them."""
    requests = add_attribution(page, cards, list(asked.requests.values()))
    by_condition = dict(zip(asked.requests, requests, strict=True))
    result = get_current_result(page, backend, requests, list(by_condition))
    traces = dict(zip(result.titles, light_decided_word(result.traces), strict=True))
    chosen = page.state.list_explored(result.titles)
    seen, titles = (
        [traces[sight] for sight in chosen],
        [PICTURE_CONDITIONS[sight] for sight in chosen],
    )

    def draw_runs() -> None:
        with st.container(key="sights"):
            for sight, trace in traces.items():
                with st.container(border=True):
                    _draw_run(trace, PICTURE_CONDITIONS[sight], result.traces[0])

    if not result.is_current:
        draw_results(page, seen, titles, before=draw_runs)
        return
    first = by_condition[chosen[0]]
    apply_link(page, first, asked.link)
    link = replace(asked.link, attribution=first.attribution)
    tabs = build_attribution_tab(page, cards, first)
    draw_explored(page, backend, seen, titles, first, link, tabs, before=draw_runs)


def _draw_run(trace: Trace, title: str, first: Trace) -> None:
    """Draw one run: its picture and its output, with the words that differ from the first."""
    with st.container(key=f"translation_sight_{title}", gap="xxsmall"):
        st.caption(title)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if trace.request.picture is not None:
                draw_small_picture(
                    trace.request.picture, PICTURE_SIDE_PX, "What the model looks at"
                )
            st.markdown(_mark_differences(_get_output(trace), _get_output(first)))
        draw_warnings(trace)


def _get_output(trace: Trace) -> str:
    return trace.fields[trace.output.field].raw


def _mark_differences(written: str, first: str) -> str:
    """Return an output as Markdown, with the words that the first output lacks in bold."""
    known = first.split()
    marked = [
        escape_markdown(word) if word in known else f"**{escape_markdown(word)}**"
        for word in written.split()
    ]
    return " ".join(marked) or "The model produced no output."


def light_decided_word(traces: Sequence[Trace]) -> list[Trace]:
    """Return the traces so that the first one opens at the word that its picture decides."""
    first, *others = traces
    item = find_decided_word(first, [_get_output(trace) for trace in others])
    if item is None:
        return [first, *others]
    return [replace(first, details={**first.details, OPENS_AT: str(item)}), *others]


def find_decided_word(trace: Trace, others: Sequence[str]) -> int | None:
    """Return the first item of the word that the picture decides, None if no word is hidden.

    Candidates are the words that an output with a different picture lacks. Of these, the word that
    attends most to the hidden words is chosen.

    Args:
        trace: the run with the picture.
        others: the outputs with other pictures.
    """
    sides = trace.output.field, "source"
    maps = (one for one in trace.maps.values() if (one.query, one.memory) == sides)
    attention = next(maps, None)
    if attention is None:
        return None
    source, target = trace.fields[attention.memory], trace.fields[attention.query]
    hidden = [item for item, label in enumerate(source.labels) if label.strip() == MASK]
    if not hidden:
        return None
    shares_LQN = [item_shares(attention, layer, None) for layer in range(attention.layers)]
    share_Q = np.mean(shares_LQN, axis=0)[:, hidden].sum(-1)
    texts = {run: _join_items(target, run) for run in find_words(target)}
    runs = [run for run, text in texts.items() if text]
    new = [run for run in runs if any(texts[run] not in other.split() for other in others)]
    best = max(new or runs, key=lambda run: float(share_Q[slice(*run)].mean()), default=None)
    return None if best is None else best[0]


def _join_items(field: Field, run: tuple[int, int]) -> str:
    """Return the text of a run of items."""
    start, end = run
    return field.raw[field.anchors[start, 0] : field.anchors[end - 1, 1]].strip()
