"""Where a rater marks errors in one output: its texts and picture, the errors so far, a score."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import streamlit as st

from areaviz.interactive.grid import webp
from areaviz.notes.annotations import SEVERITIES
from areaviz.notes.error_spans import OUTPUT, SOURCE, Judgement
from areaviz.trace.picture import Picture
from areaviz.ui.shell.component import component


@dataclass(frozen=True, slots=True)
class Sheet:
    """What is judged.

    Args:
        title: whose output it is, for people.
        judgement: the texts, and what was marked so far.
        picture: what was given beside or instead of the source.
        categories: offered for errors; others can be typed.
        mark: tells this sheet from all others: what is not saved yet belongs to it.
        replaces: the mark of the sheet that was saved last, whose changes are no longer kept.
    """

    title: str
    judgement: Judgement
    picture: Picture | None
    categories: Sequence[str]
    mark: str
    replaces: str = ""


def judging(sheet: Sheet, *, key: str, on_save: Callable[[], None]) -> None:
    """Draw it.

    Args:
        sheet: what is judged.
        key: unique on the page.
        on_save: runs when the rater saves, see `given`.
    """
    judgement = sheet.judgement
    # As they are: what is named or made visible in them would move the places of errors.
    texts = [{"side": OUTPUT, "title": sheet.title, "text": judgement.output}]
    if judgement.source:
        texts.insert(0, {"side": SOURCE, "title": "Source", "text": judgement.source})
    picture = None
    if sheet.picture is not None:
        content = base64.b64encode(webp(sheet.picture).tobytes()).decode()
        picture = {"title": "Picture", "source": f"data:image/webp;base64,{content}"}
    data = {
        "label": sheet.title,
        "texts": texts,
        "picture": picture,
        "spans": [asdict(span) for span in judgement.spans],
        "score": judgement.score,
        "version": judgement.version,
        "categories": list(sheet.categories),
        "severities": list(SEVERITIES),
        "mark": sheet.mark,
        "replaces": sheet.replaces,
    }
    component("judging")(key=key, data=data, on_saved_change=on_save)


def given(key: str) -> tuple[object, object]:
    """The errors and the score that were saved last, as the browser sent them; for `on_save`."""
    state = st.session_state.get(key)
    found = state.get("saved") if state else None
    if not isinstance(found, Mapping):
        return [], None
    return found.get("spans"), found.get("score")
