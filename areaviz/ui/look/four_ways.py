"""The survey's four mechanisms at one and the same picture, look by look, and what each of them
costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.look.look_closer import STEP, chosen_number, look_closer
from areaviz.ui.models.card_tables import measured
from areaviz.ui.shell.markdown import escaped
from areaviz.views.look import look_picture, steps

COSTS = {
    "pixels read": "Picture values read",
    "multiply-adds": "Multiply-adds",
    "draws": "Choices by chance",
}


@dataclass(frozen=True, slots=True)
class Way:
    """One of the survey's four: its key in `Card.mechanism`, its name, and what it does."""

    mechanism: str
    title: str
    what: str


WAYS = (
    Way("item-wise soft", "Item-wise, soft", "Reads all cells, each by its weight."),
    Way("item-wise hard", "Item-wise, hard", "Reads one cell; which, is decided by its weight."),
    Way(
        "location-wise hard",
        "Location-wise, hard",
        "Reads small boxes around a place, and chooses the next place.",
    ),
    Way(
        "location-wise soft",
        "Location-wise, soft",
        "Cuts one quadrilateral out and reads it straightened.",
    ),
)


def models_of_ways(cards: Mapping[str, Card], kind: str) -> Mapping[str, Card]:
    """For each way that has one, the model that reads pictures of a kind."""
    fitting = [
        card for card in cards.values() if card.task == "digits" and card.config.get("kind") == kind
    ]
    found = {
        way.mechanism: [card for card in fitting if card.mechanism == way.mechanism] for way in WAYS
    }
    return {mechanism: group[0] for mechanism, group in found.items() if group}


def four_ways(
    traces: Mapping[str, Trace], cards: Mapping[str, Card], request: Request | None
) -> None:
    """Draw all ways at the chosen look; `traces`, one at least, and `cards` are by mechanism.

    request: what a link restores; None where there is no link.
    """
    step = _step(list(traces.values()))
    shown = [way for way in WAYS if way.mechanism in traces]
    with st.container(key="ways"):
        for way, place in zip(shown, st.columns(len(WAYS), gap="small"), strict=False):
            with place.container(border=True, height="stretch"):
                _way(way, traces[way.mechanism], step)
    missing = [way.title.lower() for way in WAYS if way not in shown]
    if missing:
        st.caption(f"No model here reads such pictures by these ways: {'; '.join(missing)}.")
    _costs(traces, cards)
    look_closer(
        {way.mechanism: traces[way.mechanism] for way in shown},
        {way.mechanism: way.title for way in WAYS},
        request,
    )


def _step(traces: Sequence[Trace]) -> int:
    """The look that is shown, from 0."""
    most = max(map(steps, traces))
    if most < 2:
        return 0
    return (
        chosen_number(
            "Look", STEP, most, most, "All models are shown after the same number of looks."
        )
        - 1
    )


def _way(way: Way, trace: Trace, step: int) -> None:
    st.subheader(way.title, anchor=False)
    st.caption(way.what)
    seen = min(step, steps(trace) - 1)
    st.image(
        look_picture(trace, seen), width="stretch", alt=f"{way.title}: what look {seen + 1} read"
    )
    label = trace.fields[trace.output.field].labels[seen]
    done = "its only look" if steps(trace) == 1 else f"look {seen + 1} of {steps(trace)}"
    st.write(
        f"After {done}: **{escaped(label)}**, {float(trace.output.probabilities[seen]):.0%} sure"
    )
    answer = trace.details.get("answer", "")
    if len(answer) > 1:
        st.write(f"Digits read: **{escaped(_read(answer, seen + 1, steps(trace)))}**")
    if "warning" in trace.details:
        st.caption(f"Note: {escaped(trace.details['warning'])}")


def _read(answer: str, done: int, looks: int) -> str:
    """The digits of an answer that are settled after `done` of all looks, which take equal parts; a
    dash for none.
    """
    return " ".join(answer[: len(answer) * done // looks]) or "–"


def _costs(traces: Mapping[str, Trace], cards: Mapping[str, Card]) -> None:
    """What the whole reading cost, and how often the model errs on held-out digits."""
    st.subheader("What each of them costs", anchor=False)
    shown = [way for way in WAYS if way.mechanism in traces]
    table = {"Way to look": [way.title for way in shown]}
    for key, title in COSTS.items():
        table[title] = [traces[way.mechanism].details.get(key, "–") for way in shown]
    table["Error on held-out pictures"] = [_error(cards[way.mechanism]) for way in shown]
    st.table(table, border="horizontal", hide_index=True)
    st.caption(
        "Picture values read: how many pixels, or means of pixels, enter the model. Multiply-adds:"
        " of the whole reading. Choices by chance: with sampling on. They make learning noisy, as"
        " only a reward teaches them."
    )


def _error(card: Card) -> str:
    figures = card.figures.get(TASKS["digits"].headline, {})
    return measured("digits", "error", figures.get("error"))
