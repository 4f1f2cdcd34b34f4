"""What an analysis has found so far: its rows, their table and figures, computed once until rows are added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import streamlit as st

from areaviz.analysis.rows import Row, RowFile
from areaviz.analysis.table import summary, table_of
from areaviz.data.examples import Dataset

KEPT = 3600  # seconds


@dataclass(frozen=True, slots=True)
class Found:
    """One model's rows so far on a set. mark: what tells them from all others: their file, its bytes and its time."""

    dataset: Dataset
    mark: tuple[str, int, int]
    rows: Mapping[int, Row] = field(default_factory=dict)


def found_in(path: Path, dataset: Dataset) -> Found:
    """What a file of rows on a set has now; a file that is not there has none. InputError where it holds others."""
    name = str(path.absolute())
    try:
        about = path.stat()
    except FileNotFoundError:
        return Found(dataset, (name, 0, 0))
    mark = name, about.st_size, about.st_mtime_ns
    return Found(dataset, mark, _rows(*mark))


def _mark(found: Found) -> tuple[str, int, int]:
    return found.mark


@st.cache_resource(show_spinner=False, max_entries=8, ttl=KEPT)
def _rows(path: str, size: int, modified: int) -> Mapping[int, Row]:
    return RowFile.read(Path(path)).rows


@st.cache_resource(show_spinner=False, max_entries=8, ttl=KEPT, hash_funcs={Found: _mark})
def examples_table(runs: tuple[Found, ...]) -> pd.DataFrame:
    """`table_of` these runs, the same object for all who ask: never change it."""
    return table_of(runs[0].dataset, [run.rows for run in runs])


@st.cache_data(show_spinner=False, max_entries=512, ttl=KEPT, hash_funcs={Found: _mark, tuple: repr})
def figures(run: Found, places: tuple[int, ...] | None = None) -> Mapping[str, float]:
    """The `summary` of a run, or of its rows of the examples at some places."""
    chosen = run.rows if places is None else {place: run.rows[place] for place in places if place in run.rows}
    return summary(run.dataset, chosen)
