"""The panel "What if": choose what is done otherwise where one points, decode again, see what
becomes of the output.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import streamlit as st

from areaviz.backend.base import Backend
from areaviz.data.picture_samples import SAMPLES, names
from areaviz.metrics.words import word_runs
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.interventions import Change, Gate, Hide, Weigh
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.shell.errors import problem
from areaviz.ui.shell.markdown import escaped, visible
from areaviz.ui.shell.waiting import traced
from areaviz.ui.what_if.result import faithful, outcome
from areaviz.ui.what_if.state import NOTHING, Wish, draft, made, make, wish
from areaviz.ui.what_if.words import candidates, change_words, items_of, picture_words, place_words

TITLE = "What if"
KIND, AREA, OVERLAP, WHERE, FACTOR, WORDS, PICTURE = (
    f"what_if_{name}" for name in ("kind", "area", "overlap", "where", "factor", "words", "picture")
)
LARGEST_FACTOR, FACTOR_STEP = 4.0, 0.25
MOST_WORDS = 60
PANEL, _RUN = "what_if_panel", "what_if_run"


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """One run and what became of it under the reader's changes.

    request: what was asked, unchanged; before: its trace. wanted: what is done otherwise. after:
    decoded again under that; forced: the changed model over the output of `before`; None where
    nothing is changed or `failure` says what cannot be done.
    """

    backend: Backend
    request: Request
    before: Trace
    wanted: Wish = NOTHING
    after: Trace | None = None
    forced: Trace | None = None
    failure: str = ""

    @property
    def traces(self) -> tuple[Trace, ...]:
        """What stands beside the original."""
        return () if self.after is None else (self.after,)

    @property
    def titles(self) -> tuple[str, ...]:
        """What it is called."""
        return () if self.after is None else (TITLE,)

    @property
    def link(self) -> Request:
        """The request of a link to all of this; the rest of it is `params`."""
        return replace(self.request, changes=self.wanted.changes)

    @property
    def params(self) -> dict[str, str]:
        """The link's further parameters."""
        return self.wanted.params


def experiment(backend: Backend, request: Request, before: Trace) -> Experiment:
    """Decode again with what the reader wants done otherwise, if anything; a failure is kept as a
    sentence.
    """
    wanted = made(request)
    if not wanted:
        return Experiment(backend, request, before)
    written = before.fields[before.output.field].raw
    asked = wanted.of(replace(before.request, target=None))
    kept = st.session_state.get(_RUN)
    if kept is None or kept[0] != (asked, written):
        try:
            both = asked, replace(asked, target=written)
            runs = traced(backend, both, "Decoding again with the changes")
        except (InputError, BackendError) as error:
            return Experiment(backend, request, before, wanted, failure=str(error))
        kept = st.session_state[_RUN] = (asked, written), runs
    return Experiment(backend, request, before, wanted, *kept[1])


def panel(run: Experiment, trace: Trace, focus: Focus) -> None:
    """Draw it for the first of the traces that are looked into; nothing where that is not the one
    that was run.

    It is part of a fragment: what is to be decoded anew needs the whole page.
    """
    if made(run.request) != run.wanted:
        st.rerun()
    if trace is not run.before or focus.site not in trace.maps:
        return
    if run.failure:
        problem(run.failure)
    shown = st.expander(
        TITLE, key=PANEL, expanded=bool(draft(run.request) or run.wanted), on_change="rerun"
    )
    if shown.open:
        with shown:
            _inside(run, focus)


def _inside(run: Experiment, focus: Focus) -> None:
    st.caption(
        "Change what the model attends to, decode again, and see what becomes of its output."
    )
    _chooser(run, focus)
    _listed(run)
    if run.after is not None and run.forced is not None:
        outcome(run.before, run.after, run.forced, focus)
    faithful(run.backend, run.before, focus)


def _chooser(run: Experiment, focus: Focus) -> None:
    """What to change, and how; every choice becomes a line of the list."""
    memory = run.before.fields[run.before.maps[focus.site].memory]
    hidden = _hide_words if "source" in run.before.fields else _hide_cells
    kinds: dict[str, tuple[str, Callable[[Experiment, Focus], Change | None]]] = {
        "area": ("Weigh an area", _weigh),
        "head": ("Switch heads off", _gate),
    }
    if "source" in run.before.fields or memory.name == "picture":
        kinds["hide"] = ("Hide words" if hidden is _hide_words else "Hide cells", hidden)
    if run.request.picture is not None:
        kinds["picture"] = ("Swap the picture", _swap)
    if st.session_state.get(KIND) not in kinds:
        st.session_state[KIND] = "area"
    st.segmented_control(
        "Change", list(kinds), key=KIND, format_func=lambda kind: kinds[kind][0], required=True
    )
    kind = st.session_state[KIND]
    change = kinds[kind][1](run, focus)
    if kind != "picture":
        st.button(
            "Add this change", disabled=change is None, on_click=_add, args=(run.request, change)
        )


