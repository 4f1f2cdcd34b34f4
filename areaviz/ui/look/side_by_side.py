"""One sentence translated with different sights, side by side, and one of the traces to
look into.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from areaviz.backend.base import Backend
from areaviz.cards.card import Card
from areaviz.data.pictures import small_file
from areaviz.trace.picture import Picture
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.look.explore import explore
from areaviz.ui.look.result import up_to_date
from areaviz.ui.look.translation import confidence
from areaviz.ui.shell.markdown import escaped, visible
from areaviz.ui.what_if.panel import experiment, panel
from areaviz.ui.what_if.state import settle

SIGHTS = {
    "with": "With the picture",
    "without": "Without a picture",
    "other": "With another picture",
    "grey": "With a grey picture",
}
"""What a translator may be shown, by what a link calls it."""
LOOKED = "sight_looked"
SIDE = 132
"""Longest side of the small pictures, in pixels."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What to run: a request for each sight, a key of `SIGHTS`.

    link: the request without hidden words and with the true picture; further: the link's other
    parameters.
    """

    sights: Mapping[str, Request]
    link: Request
    further: Mapping[str, str]


def side_by_side(backend: Backend, _: Mapping[str, Card], asked: Asked) -> None:
    """Run what is asked; show what was written with each sight, and the attention of those that are
    chosen.
    """
    result = up_to_date(backend, "picture", list(asked.sights.values()), list(asked.sights))
    traces = dict(zip(result.titles, result.traces, strict=True))
    sights = list(traces)
    with st.container(key="sights"):
        for (sight, trace), place in zip(
            traces.items(), st.columns(len(traces), gap="medium"), strict=True
        ):
            with place.container(border=True, height="stretch"):
                _sight(trace, SIGHTS[sight], traces[sights[0]])
    chosen = _chosen(sights)
    looks = {} if chosen == sights[:1] else {"look": ",".join(chosen)}
    seen, titles = [traces[sight] for sight in chosen], [SIGHTS[sight] for sight in chosen]
    if not result.current:
        explore(seen, titles, None, {**asked.further, **looks})
        return
    first = asked.sights[chosen[0]]
    settle(first, asked.link)
    run = experiment(backend, first, traces[chosen[0]])
    link = replace(asked.link, changes=run.link.changes)
    further = {**asked.further, **looks, **run.params}
    explore((*seen, *run.traces), (*titles, *run.titles), link, further, partial(panel, run))


def recall_looked(params: Mapping[str, str]) -> None:
    """Look into the sights that a link names."""
    wanted = params.get("look", "").split(",")
    st.session_state[LOOKED] = [sight for sight in SIGHTS if sight in wanted]


def _sight(trace: Trace, title: str, first: Trace) -> None:
    st.caption(title)
    with st.container(key=f"translation_sight_{title}", gap="small"):
        _small(trace.request.picture)
        output = trace.fields[trace.output.field]
        st.text(visible(output.raw) or "The model wrote nothing.")
        if trace is not first:
            st.caption(_difference(output.raw, first.fields[first.output.field].raw))
        st.caption(confidence(trace))
        if "warning" in trace.details:
            st.caption(f"Note: {escaped(trace.details['warning'])}")


def _small(picture: Picture | None) -> None:
    if picture is None:
        st.caption("no picture")
        return
    width = max(1, round(SIDE * picture.width / max(picture.width, picture.height)))
    st.image(small_file(picture, SIDE), width=width, alt="What the model looks at")


def _difference(written: str, first: str) -> str:
    """Which words differ from those of the first translation, in words."""
    if written == first:
        return "the same as the first"
    new, missing = (_only(one, other) for one, other in ((written, first), (first, written)))
    if new and missing:
        return escaped(f"{new} instead of {missing}")
    if new or missing:
        return escaped(f"also {new}" if new else f"without {missing}")
    return "the same words in another order"


def _only(one: str, other: str) -> str:
    """The words of one sentence that are not in the other, in quotes."""
    return ", ".join(
        f"“{word}”" for word in dict.fromkeys(one.split()) if word not in other.split()
    )


def _chosen(sights: Sequence[str]) -> list[str]:
    """Which of them to look into; one at least."""
    if len(sights) == 1:
        return list(sights)
    kept = [sight for sight in st.session_state.get(LOOKED, []) if sight in sights]
    st.session_state[LOOKED] = kept or [sights[0]]
    st.pills(
        "Look into the attention",
        sights,
        selection_mode="multi",
        key=LOOKED,
        format_func=lambda sight: SIGHTS[sight],
        persist_state="session",
    )
    return [sight for sight in sights if sight in st.session_state[LOOKED]] or [sights[0]]
