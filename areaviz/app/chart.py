"""The output of a model and the chart of its trace, with warnings and editable pictures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.app.changes import Interventions, decode_draft
from areaviz.app.components import (
    Selection,
    choose_items,
    draw_film_strip,
    draw_grid,
    draw_player,
    draw_ribbon,
    draw_sound_player,
    draw_tree,
    get_component,
    ignore_report,
    list_queries,
)
from areaviz.app.files import ShownView, draw_downloads
from areaviz.app.input import warn_of_picture_type
from areaviz.app.options import STORED_FILE_KEY
from areaviz.app.page import AnyPage, get_open_page
from areaviz.app.run import find_card
from areaviz.app.texts import escape_markdown, shorten_line
from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
from areaviz.draw.labels import escape_controls
from areaviz.draw.theme import (
    SCREEN_WIDTH,
    WIDE,
    relabel_for_width,
    with_colour_limit,
    without_title,
)
from areaviz.draw.view import Download, ScreenFigure, Table, View
from areaviz.samples.own_media import CLIP_SAMPLES, SOUND_SAMPLES
from areaviz.samples.reasoning import MOST
from areaviz.trace.changes import Hide
from areaviz.trace.query import is_one_text
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.views.facts.facts import make_hops_payload
from areaviz.views.message import serialise_payload
from areaviz.views.points.points import choose_first_step, make_points_payload
from areaviz.views.views import KINDS, VIEWS, find_kind

# Detection of German texts among English ones, by the most frequent words of both languages.


_WORD = re.compile(r"[a-zäöüß]+")
_GERMAN = """
    aber auf aus bei das dem den der des die durch ein eine einem einen einer eines er es für hat
    hinter ich ihr im in ist ja mit nach neben nicht oder sich sie sind steht trägt über um und
    unter vom von vor was wer wie wir zu zum zur zwei zwischen drei
"""
_ENGLISH = """
    a across an and are as at by for from has he his her i in into is it its man near of on one or
    over she that the their they three to two under up was we were while who with woman you
"""
MIN_WORDS = 2
"""Minimum number of German words in a text that counts as German."""


def is_probably_german(text: str) -> bool:
    """Return whether a text has at least `MIN_WORDS` German words, and more German than English.

    Only frequent words count, and words of both languages are ignored. Any word with a letter ä, ö,
    ü or ß counts as German.
    """
    known_german, known_english = set(_GERMAN.split()), set(_ENGLISH.split())
    german = english = 0
    for word in _WORD.findall(text.lower()):
        is_german = word in known_german or not word.isascii()
        is_english = word in known_english
        german += is_german and not is_english
        english += is_english and not is_german
    return german >= MIN_WORDS and german > english


# Reasons to doubt an output: unusual input and low confidence, compared with the model's card.


LOW_CONFIDENCE = 0.5
"""Warn if the mean probability is below this value."""
HIGH_SURPRISE = 5.0
"""Warn if the mean token probability is this many times lower than on held-out text."""
MIN_POINTING_ADVANTAGE = 0.05
"""Warn if a head's share of correct pointing exceeds that of fixed places by less than this."""


def list_output_warnings(card: Card | None, trace: Trace) -> list[str]:
    """Return one sentence per reason to doubt a run. A model without a card allows fewer checks."""
    reasons = []
    if card is not None:
        reasons += [
            warn_of_picture_type(card, trace.request.picture),
            explain_attention_doubt(card),
        ]
        if is_user_upload(trace.request):
            reasons.append(card.limits)
    reads_english = card is None or card.recipe.get("source", "en") == "en"
    if reads_english and is_probably_german(trace.request.text):
        reasons.append("This reads like German, but the model reads English.")
    if len(trace.output.probabilities) and (unsure := _warn_of_low_confidence(card, trace)):
        knows = f" {get_first_sentence(card.limits)}" if card and card.limits not in reasons else ""
        reasons.append(f"{unsure}{knows}")
    return [reason for reason in reasons if reason]


