"""The commands that analyse a set, see `areaviz.cli`."""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS: Mapping[str, tuple[str, str]] = {
    "analyse": (
        "areaviz.cli.analyse",
        "Run a dataset through one or two models and write one row per example.",
    ),
    "forget": (
        "areaviz.cli.forget",
        "Delete notes, slices and analyses that have not changed for a number of days.",
    ),
}
"""Maps each command to its module and its line in the list of commands."""
