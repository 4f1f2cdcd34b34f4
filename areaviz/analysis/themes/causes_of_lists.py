"""Search for causes of the first themes of every list, for the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from areaviz.analysis.themes.causes import Cause, Runner, find_cause
from areaviz.analysis.themes.table_themes import collect_material
from areaviz.analysis.themes.theme import Theme, Themes
from areaviz.samples.dataset import Dataset
from areaviz.trace.errors import InputError
from areaviz.trace.record import Run
from areaviz.trace.request import Counted, Request

# Maximum number of searched themes per list. Each search takes hundreds of runs.
MAX_THEMES = 3
# Sentences about the cause of a theme, by `make_cause_key`.
Causes = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class System:
    """A model that can be run again, and its options."""

    request: Request
    run: Run


def make_cause_key(themes: Themes, theme: Theme) -> str:
    """Return a key that identifies a theme within an analysis."""
    return f"{themes.worse} {theme.statement}"


def is_about_input(theme: Theme) -> bool:
    """Return whether a theme is about the input, not about attention, and can be searched."""
    return bool(theme.conditions) and not theme.is_about_model


def find_causes(
    dataset: Dataset,
    frame: pd.DataFrame,
    lists: Sequence[Themes],
    systems: Mapping[int, System],
    begin: Callable[[Theme], Counted],
) -> Causes:
    """Search for the causes of the first `MAX_THEMES` themes of each list whose system can be run.

    If the search for a theme fails, its sentence is the reason, so that the other results are kept.

    Args:
        dataset: the dataset.
        frame: the table of the analysis in which the themes were found.
        lists: the themes.
        systems: the models, by their numbers in the table.
        begin: called with each theme. It returns a function that receives the progress of its runs.

    Raises:
        BackendError: a model cannot be run.
    """
    found = {}
    for themes in lists:
        system = systems.get(themes.worse)
        if system is None:
            continue
        pair = (themes.worse,) if themes.better is None else (0, 1)
        material = collect_material(dataset, frame, pair)
        for theme in [one for one in themes.found if is_about_input(one)][:MAX_THEMES]:
            runner = Runner(dataset, system.request, system.run, begin(theme))
            try:
                cause = find_cause(theme, themes, material, runner)
            except InputError as refusal:
                cause = Cause(None, (), str(refusal))
            found[make_cause_key(themes, theme)] = cause.sentences
    return found
