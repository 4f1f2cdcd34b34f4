"""The page Four ways to look: its form, its tabs, and its pictures of four mechanisms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import streamlit as st

from areaviz.app.card_tables import format_metric
from areaviz.app.chart import choose_view, draw_view_chart, get_first_sentence, list_output_warnings
from areaviz.app.components import draw_readings
from areaviz.app.frame import draw_page_link
from areaviz.app.input import PictureState, draw_input_row, draw_picture_input
from areaviz.app.options import draw_options_popover
from areaviz.app.page import COSTS, KINDS, TITLES, VIEW, Cards, Link, Page, make_names_unique
from areaviz.app.result import get_current_result
from areaviz.app.run import find_card
from areaviz.app.tabs import ResultTab, draw_tab_row, draw_tabs
from areaviz.app.texts import draw_text_table, escape_markdown
from areaviz.backend.backend import Backend
from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
from areaviz.draw.select import list_sites
from areaviz.samples.own_media import PICTURE_SAMPLES, list_picture_names
from areaviz.samples.paths import CARDS
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Picture, Request
from areaviz.views.looks.looks import TRANSFORMER, DigitReading, count_steps

# The form of Four ways to look: the picture, and whether glimpses are sampled.


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One of the survey's four attention mechanisms.

    Args:
        mechanism: as in `Card.mechanism`.
        title: its name.
        what: what it does, in one short sentence.
        about: what it does, in several sentences.
        example: a model with this mechanism.
        page: the name of the page that shows it, "" for Four ways to look.
    """

    mechanism: str
    title: str
    what: str
    about: str
    example: str
    page: str = ""

    @property
    def is_hard(self) -> bool:
        """Whether the mechanism chooses, instead of taking a weighted average."""
        return self.mechanism.endswith("hard")

    @property
    def file_name(self) -> str:
        """The name of the picture that `areaviz openings` writes."""
        return f"{self.mechanism.replace(' ', '-')}.png"


MECHANISMS = (
    Mechanism(
        "item-wise soft",
        "Weigh all cells",
        "Reads every cell, each by its weight (item-wise, soft).",
        "The input is a set of items, such as words. Each item, or each area of neighbouring"
        " items, gets a weight, and the model uses the weighted sum.",
        "Translation with regular and with area attention.",
        "translate",
    ),
    Mechanism(
        "item-wise hard",
        "Pick one cell",
        "Reads one cell, drawn by its weight (item-wise, hard).",
        "The model samples one item according to the weights and reads only that one. Sampling"
        " has no gradient, so the model is trained by reinforcement: it tries, and repeats what"
        " worked.",
        "A digit classifier that reads one cell of the picture per step.",
    ),
    Mechanism(
        "location-wise hard",
        "Glimpse by glimpse",
        "Reads boxes around a place, then picks the next place (location-wise, hard).",
        "The model picks a location, reads a small window around it, and repeats: one glimpse"
        " after another.",
        "The recurrent attention model, which classifies a digit from six glimpses.",
    ),
    Mechanism(
        "location-wise soft",
        "Cut out and straighten",
        "Cuts one quadrilateral out and reads it straightened (location-wise, soft).",
        "The input is a whole picture. The model crops one region, rotates and scales it, and"
        " reads the result.",
        "A spatial transformer that straightens a digit before it is read.",
    ),
)


@dataclass(frozen=True, slots=True)
class DigitModel:
    """A digit classifier with one of the mechanisms.

    Args:
        way: its mechanism.
        card: the card of the model.
        title: the mechanism's name, or the model's if several models share mechanism and pictures.
    """

    way: Mechanism
    card: Card
    title: str


@dataclass(frozen=True, slots=True)
class PictureKind:
    """A kind of pictures that models read.

    Args:
        kind: a key of `DIGIT_KINDS`.
        title: the displayed name.
        samples: the kind of the sample pictures.
        first: the sample that is shown first.
    """

    kind: str
    title: str
    samples: str
    first: str


PICTURE_KINDS = {
    one.kind: one
    for one in (
        PictureKind("cluttered", "A digit among clutter", "digit", "digit-3"),
        PictureKind("centred", "A digit alone", "single digit", "single-3"),
        PictureKind("translated", "A digit anywhere", "moved digit", "moved-2"),
        PictureKind("pairs", "A pair of digits", "pair", "pair-27"),
    )
}


SELECTION_PARAMS = ("reading", "row", "column")
"""The URL parameters that the tab "Look closer" shows."""


