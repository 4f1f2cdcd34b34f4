"""The open sentence of the stored analysis in full, and the words that one system gets right."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from areaviz.analysis.model_comparison import Gram, find_distinguishing_ngrams
from areaviz.analysis.stored_analysis import MODELS
from areaviz.analysis.word_diff import ADDED, MISSING, SAME, compare_words
from areaviz.app.frame import draw_page_link
from areaviz.app.texts import escape_markdown
from areaviz.draw.labels import number_text
from areaviz.ui.analyse.state import AnalysePage

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
