"""Downloads for other tools: a human evaluation of WMT, and a campaign of Pearmut."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from areaviz.analysis.pearmut_export import MAX_RATERS, PROTOCOLS, to_campaign
from areaviz.analysis.wmt_export import to_wmt
from areaviz.data.examples import Dataset
from areaviz.notes.error_spans import Judgement
from areaviz.ui.analyse.guest import while_shared
from areaviz.ui.analyse.notes import systems
from areaviz.ui.analyse.stored import Analysis, StoredRows


def written(analyses: Sequence[Analysis], runs: Sequence[StoredRows]) -> dict[str, dict[int, str]]:
    """Return what each system wrote, by the places of the examples; failed runs are left out."""
    found: dict[str, dict[int, str]] = {}
    for name, run in zip(systems(analyses), runs, strict=True):
        found[name] = {place: row.output for place, row in run.rows.items() if not row.error}
    return found


def wmt_button(
    dataset: Dataset, outputs: dict[str, dict[int, str]], judgements: Sequence[Judgement]
) -> None:
    """Draw a button that downloads the ratings as WMT publishes them."""
    st.download_button(
        "WMT JSON Lines",
        while_shared(partial(to_wmt, judgements, dataset, outputs)),
        "areaviz-humeval.jsonl",
        "application/jsonl",
        key="judged_wmt",
        on_click="ignore",
    )


def campaign_button(
    dataset: Dataset, outputs: dict[str, dict[int, str]], judgements: Sequence[Judgement]
) -> None:
    """Draw the choices of a campaign of Pearmut, and a button that downloads it.

    Sets with pictures, sounds or clips have none: a campaign has texts alone.
    """
    if dataset.files or not any(outputs.values()):
        return
    with st.popover("Rate with Pearmut", key="pearmut", type="tertiary"):
        st.caption(
            "Each rater gets all outputs. Errors of xCOMET are marked beforehand. Import the"
            " annotations here when they are done."
        )
        protocol = st.segmented_control(
            "Protocol",
            PROTOCOLS,
            key="pearmut_protocol",
            default=PROTOCOLS[0],
            required=True,
            help="ESA: errors and a score. MQM: errors with categories and a score. DA: a score.",
        )
        raters = st.number_input("Raters", 1, MAX_RATERS, key="pearmut_raters")
        made = partial(
            to_campaign, dataset, outputs, judgements, protocol=str(protocol), raters=int(raters)
        )
        st.download_button(
            "Campaign (JSON)",
            while_shared(made),
            "areaviz-pearmut.json",
            "application/json",
            key="pearmut_campaign",
            on_click="ignore",
        )