def _weigh(run: Experiment, focus: Focus) -> Change | None:
    offered = candidates(run.before, focus)
    if not offered:
        st.caption(
            "Click a word or a cell above first: then choose one of the areas it attends to."
        )
        return None
    if st.session_state.get(AREA) not in offered:
        st.session_state[AREA] = next(iter(offered))
    places = (*(("this head",) if focus.head is not None else ()), "this layer", "all layers")
    if st.session_state.get(WHERE) not in places:
        st.session_state[WHERE] = places[-1]
    st.session_state.setdefault(FACTOR, 0.0)
    with st.container(horizontal=True, gap="medium"):
        st.selectbox(
            "Area",
            list(offered),
            key=AREA,
            format_func=lambda area: visible(offered[area]),
            width=300,
        )
        st.segmented_control("In", places, key=WHERE, format_func=str.capitalize, required=True)
        st.slider(
            "Its weight times",
            0.0,
            LARGEST_FACTOR,
            step=FACTOR_STEP,
            key=FACTOR,
            width=200,
            format="%g",
        )
    grid = run.before.maps[focus.site].grid
    overlapping = grid.count > grid.items and st.checkbox(
        "And every area that overlaps it", key=OVERLAP
    )
    where, factor, area = (st.session_state[key] for key in (WHERE, FACTOR, AREA))
    st.caption(_meaning(factor))
    layer = None if where == "all layers" else focus.layer
    head = focus.head if where == "this head" else None
    items, areas = (items_of(area, grid), ()) if overlapping else ((), (area,))
    return Weigh(focus.site, items, areas, factor, layer, head)


def _meaning(factor: float) -> str:
    if factor == 0:
        return "0 bans it: its weight goes to the others, in proportion."
    if factor == 1:
        return "1 changes nothing."
    return "All weights are divided by their new sum, so they are shares again."


def _gate(run: Experiment, focus: Focus) -> Change:
    st.caption(
        "Reads nothing any more:"
        f" {escaped(place_words(run.before, focus.site, focus.layer, focus.head))}. Choose another"
        " layer or head above."
    )
    return Gate(focus.site, focus.layer, focus.head)


def _hide_words(run: Experiment, _: Focus) -> Change | None:
    source = run.before.fields["source"]
    runs = word_runs(source)
    labels = [
        source.raw[source.anchors[start, 0] : source.anchors[end - 1, 1]].strip()
        for start, end in runs
    ]
    if len(runs) > MOST_WORDS:
        st.caption(f"Words can be hidden in sentences of up to {MOST_WORDS} words.")
        return None
    st.session_state[WORDS] = [
        place for place in st.session_state.get(WORDS, []) if place < len(runs)
    ]
    chosen = st.pills(
        "Words",
        range(len(runs)),
        selection_mode="multi",
        key=WORDS,
        format_func=lambda place: escaped(labels[place]),
    )
    st.caption(
        "Nothing attends to a hidden word any more, in any layer. Its place stays, so its length"
        " still shows."
    )
    items = tuple(item for place in sorted(chosen) for item in range(*runs[place]))
    return Hide("source", items) if items else None


def _hide_cells(run: Experiment, focus: Focus) -> Change | None:
    attention = run.before.maps[focus.site]
    heaviest = next(iter(candidates(run.before, focus)), None)
    items = (
        focus.items
        if focus.side == "memory"
        else items_of(heaviest, attention.grid)
        if heaviest
        else ()
    )
    if not items or attention.memory != "picture":
        st.caption("Click cells of the picture, or a word that attends to it, above first.")
        return None
    which = (
        "the chosen cells"
        if focus.side == "memory"
        else "the cells of the heaviest area of the chosen word"
    )
    st.caption(
        # fmt: skip
        f"Nothing attends to {which} any more, in any layer ({len(items)} cells). Cells beside them were made "
        "with a view of them, so a trace may stay; another picture is the stricter test."
    )
    return Hide("picture", items)


def _swap(run: Experiment, _: Focus) -> None:
    picture = run.request.picture
    entry = SAMPLES.get(picture.name) if picture else None
    offered = [
        name
        for name in names(entry.kind if entry else "photo")
        if not picture or name != picture.name
    ]
    st.session_state[PICTURE] = draft(run.request).picture or None
    st.selectbox(
        "Instead of the picture",
        offered,
        key=PICTURE,
        index=None,
        placeholder="The same picture",
        format_func=lambda name: SAMPLES[name].title,
        width=340,
        on_change=_take_picture,
        args=(run.request,),
    )


def _listed(run: Experiment) -> None:
    """What is to be done otherwise, each with a button that takes it off; and the button that
    decodes.
    """
    wanted = draft(run.request)
    for number, change in enumerate(wanted.changes):
        _line(change_words(run.before, change), f"what_if_off_{number}", run.request, number)
    if wanted.picture:
        _line(picture_words(wanted), "what_if_off_picture", run.request, None)
    if not wanted and not run.wanted:
        return
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Decode again",
            key="what_if_decode",
            type="primary",
            disabled=wanted == run.wanted,
            on_click=make,
            args=(run.request, wanted),
        )
        st.button("Start over", key="what_if_over", on_click=make, args=(run.request, NOTHING))


def _line(words: str, key: str, request: Request, number: int | None) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Remove", key=key, type="tertiary", on_click=_remove, args=(request, number))
        st.text(visible(words))


def _add(request: Request, change: Change) -> None:
    before = draft(request)
    if change not in before.changes:
        wish(request, replace(before, changes=(*before.changes, change)))
    st.session_state.pop(WORDS, None)


def _remove(request: Request, number: int | None) -> None:
    """Take a change off, or with None the other picture."""
    before = draft(request)
    if number is None:
        wish(request, replace(before, picture=""))
    else:
        wish(
            request, replace(before, changes=before.changes[:number] + before.changes[number + 1 :])
        )


def _take_picture(request: Request) -> None:
    wish(request, replace(draft(request), picture=st.session_state[PICTURE] or ""))
