"""What came of an analysis: figures of the whole set, brushes and filters, a table, and every
example in its viewer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from areaviz.analysis.measures import MEASURES
from areaviz.analysis.table import CIDER
from areaviz.backend.base import Backend
from areaviz.trace.request import Request
from areaviz.ui.analyse.contrast import against, by_bucket
from areaviz.ui.analyse.filter import TITLES, filtered
from areaviz.ui.analyse.found import Found, examples_table, figures
from areaviz.ui.analyse.notes import exchange
from areaviz.ui.analyse.slices import in_slice, save_slice, slice_table, slices_of
from areaviz.ui.analyse.table import opened, step_through

WHOLE = {
    "examples": "Examples",
    "failed": "Not run",
    "corpus_bleu": "BLEU",
    "corpus_chrf": "chrF",
    CIDER: "CIDEr-D",
    "alignment_error": "Alignment error",
    "confidence": "Confidence",
}
"""What is said first, a column each: figures of the whole set, not means of its sentences, where
the two differ.
"""


def result(
    backend: Backend, requests: Sequence[Request], runs: tuple[Found, ...], titles: Sequence[str]
) -> None:
    """Draw all of it; runs: of one set."""
    dataset = runs[0].dataset
    slices = slices_of(dataset.digest)
    st.subheader("The whole set", anchor=False)
    _whole(runs, titles)
    slice_table(runs, slices)
    st.subheader("Example by example", anchor=False)
    table = in_slice(examples_table(runs), slices)
    chosen = filtered(table, titles)
    index = step_through(chosen, len(titles))
    save_slice(dataset.digest, chosen)
    by_bucket(chosen, titles)
    against(chosen, titles)
    exchange(dataset.digest)
    if index is not None and index < len(dataset.examples):
        opened(backend, dataset, requests, titles, index)


def _whole(runs: Sequence[Found], titles: Sequence[str]) -> None:
    found = [figures(run) for run in runs]
    names = [name for name in WHOLE if any(name in one for one in found)]
    figures_of = {WHOLE[name]: [number(one.get(name)) for one in found] for name in names}
    st.table({"Model": list(titles), **figures_of}, border="horizontal", hide_index=True)
    with st.expander("All measures, mean of the examples", key="analyse_means", type="compact"):
        taken = [name for name in TITLES if any(name in one for one in found)]
        about = [
            MEASURES[name].about if name in MEASURES else "CIDEr-D, 0 to 10." for name in taken
        ]
        heads = (
            titles
            if len(set(titles)) == len(titles)
            else [f"{title} ({n})" for n, title in enumerate(titles, 1)]
        )
        means = {
            head: [number(f.get(name)) for name in taken]
            for head, f in zip(heads, found, strict=True)
        }
        columns = {"Measure": [TITLES[name] for name in taken], **means, "What it is": about}
        st.table(columns, border="horizontal", hide_index=True)


def number(value: float | None) -> str:
    """A figure in three digits; a dash for none."""
    if value is None or not np.isfinite(value):
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"
