"""The stored analysis that the page opens with: its chart, its sentence and its tabs.

`draw_stored_analysis` joins the parts. An answer for the teacher's page is the last section.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from areaviz.app.frame import draw_page_link
from areaviz.app.page import COMPARE, Cards
from areaviz.app.texts import escape_markdown
from areaviz.draw.charts import change_bars
from areaviz.draw.labels import number_text
from areaviz.learn.teach import describe_without_attention
from areaviz.samples.paths import ANALYSIS
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.sets.app.examples import (
    ADDED,
    MISSING,
    OPEN_EXAMPLE_KEY,
    SAME,
    compare_words,
    draw_examples_table,
)
from areaviz.sets.app.filter import draw_kept_filter, read_mark_number, sort_rows
from areaviz.sets.app.result import draw_buckets, draw_wins_and_words
from areaviz.sets.app.state import (
    EXAMPLE_PARAM,
    NEW_PARAM,
    PART_PARAM,
    SET_PARAM,
    AnalysePage,
    StoredRows,
    build_examples_table,
    compute_figures,
    read_stored_rows,
)
from areaviz.sets.buckets import Gram, count_wins, find_distinguishing_ngrams, mean_change
from areaviz.sets.run import MODELS, SET

# The open sentence of the stored analysis in full, and the words that one system gets right.


CHRF_CHANGE_COLUMN = "chrf_change"
"""The column of the change from the first system to the second."""
MAX_LISTED_WORDS = 8
"""Number of words that one system alone gets right."""


def draw_sentence(page: AnalysePage, table: pd.DataFrame, can_look: bool) -> None:
    """Draw one sentence in full: the source, the reference and both outputs.

    Args:
        page: its state has the open sentence.
        table: the sentences, the worst first.
        can_look: whether the first model is installed, so that its attention can be shown.
    """
    places = [int(place) for place in table.index]
    at = places.index(page.state.example) if page.state.example in places else 0
    row = table.iloc[at]
    first, second = str(row["output_0"]), str(row["output_1"])
    st.markdown(
        f"**Sentence {row['name']}: {number_text(float(row[CHRF_CHANGE_COLUMN]), '+.1f')} chrF**"
    )
    for key, label, text in (
        ("source", "English", escape_markdown(str(row["text"]))),
        ("wanted", "Reference", escape_markdown(str(row["reference"]))),
        ("first", "A", _mark_differences(second, first, "green")),
        ("second", "B", _mark_differences(first, second, "red")),
    ):
        with st.container(key=f"analyse_{key}_text"):
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
            draw_page_link("pages/translate.py", "See where A looked", params)


def find_changed_words(first: str, second: str) -> str:
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


def _mark_differences(base: str, text: str, colour: str) -> str:
    """Return a text as Markdown, with the words that the other text lacks in bold on a colour."""
    drawn = []
    for piece in compare_words(base, text):
        words = escape_markdown(piece.text.strip())
        if piece.kind == ADDED:
            words = f":{colour}-background[**{words}**]"
        if piece.kind != MISSING:
            drawn.append(words + piece.text[len(piece.text.rstrip()) :])
    return "".join(drawn)


def draw_words(table: pd.DataFrame) -> None:
    """Draw the words that one system alone gets right."""
    references = " ".join(table["reference"])
    for system, found in zip("AB", find_distinguishing_ngrams(table, 1), strict=True):
        alone = _find_words_of_one_system(found)
        if alone:
            st.markdown(f"**Words that only {system} gets right**")
            badges = [
                f":gray-badge[{escape_markdown(_find_written_form(word, references))}]"
                for word in alone
            ]
            st.markdown(" ".join(badges))


def _find_words_of_one_system(found: Sequence[Gram]) -> list[str]:
    """Return the words that the other system never gets right."""
    return [gram.text for gram in found if min(gram.first, gram.second) == 0][:MAX_LISTED_WORDS]


def _find_written_form(word: str, text: str) -> str:
    """Return a word in lower case as a text has it."""
    found = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)
    return found[0] if found else word


# The tabs below the stored analysis (its rows, scores by length, and words), and its link.


ROWS_TAB, LENGTH_TAB, WORDS_TAB = "rows", "length", "words"


def draw_opening_tabs(page: AnalysePage, table: pd.DataFrame, titles: Sequence[str]) -> None:
    """Draw the titles of the tabs, the link, and the open tab. Another click closes the tab.

    Args:
        page: its state has the name of the open tab.
        table: the sentences.
        titles: the titles of both systems.
    """
    names = {
        ROWS_TAB: f"All {len(table)} rows",
        LENGTH_TAB: "By length",
        WORDS_TAB: "Words and measures",
    }
    if page.state.part not in names:
        page.set(part=None)
    with st.container(key="tabs", horizontal=True, vertical_alignment="center", gap="medium"):
        page.draw_widget(
            st.segmented_control,
            "More of this analysis",
            "part",
            list(names),
            format_func=names.__getitem__,
            label_visibility="collapsed",
        )
        st.space("stretch")
        params = {SET_PARAM: SET, "model": MODELS[0], COMPARE: MODELS[1]}
        draw_page_link("pages/analyse.py", "Mark errors, write notes, get a report", params)
        page.offer_link(_build_link_params(page))
    with st.container(key="tab_part"):
        if page.state.part == ROWS_TAB:
            draw_examples_table(
                page, sort_rows(page, draw_kept_filter(page, table)), len(titles), "above"
            )
        elif page.state.part == LENGTH_TAB:
            draw_buckets(page, table, titles, None)
        elif page.state.part == WORDS_TAB:
            draw_wins_and_words(page, table, titles)


def _build_link_params(page: AnalysePage) -> dict[str, str]:
    """Return the URL parameters that open this sentence and this tab."""
    params = {}
    if page.state.example is not None:
        params[EXAMPLE_PARAM] = f"{page.state.example + 1}"
    if page.state.part:
        params[PART_PARAM] = page.state.part
    return params


# The analysis that Analyse opens with: two translators, and the sentences where one is worse.


MAX_LABELLED_BARS = 3
"""Number of bars with a label, besides the bar of the open sentence."""


def draw_stored_analysis(page: AnalysePage, cards: Cards) -> None:
    """Draw the stored analysis. Raise as `read_stored_rows`."""
    dataset = SAMPLE_SETS[SET]()
    runs = tuple(read_stored_rows(ANALYSIS / f"{model}.jsonl", dataset) for model in MODELS)
    table = build_examples_table(runs).sort_values([CHRF_CHANGE_COLUMN, "chrf_1"], kind="stable")
    if page.state.example not in table.index:
        page.set(example=int(table.index[0]))
    titles = [cards[model].title if model in cards else model for model in MODELS]
    _draw_head(page, runs, titles)
    headline = _draw_summary(table)
    left, right = st.columns([1.6, 1], gap="small")
    with left.container(border=True, height="stretch", key="analyse_bars", gap="xsmall"):
        st.markdown("**Every sentence, from worst to best:** change in chrF from A to B")
        _draw_bars(page, table, headline)
    with right.container(border=True, height="stretch", gap="xsmall", key=OPEN_EXAMPLE_KEY):
        draw_sentence(page, table, MODELS[0] in cards)
        draw_words(table)
    draw_opening_tabs(
        page, table, [f"({number}) {title}" for number, title in enumerate(titles, 1)]
    )


def draw_leave_form_button(page: AnalysePage) -> None:
    """Draw the button that leads from the form back to the stored analysis."""
    st.button("Back to the stored analysis", type="tertiary", on_click=_leave_form, args=(page,))


def _open_form(page: AnalysePage) -> None:
    st.query_params.from_dict({NEW_PARAM: "1"})
    page.set(is_new=True, example=None, address={NEW_PARAM: "1"})


def _leave_form(page: AnalysePage) -> None:
    st.query_params.clear()
    page.set(is_new=False, example=None, address={})


def _draw_head(page: AnalysePage, runs: tuple[StoredRows, ...], titles: list[str]) -> None:
    """Draw the names of the compared systems, and the button for an analysis of the user's own."""
    systems = [
        f"**{letter}** {title}, BLEU {compute_figures(run)['corpus_bleu']:.1f}"
        for letter, title, run in zip("AB", titles, runs, strict=True)
    ]
    with st.container(horizontal=True, vertical_alignment="center", key="analyse_head"):
        st.caption(" · ".join([f"{len(runs[0].dataset.examples)} short sentences", *systems]))
        st.space("stretch")
        st.button("New analysis", type="primary", on_click=_open_form, args=(page,))