@dataclass(frozen=True)
class MechanismsState(PictureState):
    """The state of the page Four ways to look. It opens at the first look."""

    # The kind of pictures, a key of `PICTURE_KINDS`.
    kind: str = ""
    # Whether choices are sampled, and the number of the sample.
    sample: bool = False
    seed: int = 0
    # The shown step, and the shown sample of its output; None for the default.
    look: int | None = None
    row: int | None = None
    column: int | None = None
    # The model whose reading is explored. A link may name the mechanism for its first model.
    reading: str = ""

    def from_link(self, link: Link) -> Self:
        """Return this state as a link describes it. Invalid values are ignored."""
        params, name = link.params, link.params.get("picture", "")
        kinds = (
            one.kind for one in PICTURE_KINDS.values() if name in list_picture_names(one.samples)
        )
        state = super().from_link(link)
        if not params.keys().isdisjoint(SELECTION_PARAMS) and VIEW not in state.tabs:
            state = replace(state, tabs=[*state.tabs, VIEW])
        return replace(
            state,
            kind=next(kinds, self.kind),
            sample=link.request.sample,
            seed=link.request.seed,
            look=_parse_number(params, "look"),
            reading=params.get("reading", ""),
            row=_parse_number(params, "row"),
            column=_parse_number(params, "column"),
        )

    def to_link(
        self, request: Request, focus: Focus | None = None, view: str = ""
    ) -> dict[str, str]:
        """Return the URL parameters, with the shown step, its sample and the explored model."""
        # The first reader may be one that never chooses at random.
        asked = replace(request, sample=self.sample, seed=self.seed if self.sample else 0)
        params = super().to_link(asked, focus, view)
        closer = SELECTION_PARAMS if VIEW in self.tabs else ()
        for name in ("look", *closer):
            if getattr(self, name) not in (None, ""):
                params[name] = str(getattr(self, name))
        return params


MechanismsPage = Page[MechanismsState]


def draw_mechanisms_form(page: MechanismsPage, cards: Cards) -> tuple[Request, ...]:
    """Draw the form. Return one request per model, () while there is no picture."""
    with draw_input_row(page):
        pictures = _choose_pictures(page, cards)
        source = st.container()
        with draw_options_popover(page):
            draw_chance_switch(page)
    picture = draw_picture_input(page, (pictures.samples,), pictures.first, source)
    if picture is None:
        return ()
    readers = list_digit_models(cards, pictures.kind)
    return tuple(_make_request(page.state, reader, picture) for reader in readers)


def _make_request(state: MechanismsState, reader: DigitModel, picture: Picture) -> Request:
    """Return the request of a reader. Only hard models can choose at random."""
    is_random = state.sample and reader.way.is_hard
    seed = state.seed if is_random else 0
    return Request(reader.card.name, "", picture=picture, sample=is_random, seed=seed)


def draw_chance_switch(page: MechanismsPage) -> None:
    """Draw the switch between most probable and sampled choices, and the button to resample."""
    with st.container(horizontal=True, vertical_alignment="center"):
        page.draw_widget(
            st.toggle,
            "Let the hard models choose at random",
            "sample",
            help=(
                "Off: the most probable choice is taken. On: choices are drawn at random by their"
                " probability, as in training."
            ),
        )
        another = {"seed": page.state.seed + 1}
        disabled = not page.state.sample
        st.button("Try another random run", on_click=page.set, kwargs=another, disabled=disabled)


def list_digit_models(cards: Cards, kind: str) -> Sequence[DigitModel]:
    """Return the models that read pictures of this kind, sorted by mechanism."""
    readers: list[DigitModel] = []
    for way in MECHANISMS:
        fitting: list[Card] = []
        for card in cards.values():
            fits = card.task == "digits" and card.config.get("kind") == kind
            if fits and card.mechanism == way.mechanism:
                fitting.append(card)
        titles = [way.title]
        if len(fitting) > 1:
            titles = make_names_unique([card.title for card in fitting])
        for card, title in zip(fitting, titles, strict=False):
            readers.append(DigitModel(way, card, title))
    return readers


def _choose_pictures(page: MechanismsPage, cards: Cards) -> PictureKind:
    """Let the user choose the kind of pictures, among those with models."""
    known = {card.config.get("kind") for card in cards.values()}
    offered = [kind for kind in PICTURE_KINDS if kind in known] or list(PICTURE_KINDS)[:1]
    if len(offered) == 1:
        page.set(kind=offered[0])
    else:
        titles = {kind: PICTURE_KINDS[kind].title for kind in offered}
        page.choose(
            st.selectbox, "What is read", "kind", titles, label_visibility="collapsed", width=240
        )
    return PICTURE_KINDS[page.state.kind]


