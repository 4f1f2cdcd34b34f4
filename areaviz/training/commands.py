"""The commands with which models are made and measured, see `areaviz.cli`."""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS: Mapping[str, tuple[str, str]] = {
    "train": ("areaviz.cli.train", "Train a model from a recipe. A killed run resumes."),
    "evaluate": ("areaviz.cli.evaluate", "Measure a model on a test set."),
    "compare": (
        "areaviz.cli.compare",
        "Compare two models and write the difference on both model cards.",
    ),
    "heads": (
        "areaviz.cli.heads",
        "Measure what each head of a translator does, compared with an untrained network.",
    ),
    "align": ("areaviz.cli.align", "Choose the heads that together align best with known links."),
    "faithfulness": (
        "areaviz.cli.faithfulness",
        "Measure how faithful an attention map is, compared with random areas.",
    ),
    "bench": ("areaviz.cli.bench", "Run a benchmark of the repository."),
    "data": ("areaviz.cli.data", "Download training corpora or the models of this release."),
    "openings": (
        "areaviz.cli.openings",
        "Renew the stored traces that pages open with. Run this after a model changes.",
    ),
    "figures": (
        "areaviz.cli.figures",
        "Write the tables of results in README.md and docs/, from the models' cards.",
    ),
}
"""Maps each command to its module and its line in the list of commands."""
