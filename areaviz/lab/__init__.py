"""The commands with which models are made and measured, see `areaviz.cli`."""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS: Mapping[str, tuple[str, str]] = {
    "train": ("areaviz.lab.commands", "Train a model from a recipe. A killed run resumes."),
    "evaluate": ("areaviz.lab.commands", "Measure a model on a test set."),
    "compare": (
        "areaviz.lab.commands",
        "Compare two models and write the difference on both model cards.",
    ),
    "heads": (
        "areaviz.lab.commands",
        "Measure what each head of a translator does, compared with an untrained network.",
    ),
    "align": (
        "areaviz.lab.commands",
        "Choose the heads that together align best with known links.",
    ),
    "faithfulness": (
        "areaviz.lab.measure",
        "Measure how faithful an attention map is, compared with random areas.",
    ),
    "bench": ("areaviz.lab.commands", "Run a benchmark of the repository."),
    "data": ("areaviz.lab.commands", "Download training corpora or the models of this release."),
    "openings": (
        "areaviz.lab.commands",
        "Renew the stored traces that pages open with. Run this after a model changes.",
    ),
    "figures": (
        "areaviz.lab.tables",
        "Write the tables of results in README.md and docs/, from the models' cards.",
    ),
}
"""Maps each command to its module and its line in the list of commands."""
