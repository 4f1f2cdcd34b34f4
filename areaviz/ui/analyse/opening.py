"""What Analyse opens with: two translators compared, and the sentences where one is worse."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from areaviz.analysis.contrast import Gram, count_wins, distinguishing_ngrams, mean_change
from areaviz.analysis.stored_analysis import MODELS, SET
from areaviz.analysis.word_diff import ADDED, MISSING, SAME, compare_words
from areaviz.data.example_samples import SAMPLE_SETS
from areaviz.data.places import ANALYSIS
from areaviz.drawing.numbers import number_text
from areaviz.ui.analyse.brush import place_of
from areaviz.ui.analyse.state import EXAMPLE, NEW, AnalysePage
from areaviz.ui.analyse.state import SET as SET_PARAMETER
from areaviz.ui.analyse.stored import examples_table, stored_rows
from areaviz.ui.shell.frame import page_link
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.state import COMPARE, Cards

CHANGE = "chrf_change"
LABELLED, LISTED = 3, 8
"""Number of bars with a label, and of words that one system alone gets right."""


def draw_opening(page: AnalysePage, cards: Cards) -> None:
    """Draw the stored analysis; raise as `stored_rows`."""
    dataset = SAMPLE_SETS[SET]()
    runs = tuple(stored_rows(ANALYSIS / f"{model}.jsonl", dataset) for model in MODELS)
    table = examples_table(runs).sort_values([CHANGE, "chrf_1"], kind="stable")
    if page.state.example not in table.index:
        page.set(example=int(table.index[0]))
    with st.container(horizontal=True, vertical_alignment="center", key="analyse_head"):
        titles = [cards[model].title if model in cards else model for model in MODELS]
        st.caption(f"{len(table)} sentences · **A** {titles[0]} · **B** {titles[1]}")
        st.space("stretch")
        st.button("New analysis", type="primary", on_click=_begin, args=(page,))
    headline = _summary(table)
    left, right = st.columns([1.6, 1], gap="small")
    with left.container(border=True, height="stretch"):
        st.markdown("**Every sentence, from worst to best:** change in chrF from A to B")
        _bars(page, table, headline)
    with right.container(border=True, height="stretch", gap="xsmall"):
        _sentence(page, table, MODELS[0] in cards)
        _words(table)
    params = {SET_PARAMETER: SET, "model": MODELS[0], COMPARE: MODELS[1]}
    page_link("pages/analyse.py", f"All {len(table)} rows, words, errors and notes", params)
    page.keep({EXAMPLE: f"{page.state.example + 1}" if page.state.example is not None else ""})


def leave_form(page: AnalysePage) -> None:
    """Draw the button that leads from the form back to the stored analysis."""
    st.button("Back to the stored analysis", type="tertiary", on_click=_leave, args=(page,))


def _begin(page: AnalysePage) -> None:
    st.query_params.from_dict({NEW: "1"})
    page.set(is_new=True, example=None, address={NEW: "1"})


def _leave(page: AnalysePage) -> None:
    st.query_params.clear()
    page.set(is_new=False, example=None, address={})


def _summary(table: pd.DataFrame) -> str:
    """Draw the result in one sentence, with its interval, and return the sentence."""
    changes = table[CHANGE].to_numpy(float)
    better, _, worse = count_wins(changes, "high")
    mean, low, high = (number_text(value, "+.1f") for value in mean_change(changes))
    sentence = (
        f"Without attention, {worse} of {len(table)} translations get worse and {better} better."
    )
    st.header(sentence, anchor=False)
    st.markdown(f"Mean change {mean} chrF; 95 % interval {low} to {high}.")
    return sentence


def _bars(page: AnalysePage, table: pd.DataFrame, title: str) -> None:
    """Draw one bar per sentence; a click opens the sentence."""
    # Imported here: Plotly takes a while to import, and the form does not need it.
    from areaviz.views.changes import change_bars

    places = [int(place) for place in table.index]
    chosen = places.index(page.state.example) if page.state.example in places else 0
    key = f"analyse_changes_{chosen}"

    def click() -> None:
        points = st.session_state[key]["selection"]["points"]
        if points:
            page.set(example=places[place_of(points[0]["customdata"])])

    labels = {}
    for at, (first, second) in enumerate(
        zip(table["output_0"][:LABELLED], table["output_1"][:LABELLED], strict=True)
    ):
        labels[at] = changed_words(first, second)
    figure = change_bars(list(table[CHANGE]), list(table["text"]), labels, chosen)
    st.plotly_chart(
        figure,
        key=key,
        on_select=click,
        selection_mode="points",
        config={"displayModeBar": False},
        alt=title,
    )


def changed_words(first: str, second: str) -> str:
    """Return the longest run of words that two texts do not share, as "old → new"."""
    pieces = compare_words(first, second)
    found = [("", "")]
    for number, piece in enumerate(pieces):
        if piece.kind == SAME:
            continue
        before = piece.text if piece.kind == MISSING else ""
        after = piece.text if piece.kind == ADDED else ""
        follows = number + 1 < len(pieces) and pieces[number + 1].kind == ADDED
        if before and follows:
            after = pieces[number + 1].text
        found.append((before.strip(), after.strip()))
    old, new = max(found, key=lambda pair: len(pair[0]) + len(pair[1]))
    return f"{old or '–'} → {new or '–'}"


def _sentence(page: AnalysePage, table: pd.DataFrame, can_look: bool) -> None:
    """Draw one sentence in full: the source, the reference and both outputs."""
    places = [int(place) for place in table.index]
    at = places.index(page.state.example) if page.state.example in places else 0
    row = table.iloc[at]
    first, second = str(row["output_0"]), str(row["output_1"])
    st.markdown(f"**Sentence {row['name']}: {number_text(float(row[CHANGE]), '+.1f')} chrF**")
    for label, text in (
        ("English", escaped(str(row["text"]))),
        ("Reference", escaped(str(row["reference"]))),
        ("A", _marked(second, first, "green")),
        ("B", _marked(first, second, "red")),
    ):
        st.markdown(f"**{label}:** {text}")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for label, there, help in (("‹", at - 1, "Worse sentence"), ("›", at + 1, "Next sentence")):
            is_there = 0 <= there < len(places)
            st.button(
                label,
                key=f"analyse_{help.split()[0].lower()}",
                help=help,
                disabled=not is_there,
                on_click=page.set,
                kwargs={"example": places[there] if is_there else places[at]},
            )
        st.caption(f"{at + 1} of {len(places)}", width="content")
        if can_look:
            params = {"text": str(row["text"]), "model": MODELS[0]}
            page_link("pages/translate.py", "See where A looked", params)


def _marked(base: str, text: str, colour: str) -> str:
    """Return a text as Markdown, with the words that the other text lacks in bold on a colour."""
    drawn = []
    for piece in compare_words(base, text):
        words = escaped(piece.text.strip())
        if piece.kind == ADDED:
            words = f":{colour}-background[**{words}**]"
        if piece.kind != MISSING:
            drawn.append(words + piece.text[len(piece.text.rstrip()) :])
    return "".join(drawn)


def _words(table: pd.DataFrame) -> None:
    """Draw the words that one system alone gets right."""
    for system, found in zip("AB", distinguishing_ngrams(table, 1), strict=True):
        alone = _alone(found)
        if alone:
            st.caption(f"Words that only {system} gets right, in lower case")
            st.markdown(escaped(", ".join(alone)))


def _alone(found: Sequence[Gram]) -> list[str]:
    """Return the words that the other system never gets right."""
    return [gram.text for gram in found if min(gram.first, gram.second) == 0][:LISTED]