def _warn_of_low_confidence(card: Card | None, trace: Trace) -> str:
    """Return a sentence if the model gives its output, or its input text, a low probability, or "".

    A language model gives the tokens of every text low probabilities. So a text is compared with
    held-out texts.
    """
    likely = compute_mean_probability(trace)
    if not is_one_text(trace):
        if likely >= LOW_CONFIDENCE:
            return ""
        return f"The model is unsure: its mean probability is below {LOW_CONFIDENCE}."
    figures = card.figures.get(TASKS[card.task].headline, {}) if card else {}
    usual = figures.get("perplexity")
    if usual is None or likely * usual * HIGH_SURPRISE >= 1:
        return ""
    return (
        "This text is unlike what the model knows: the mean probability of a piece is"
        f" {likely:.4f}, of held-out texts {1 / usual:.3f}."
    )


def is_user_upload(request: Request) -> bool:
    """Return whether the request has an uploaded sound or clip, about which nothing is known."""
    sound, clip = request.sound, request.clip
    is_own_sound = sound is not None and sound.name not in SOUND_SAMPLES
    return is_own_sound or (clip is not None and clip.name not in CLIP_SAMPLES)


def compute_mean_probability(trace: Trace) -> float:
    """Return the geometric mean of the probabilities of the output's items."""
    likely = np.maximum(trace.output.probabilities, 1e-12)
    return float(np.exp(np.log(likely).mean()))


def get_first_sentence(text: str) -> str:
    """Return the text up to and including the first full stop."""
    before, stop, _ = text.partition(". ")
    return before + stop.strip()


def explain_attention_doubt(card: Card) -> str:
    """Return a sentence if attention points no better than fixed places, or ""."""
    measured = card.attention.get("encoder-decoder, test", {})
    if not {"pointing", "pointing_position", "words"} <= measured.keys():
        return ""
    own, fixed = measured["pointing"], measured["pointing_position"]
    middle = measured.get("pointing_middle", 0.0)
    if own - max(fixed, middle) >= MIN_POINTING_ADVANTAGE:
        return ""
    doubt = (
        f"The maps of this model do not show where it found a word. Over {int(measured['words']):,}"
        f" words of held-out {card.pictures or 'pictures'}, its best head points at what the word"
        f" names for {own:.0%} of them. Fixed places, the same in every picture, do so for"
        f" {fixed:.0%}"
    )
    return doubt + (f", the middle of the picture for {middle:.0%}." if middle else ".")


# The output of a model, and a view of its trace: chart, question, numbers and files.


_CONFIG = {"displayModeBar": False, "displaylogo": False}


def draw_output(trace: Trace) -> None:
    """Draw the output, or say that there is none."""
    st.text(escape_controls(trace.answer) or "The model produced no output.")


def draw_warnings(trace: Trace) -> None:
    """Show what the user has to know about this run, and reasons to doubt it, if there are any."""
    if "warning" in trace.details:
        st.caption(f"Note: {escape_markdown(trace.details['warning'])}")
    for site in trace.maps:
        if said := trace.details.get(f"{site} places"):
            st.caption(f"Note on {escape_markdown(site)}: {escape_markdown(said)}.")
    found = list_output_warnings(find_card(trace.request.model), trace)
    if found:
        st.warning(escape_markdown(" ".join(found)))


def choose_view(
    page: AnyPage, trace: Trace, focus: Focus, above: Download | None = None
) -> View | None:
    """Let the user choose one of the views that apply. Return None if none does.

    Args:
        page: its state has the name of the chosen view.
        trace: the trace.
        focus: the selection.
        above: the view that the page already shows. It is not offered if another one applies.
    """
    every = {name: view for name, view in VIEWS.items() if view.fits(trace, focus)}
    fitting = {name: view for name, view in every.items() if view is not above} or every
    if not fitting:
        return None
    before, first = page.state.view, find_first_view(fitting.values(), trace, focus)
    if before and before not in VIEWS:
        name = escape_markdown(shorten_line(before))
        st.caption(f"View “{name}” does not exist. Showing “{first.title}” instead.")
    if before not in fitting:
        page.set(view=first.name)
    titles = {name: view.title for name, view in fitting.items()}
    return fitting[page.choose_segment("View", "view", titles, label_visibility="collapsed")]