def _parse_number(params: Mapping[str, str], name: str) -> int | None:
    given = params.get(name, "")
    is_number = given.isascii() and given.isdecimal() and len(given) < 4
    return int(given) if is_number else None


# The tabs below the four readings: their costs, all views of one reading, and the four kinds.


COST_TITLES = {
    "pixels read": "Picture values read",
    "multiply-adds": "Multiply-adds",
    "draws": "Random choices",
}


WHAT_DIFFERS = (
    "Attention mechanisms differ in what they attend to (items or locations) and how: soft"
    " attention takes a weighted average of everything, hard attention picks one."
)
ShownModels = Sequence[tuple[DigitModel, Trace]]


@st.fragment
def draw_mechanism_tabs(
    page: MechanismsPage, shown: ShownModels, step: int, request: Request | None
) -> None:
    """Draw the tabs and the link to a request, if there is one."""
    tabs = [
        ResultTab(COSTS, "What each costs", lambda trace, focus: _draw_costs(shown)),
        ResultTab(
            VIEW, "Look closer", lambda trace, focus: _draw_chosen_reading(page, shown, step)
        ),
        ResultTab(KINDS, "The four kinds of attention", lambda trace, focus: _draw_mechanisms()),
    ]
    end = draw_tab_row(page, tabs)
    draw_tabs(page, tabs, shown[0][1], Focus(""))
    with end:
        if request is None:
            page.set_url_params({})
        else:
            view = page.state.view if VIEW in page.state.tabs else ""
            page.offer_link(page.state.to_link(request, view=view), request)


def _draw_costs(shown: ShownModels) -> None:
    """Draw the cost of the whole reading, and the error rate on held-out digits."""
    table = {"Way to look": [escape_markdown(reader.title) for reader, _ in shown]}
    for key, title in COST_TITLES.items():
        table[title] = [trace.details.get(key, "–") for _, trace in shown]
    table["Error on held-out pictures"] = [_format_error_rate(reader.card) for reader, _ in shown]
    draw_text_table(table)
    st.caption(
        "Picture values read: how many pixels, or means of pixels, enter the model. Multiply-adds:"
        " for the whole reading. Random choices: how often a hard model chooses at random. Such"
        " choices make learning noisy, because only a reward teaches them."
    )


def _format_error_rate(card: Card) -> str:
    figures = card.figures.get(TASKS["digits"].headline, {})
    return format_metric("digits", "error", figures.get("error"))


def _draw_mechanisms() -> None:
    """Draw the four mechanisms as a map: items or locations, soft or hard."""
    st.caption(WHAT_DIFFERS)
    ways = {way.mechanism: way for way in MECHANISMS}
    for what in ("item-wise", "location-wise"):
        for how, place in zip(("soft", "hard"), st.columns(2), strict=True):
            with place.container(border=True, height="stretch"):
                _draw_mechanism(ways[f"{what} {how}"])


def _draw_mechanism(way: Mechanism) -> None:
    """Draw one mechanism: its picture at half its size for sharp screens, and its description."""
    st.subheader(f"{way.mechanism.capitalize()}: {way.title.lower()}", anchor=False)
    content = (CARDS / way.file_name).read_bytes()
    width = int.from_bytes(content[16:20], "big") // 2
    st.image(content, width=width, alt=f"Example of {way.mechanism} attention")
    st.write(way.about)
    st.caption(way.example)
    if way.page:
        draw_page_link(f"pages/{way.page}.py", f"Open {TITLES[way.page]}")


def _draw_chosen_reading(page: MechanismsPage, shown: ShownModels, step: int) -> None:
    """Let the user choose one of the readings, and show it in every view that applies."""
    titles = {reader.card.name: reader.title for reader, _ in shown}
    named = page.state.reading
    first = next((one.card.name for one, _ in shown if one.way.mechanism == named), named)
    page.set(reading=first)
    chosen = page.choose_segment("Reading", "reading", titles)
    trace = shown[list(titles).index(chosen)][1]
    focus = Focus(list_sites(trace)[0])
    view = choose_view(page, trace, focus)
    if view is not None:
        st.caption(view.question)
        focus = _choose_sample(page, trace, focus, step)
        draw_view_chart(view, trace, focus, "ways")


