"""What an analysis has found so far: its rows, their table and figures, computed once until rows
are added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import streamlit as st

from areaviz.analysis.row_lines import DamagedHeader, Row
from areaviz.analysis.rows import RowFile
from areaviz.analysis.table import summary, table_of
from areaviz.data.examples import Dataset

KEPT = 3600  # seconds
MOST_LINES = 5
"""Damaged lines that are named."""


@dataclass(frozen=True, slots=True)
class Found:
    """One model's rows so far on a set. mark: what tells them from all others: their file, its
    bytes and its time.
    reader: the mark of who began it, "" for the command line. damage: what cannot be read, one
    sentence, or "".
    """

    dataset: Dataset
    mark: tuple[str, int, int]
    rows: Mapping[int, Row] = field(default_factory=dict)
    reader: str = ""
    damage: str = ""


def found_in(path: Path, dataset: Dataset) -> Found:
    """What a file of rows on a set has now; a file that is not there has none.

    Raises:
        InputError: the file is of a newer version.
        BackendError: the file cannot be read.
    """
    name = str(path.absolute())
    try:
        about = path.stat()
        mark = name, about.st_size, about.st_mtime_ns
        rows, reader, damage = _read(*mark)
    except FileNotFoundError:
        return Found(dataset, (name, 0, 0))
    except DamagedHeader:
        damage = (
            f"The first line of {path.name} is damaged, so nobody knows what its rows are of; when"
            " this is run, the file is kept under another name."
        )
        return Found(dataset, (name, 0, 0), damage=damage)
    return Found(dataset, mark, rows, reader, damage)


def _mark(found: Found) -> tuple[str, int, int]:
    return found.mark


@st.cache_resource(show_spinner=False, max_entries=8, ttl=KEPT)
def _read(path: str, size: int, modified: int) -> tuple[Mapping[int, Row], str, str]:
    """Rows, the reader's mark and what is damaged."""
    file = RowFile.read(Path(path))
    return file.rows, file.header.reader, _damage(file) if file.damaged else ""


def _damage(file: RowFile) -> str:
    numbers = [f"{number:,}" for number in file.damaged[:MOST_LINES]]
    more = f" and {len(file.damaged) - MOST_LINES:,} more" if len(file.damaged) > MOST_LINES else ""
    one = len(file.damaged) == 1
    return (
        f"Line{'' if one else 's'} {', '.join(numbers)}{more} of {file.path.name}"
        f" {'is' if one else 'are'} damaged and left out; when this goes on,"
        f" {'its example is' if one else 'their examples are'} run again and the file is kept as it"
        " is under another name."
    )


@st.cache_resource(show_spinner=False, max_entries=8, ttl=KEPT, hash_funcs={Found: _mark})
def examples_table(runs: tuple[Found, ...]) -> pd.DataFrame:
    """`table_of` these runs, the same object for all who ask: never change it."""
    return table_of(runs[0].dataset, [run.rows for run in runs])


@st.cache_data(
    show_spinner=False, max_entries=512, ttl=KEPT, hash_funcs={Found: _mark, tuple: repr}
)
def figures(run: Found, places: tuple[int, ...] | None = None) -> Mapping[str, float]:
    """The `summary` of a run, or of its rows of the examples at some places."""
    chosen = (
        run.rows
        if places is None
        else {place: run.rows[place] for place in places if place in run.rows}
    )
    return summary(run.dataset, chosen)