def find_first_view(fitting: Iterable[View], trace: Trace, focus: Focus) -> View:
    """Return the view with which a page opens: the first that fits and may lead."""
    views = list(fitting)
    return next((view for view in views if view.leads(trace, focus)), views[0])


def draw_view_chart(
    view: View,
    trace: Trace,
    focus: Focus,
    key: str,
    room: float = WIDE,
    top: float | None = None,
    has_files: bool = True,
) -> None:
    """Draw the chart of a view, animated if it is an animation, with caption, numbers and files.

    Args:
        view: a view that applies to the selection.
        trace: the trace to draw.
        focus: the selection in it.
        key: a widget key that is unique on the page.
        room: the width available for a chart in px.
        top: the upper end of the colour scale if several charts share it.
        has_files: whether to draw the numbers and the files.
    """
    label = f"{view.title}: {view.question}"
    if view.played:
        played = view.played(trace, focus)
        draw_player(played, label, key=f"played_{key}")
        st.caption(escape_markdown(played.caption))
    else:
        figure = with_colour_limit(relabel_for_width(view.figure(trace, focus), room), top)
        draw_titled_figure(figure, f"chart_{key}", label)
    if has_files:
        draw_figure_extras(view, trace, focus, key)


def draw_titled_figure(figure: ScreenFigure, key: str, alt: str) -> None:
    """Draw a figure with its title, note and caption, which wrap at any width."""
    meta = figure.layout.meta
    note = meta["note"][:1].upper() + meta["note"][1:]
    with st.container(key=f"heading_{key}", gap="xxsmall"):
        st.text(meta["title"])
        if note:
            st.caption(escape_markdown(note))
    st.plotly_chart(without_title(figure), key=key, config=_CONFIG, alt=alt)
    if meta["caption"]:
        st.caption(escape_markdown(meta["caption"]))


def draw_question(view: View) -> None:
    """Draw the question that a view answers. Its help text explains the marks."""
    st.caption(view.question, help=view.how_to_read or None)


def draw_figure_extras(view: Download, trace: Trace, focus: Focus, key: str) -> None:
    """Draw the numbers of a chart as a table, computed when it is opened, and its files."""
    expander = st.expander(
        "Show data", key=f"table_{view.name}_{key}", type="compact", on_change="rerun"
    )
    if expander.open:
        with expander:
            draw_data_table(view.table(trace, focus))
    draw_downloads(
        "Download this figure", {"": ShownView(view, trace, focus)}, f"{view.name}_{key}"
    )


def draw_data_table(table: Table) -> None:
    """Draw a table."""
    st.dataframe(build_table_columns(table), hide_index=True)


def build_table_columns(table: Table) -> Mapping[str, list[str | int | float]]:
    """Return a table as columns, with invisible characters in its texts made visible."""
    columns: dict[str, list[str | int | float]] = {}
    for index, name in enumerate(table.columns):
        cells = [row[index] for row in table.rows]
        columns[name] = [escape_controls(cell) if isinstance(cell, str) else cell for cell in cells]
    return columns


# Pictures in which users edit the input of Reason: facts by hops, and points.


def draw_hops(trace: Trace, focus: Focus, *, key: str) -> Selection:
    """Draw facts and hops, where the user edits the story, or asks without one fact.

    All hops are drawn, so the selection stays.
    """
    card = find_card(trace.request.model)
    right = card.figures.get("test", {}).get("right") if card else None
    can_ask, can_edit = _can_run_input(), _can_run_input() and not trace.request.changes
    acts = get_component("hops")(
        key=key,
        data=serialise_payload(
            make_hops_payload(trace, focus), canAsk=can_ask, canEdit=can_edit, right=right
        ),
        on_edited_change=ignore_report,
        on_without_change=ignore_report,
    )
    _apply_edit(acts, can_edit)
    if can_ask and acts.without is not None:
        fact = int(acts.without)
        hidden = Hide(trace.maps[focus.site].memory, (fact,))
        page: Any = get_open_page()
        decode_draft(page, trace.request, Interventions((hidden,) if fact >= 0 else ()))
        st.rerun()
    return Selection.from_focus(focus)