def _choose_sample(page: MechanismsPage, trace: Trace, focus: Focus, step: int) -> Focus:
    """Let the user select one sample of a spatial transformer. The middle one is the default."""
    if focus.site != TRANSFORMER:
        return focus
    looks, _, rows, columns = trace.gazes[focus.site].seen.shape
    look = min(step, looks - 1)
    with st.container(horizontal=True, gap="medium"):
        row = _choose_number(page, "row", "Row of the sample", rows)
        column = _choose_number(page, "column", "Column of the sample", columns)
    return Focus(focus.site, items=((look * rows + row - 1) * columns + column - 1,))


def _choose_number(page: MechanismsPage, name: str, label: str, most: int) -> int:
    """Draw a slider from 1 to `most`, which keeps its value if possible. The middle is first."""
    before = getattr(page.state, name) or most // 2 + 1
    page.set(**{name: min(max(1, before), most)})
    return int(page.draw_widget(st.slider, label, name, 1, most))


# The survey's four attention mechanisms on one picture, look by look.
#
# Models with the same mechanism are shown side by side. The tabs below the pictures show the costs
# of the models and all other views.


SOFT_NOTE = "Bright is what soft attention read. "
WHAT_IS_DRAWN = (
    "A frame is what was read at this look. From look 2 on, a line joins the middles of the looks,"
    " and the filled dot is the newest."
)


def draw_four_ways(
    page: MechanismsPage, backend: Backend, cards: Cards, requests: Sequence[Request]
) -> None:
    """Run one request for each model, and draw all models at the chosen step."""
    asked = list_digit_models(cards, page.state.kind)
    result = get_current_result(page, backend, requests, [reader.card.name for reader in asked])
    traces = dict(zip(result.titles, result.traces, strict=True))
    _draw_own_picture_note(requests[0], asked[0].card)
    names = [(reader, reader.card.name) for reader in asked]
    shown = [(reader, traces[name]) for reader, name in names if name in traces]
    step = _draw_readings(page, shown)
    ways = {reader.way for reader, _ in shown}
    missing = [way.mechanism for way in MECHANISMS if way not in ways]
    if missing:
        st.caption(
            f"No model here reads such pictures by these ways: {'; '.join(missing)}. All four"
            " read a digit among clutter: change what is read."
        )
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        soft = SOFT_NOTE if any(way.mechanism == "item-wise soft" for way in ways) else ""
        st.caption(f"{soft}{WHAT_IS_DRAWN}")
        if _is_comparable(result.traces):
            page.draw_widget(
                st.toggle,
                "Against the average of all looks",
                "is_against",
                help="Takes out the cells that a model attends to in every look.",
            )
    draw_mechanism_tabs(page, shown, step, result.requests[0] if result.is_current else None)


def _draw_readings(page: MechanismsPage, shown: ShownModels) -> int:
    """Draw all readings at the same look, and return the number of this look, counted from 0.

    The page opens at the first look.
    """
    drawn = [trace for _, trace in shown]
    most = max(map(count_steps, drawn))
    against = "average" if page.state.is_against and _is_comparable(drawn) else "nothing"
    look = min(max(1, page.state.look or 1), most) - 1
    readings = []
    for reader, trace in shown:
        readings.append(DigitReading(reader.title, reader.way.what, trace, _list_notes(trace)))
    with st.container(key="ways"):
        look = draw_readings(
            readings, _get_shown_digits(drawn[0]), look, against, key=page.key("looks")
        )
    look = min(max(0, look), most - 1)
    if most > 1:
        page.set(look=look + 1)
    return look


def _list_notes(trace: Trace) -> list[str]:
    """Return notes for the user about a run, and reasons to doubt it."""
    said = [f"Note: {trace.details['warning']}"] if "warning" in trace.details else []
    return [*said, *list_output_warnings(find_card(trace.request.model), trace)]


def _draw_own_picture_note(request: Request, card: Card) -> None:
    """Draw a note on what the models can do with a picture that is not one of the app's samples."""
    if request.picture is not None and request.picture.name not in PICTURE_SAMPLES:
        st.warning(escape_markdown(get_first_sentence(card.limits)))


def _is_comparable(traces: Sequence[Trace]) -> bool:
    """Return whether any trace has maps of several looks, to compare with their average."""
    return any(trace.maps and count_steps(trace) > 1 for trace in traces)


def _get_shown_digits(trace: Trace) -> str:
    """Return the digits in the picture, if they are known."""
    picture = trace.request.picture
    known = PICTURE_SAMPLES.get(picture.name) if picture else None
    return known.digits if known else ""
