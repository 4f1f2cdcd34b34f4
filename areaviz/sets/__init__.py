"""Analyses of datasets: their files, metrics, runs, tables, reports, and the page Analyse.

This file lists the commands that analyse a set (see `areaviz.cli`). The entry points are
`run.analyse_dataset`, which adds rows to a `run.RowFile`, and `table.build_table`, which turns
rows into a table.
"""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS: Mapping[str, tuple[str, str]] = {
    "analyse": (
        "areaviz.sets.analyse",
        "Run a dataset through one or two models and write one row per example.",
    ),
    "forget": (
        "areaviz.sets.retention",
        "Delete notes, slices and analyses that have not changed for a number of days.",
    ),
}
"""Maps each command to its module and its line in the list of commands."""
