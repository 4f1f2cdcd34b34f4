"""The content of a report: a dataset, its systems, and their ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from areaviz.analysis.buckets import Frequency
from areaviz.analysis.measure import Measure
from areaviz.analysis.model_comparison import find_joint_failures
from areaviz.analysis.rating_metrics import average_ratings, group_by_example
from areaviz.analysis.row_lines import Row
from areaviz.analysis.table import build_table, list_measures, with_scores
from areaviz.analysis.themes.causes_of_lists import Causes
from areaviz.analysis.themes.theme import Themes
from areaviz.notes.error_spans import Judgement
from areaviz.samples.dataset import Dataset

# Maximum number of systems in a report, because more columns cannot be compared at a glance. The
# page allows six systems and a model.
MAX_SYSTEMS = 8
# The metric that tells good examples from bad ones if the dataset has references.
DEFAULT_METRIC = "chrf"


@dataclass(frozen=True, slots=True)
class SystemOutputs:
    """A system's outputs for a dataset, and their ratings."""

    # The displayed name, with a number if there are several systems.
    title: str
    rows: Mapping[int, Row]
    judged: Mapping[int, Sequence[Judgement]]


@dataclass(frozen=True)
class Report:
    """Everything that a report shows.

    Args:
        dataset: the dataset.
        systems: the names of the systems in ratings.
        titles: the displayed names of the systems.
        runs: the rows of each system.
        scores: additional metrics of each system by name (`with_scores`).
        judgements: the ratings of the dataset.
        places: indices of the reported examples, None for all.
        measure: the metric that tells good examples from bad ones, "" for chrF.
        corpus: word frequencies of a corpus. None uses those of the references.
        themes: themes of failure, () if they were not computed.
        causes: findings about the themes in the attention of the models.
        baseline: the number of the system that the others are compared with, from 0.
    """

    dataset: Dataset
    systems: Sequence[str]
    titles: Sequence[str]
    runs: Sequence[Mapping[int, Row]]
    scores: Sequence[Mapping[str, Sequence[float]]]
    judgements: Sequence[Judgement] = ()
    places: Sequence[int] | None = None
    measure: str = ""
    corpus: Frequency | None = None
    themes: Sequence[Themes] = ()
    causes: Causes = field(default_factory=dict)
    baseline: int = 0

    @cached_property
    def written(self) -> list[SystemOutputs]:
        """The outputs and ratings of each system."""
        found = []
        for number, system in enumerate(self.systems):
            title = self.titles[number]
            numbered = f"({number + 1}) {title}" if len(self.systems) > 1 else title
            judged = group_by_example(self.judgements, system, self.runs[number])
            found.append(SystemOutputs(numbered, self.runs[number], judged))
        return found

    @cached_property
    def frame(self) -> pd.DataFrame:
        """All examples with all metrics."""
        made = build_table(self.dataset, self.runs)
        more = []
        for one, scores in zip(self.written, self.scores, strict=True):
            more.append({**scores, **average_ratings(one.judged, len(self.dataset.examples))})
        made = with_scores(made, more)
        return made if self.places is None else made.loc[made.index.isin(self.places)]

    @cached_property
    def measures(self) -> Mapping[str, Measure]:
        """The metrics of the table."""
        return list_measures(self.frame)

    @cached_property
    def leading(self) -> str:
        """The metric that tells good examples from bad ones, "" if there is none."""
        known = [name for name, one in self.measures.items() if one.better]
        for name in (self.measure, DEFAULT_METRIC):
            if name in known:
                return name
        return next(iter(known), "")

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The baseline with each other system, by their numbers."""
        numbers = range(len(self.runs))
        return [(self.baseline, number) for number in numbers if number != self.baseline]

    @property
    def everybody(self) -> str:
        """The word for all systems together: "Both" for two systems, "All" otherwise."""
        return "Both" if len(self.runs) == 2 else "All"

    @cached_property
    def failing(self) -> tuple[tuple[int, ...], float]:
        """The examples where all systems fail, and the limit, see `find_joint_failures`."""
        if len(self.runs) < 2 or not self.leading:
            return (), float("nan")
        return find_joint_failures(self.frame, self.leading, self.measures[self.leading].better)

    @property
    def names(self) -> list[str]:
        """The displayed names of the systems."""
        return [one.title for one in self.written]