def _draw_summary(table: pd.DataFrame) -> str:
    """Draw the result in one sentence, with its interval, and return the sentence."""
    changes = table[CHRF_CHANGE_COLUMN].to_numpy(float)
    better, _, worse = count_wins(changes, "high")
    mean, low, high = (number_text(value, "+.1f") for value in mean_change(changes))
    sentence = (
        f"Without attention, {worse} of {len(table)} translations get worse and {better} better."
    )
    with st.container(key="analyse_summary"):
        st.header(sentence, anchor=False)
        st.markdown(f"Mean change {mean} chrF (95 % interval {low} to {high}).")
    return sentence


def _draw_bars(page: AnalysePage, table: pd.DataFrame, title: str) -> None:
    """Draw one bar per sentence. A click opens the sentence."""
    places = [int(place) for place in table.index]
    chosen = places.index(page.state.example) if page.state.example in places else 0
    key = f"analyse_changes_{chosen}"

    def click() -> None:
        points = st.session_state[key]["selection"]["points"]
        if points:
            page.set(example=places[read_mark_number(points[0]["customdata"])])

    labels = {}
    for at in sorted({*range(MAX_LABELLED_BARS), chosen}):
        row = table.iloc[at]
        if row[CHRF_CHANGE_COLUMN]:
            labels[at] = find_changed_words(str(row["output_0"]), str(row["output_1"]))
    figure = change_bars(list(table[CHRF_CHANGE_COLUMN]), list(table["text"]), labels, chosen)
    st.plotly_chart(
        figure,
        key=key,
        on_select=click,
        selection_mode="points",
        config={"displayModeBar": False},
        alt=title,
    )


# The answer of the teacher's page about translation without attention.


def describe_lost_attention() -> tuple[str, ...]:
    """Return what the stored analysis says about translation without attention."""
    dataset = SAMPLE_SETS[SET]()
    runs = tuple(read_stored_rows(ANALYSIS / f"{model}.jsonl", dataset) for model in MODELS)
    table = build_examples_table(runs).sort_values([CHRF_CHANGE_COLUMN, "chrf_1"], kind="stable")
    better, _, worse = count_wins(table[CHRF_CHANGE_COLUMN].to_numpy(float), "high")
    worst = {name: str(table.iloc[0][name]) for name in ("text", "output_0", "output_1")}
    return describe_without_attention(worse, better, len(table), worst)
