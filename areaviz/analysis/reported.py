"""What a report of an analysis is of: a set, one or two systems, and what raters say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from areaviz.analysis.buckets import Frequency
from areaviz.analysis.contrast import both_fail
from areaviz.analysis.judged import judged_scores, of_outputs
from areaviz.analysis.measure import Measure
from areaviz.analysis.row_lines import Row
from areaviz.analysis.table import measures_of, table_of, with_scores
from areaviz.analysis.themes.causes_of_lists import Causes
from areaviz.analysis.themes.theme import Themes
from areaviz.data.examples import Dataset
from areaviz.notes.error_spans import Judgement

MAX_SYSTEMS = 2
# The measure by which examples are good or bad where there are references.
USUAL = "chrf"


@dataclass(frozen=True, slots=True)
class Written:
    """What one system wrote for a set, and what raters say of it."""

    # For people: with a number where there are several systems.
    title: str
    rows: Mapping[int, Row]
    judged: Mapping[int, Sequence[Judgement]]


@dataclass(frozen=True)
class Report:
    """What is reported.

    Args:
        dataset: the set.
        systems: what judgements call the systems.
        titles: what people call them.
        runs: their rows.
        scores: of each system, more measures by name (`with_scores`).
        judgements: on the set.
        places: of the examples that are reported, None for all.
        measure: by which examples are good or bad, "" for chrF.
        corpus: whose word frequencies count, None for the references'.
        themes: of failure, () where they were not looked for.
        causes: what was found about themes in the attention of models.
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

    @cached_property
    def written(self) -> list[Written]:
        """What each system wrote."""
        found = []
        for number, system in enumerate(self.systems):
            title = self.titles[number]
            numbered = f"({number + 1}) {title}" if len(self.systems) > 1 else title
            judged = of_outputs(self.judgements, system, self.runs[number])
            found.append(Written(numbered, self.runs[number], judged))
        return found

    @cached_property
    def frame(self) -> pd.DataFrame:
        """All examples with all measures."""
        made = table_of(self.dataset, self.runs)
        more = []
        for one, scores in zip(self.written, self.scores, strict=True):
            more.append({**scores, **judged_scores(one.judged, len(self.dataset.examples))})
        made = with_scores(made, more)
        return made if self.places is None else made.loc[made.index.isin(self.places)]

    @cached_property
    def measures(self) -> Mapping[str, Measure]:
        """The measures of the table."""
        return measures_of(self.frame)

    @cached_property
    def leading(self) -> str:
        """The measure by which examples are good or bad, "" for none."""
        known = [name for name, one in self.measures.items() if one.better]
        for name in (self.measure, USUAL):
            if name in known:
                return name
        return next(iter(known), "")

    @cached_property
    def failing(self) -> tuple[tuple[int, ...], float]:
        """The examples where both of two systems fail, and the limit; see `both_fail`."""
        if len(self.runs) != MAX_SYSTEMS or not self.leading:
            return (), float("nan")
        return both_fail(self.frame, self.leading, self.measures[self.leading].better)

    @property
    def names(self) -> list[str]:
        """What the systems are called, for people."""
        return [one.title for one in self.written]
