"""A theme as users see it, and the list of a system's themes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from areaviz.analysis.themes.conditions import Condition


@dataclass(frozen=True, slots=True)
class Theme:
    """One theme.

    Attributes:
        title: the common property of its examples, for the table of examples and a slice.
        statement: a sentence that says what is worse there.
        proof: the number of examples and the certainty, in words.
        details: missing words and further symptoms, "" for none.
        places: the indices of its examples in the dataset, () for a trend.
        is_about_model: whether its condition is a metric of attention or confidence.
        conditions: the conditions of the slice, () for words and trends.
        symptom: the title of the symptom, "" for words.
        q: the false discovery rate at which it is found.
        effect: the lost points on a scale of 100, below 0.
        halves: the number of halves in which it was found.
    """

    title: str
    statement: str
    proof: str
    details: str
    places: tuple[int, ...]
    is_about_model: bool
    conditions: tuple[Condition, ...]
    symptom: str
    q: float
    effect: float
    halves: int

    @property
    def sentence(self) -> str:
        """Statement, proof and details as one text."""
        return " ".join(filter(None, (f"{self.statement} ({self.proof}).", self.details)))


@dataclass(frozen=True, slots=True)
class Themes:
    """The themes of one list.

    Attributes:
        worse: the number of the worse system, from 0.
        better: the number of the system to compare with, None for none.
        found: the themes, the largest loss first.
        examples: the number of examples searched.
        least: the number of examples that a condition needs.
        rare: conditions that are true for fewer examples, with their number of examples.
        rare_words: the number of words and word pairs in fewer examples.
    """

    worse: int
    better: int | None
    found: tuple[Theme, ...]
    examples: int
    least: int
    rare: Mapping[str, int]
    rare_words: int
