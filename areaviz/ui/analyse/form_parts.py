"""The shared parts of the forms for notes and for marked errors: categories and safe saving."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from areaviz.app.run import get_user_digest
from areaviz.app.texts import defer_errors
from areaviz.notes.annotations import TAGS
from areaviz.notes.record_types import Stale
from areaviz.ui.analyse.stored_data import list_judgements, open_note_store

# Largest number of categories in a form. Users can type any other category.
MAX_CATEGORIES = 100


def list_offered_categories(dataset: str, only_of: str = "") -> list[str]:
    """Return the categories to offer: those of MQM, then those already used in the dataset.

    Args:
        dataset: the digest of the dataset.
        only_of: a rater in blind rating, who sees only personal categories; "" for all categories.
    """
    used = []
    if not only_of:
        used += open_note_store().notes.list_tags(dataset, get_user_digest(), MAX_CATEGORIES)
    for one in list_judgements(dataset):
        if only_of in ("", one.rater):
            used += [span.category for span in one.spans if span.category]
    return list(dict.fromkeys([*TAGS, *used]))[:MAX_CATEGORIES]


@contextmanager
def keep_save_error(doing: str, problem_key: str, stale_key: str) -> Iterator[None]:
    """Keep an error of the block in the session, or the `Stale` of a version saved meanwhile."""
    with defer_errors(doing, problem_key):
        try:
            yield
        except Stale as stale:
            st.session_state[stale_key] = stale
