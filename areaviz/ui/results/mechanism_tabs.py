"""The tabs below the four readings: their costs, all views of one reading, and the four kinds."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
from areaviz.draw.select import list_sites
from areaviz.samples.paths import CARDS
from areaviz.show.looks.looks import TRANSFORMER
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.app.frame import draw_page_link
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.app.page import TITLES
from areaviz.ui.app.state import COSTS, KINDS, VIEW
from areaviz.ui.app.table import draw_text_table
from areaviz.ui.forms.mechanisms_form import MECHANISMS, DigitModel, Mechanism, MechanismsPage
from areaviz.ui.models.card_tables import format_metric
from areaviz.ui.results.chart import choose_view, draw_view_chart
from areaviz.ui.results.tabs import ResultTab, draw_tab_row, draw_tabs

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