def draw_points(trace: Trace, focus: Focus, *, key: str) -> Selection:
    """Draw points, which the user moves, and the answer up to the selected step."""
    first = choose_first_step(trace) if focus.side == "query" else 0
    can_edit = _can_run_input() and not trace.request.changes
    items, acts = choose_items(
        "points",
        make_points_payload(trace, focus),
        list_queries(focus)[:1] or (first,),
        key,
        most=MOST,
        canEdit=can_edit,
        on_edited_change=ignore_report,
    )
    _apply_edit(acts, can_edit)
    return Selection.from_focus(replace(focus, side="query", items=items))


def _can_run_input() -> bool:
    """Return whether the page runs a model on input that the user writes in a picture."""
    is_stored = st.session_state.get(STORED_FILE_KEY) is not None
    return get_open_page().state.is_written_in_pictures and not is_stored


def _apply_edit(acts: Any, can_edit: bool) -> None:
    """Run the model on an input that the user edited in the picture."""
    if can_edit and acts.edited is not None:
        page: Any = get_open_page()
        page.set_state(page.state.with_text(str(acts.edited)))
        st.rerun()


# The picture of a trace on a card: a component, or a chart of the selection.


ComponentFunction = Callable[..., Selection]
"""Draws a component, and returns the selection in it."""


def _draw_nothing(_: Trace, focus: Focus, *, key: str) -> Selection:
    """Draw no component, because places without weights have nothing to select."""
    return Selection.from_focus(focus)


_COMPONENTS: Mapping[str, ComponentFunction] = {
    "grid": draw_grid,
    "hops": draw_hops,
    "points": draw_points,
    "hearing": draw_sound_player,
    "strip": draw_film_strip,
    "tree": draw_tree,
    "ribbon": draw_ribbon,
}
"""The functions that draw components. A site of any other kind is drawn as a chart."""
_DRAWN_AS_CHART = (_draw_nothing,)
"""Components that a chart follows, because they are not the picture themselves."""
_SELF_EXPLAINING = (draw_hops, draw_points, draw_sound_player, draw_film_strip, draw_tree)
"""Components that begin with their own sentence, so that the question of the view is left out."""


def find_display(trace: Trace, focus: Focus) -> tuple[ComponentFunction, Download]:
    """Return the component for a selection, and its files."""
    kind = find_kind(trace, focus.site)
    takeaway = KINDS[kind].takeaway if kind in _COMPONENTS else None
    if takeaway is not None:
        return _COMPONENTS[kind], takeaway
    fitting = [view for view in VIEWS.values() if view.fits(trace, focus)]
    return _draw_nothing, find_first_view(fitting, trace, focus)


def has_legend(draw: ComponentFunction) -> bool:
    """Return whether users choose heads in the legend of the component."""
    return draw in (draw_ribbon, draw_grid)


def is_self_explaining(draw: ComponentFunction) -> bool:
    """Return whether the component begins with its own sentence."""
    return draw in _SELF_EXPLAINING


def has_all_layers(draw: ComponentFunction) -> bool:
    """Return whether the component shows all layers. The chosen layer then affects only tabs."""
    return draw is draw_hops


def draw_chart(trace: Trace, focus: Focus, key: str, room: float) -> None:
    """Draw the question of the picture, and its chart if the component is not the picture."""
    draw, view = find_display(trace, focus)
    if isinstance(view, View) and not is_self_explaining(draw):
        draw_question(view)
        if draw in _DRAWN_AS_CHART:
            draw_view_chart(view, trace, focus, key, room, has_files=False)


def make_columns(traces: Sequence[Trace], key: str) -> Sequence[DeltaGenerator]:
    """Return a column for each trace."""
    with st.container(key=f"pair_{key}"):
        return st.columns(len(traces), gap="medium")


def get_chart_width(traces: Sequence[Trace]) -> float:
    """Return the width of a chart of each trace in px."""
    return WIDE if len(traces) == 1 else SCREEN_WIDTH
