"""A theme as users see it, and a list of themes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from areaviz.analysis.themes.conditions import Condition


@dataclass(frozen=True, slots=True)
class Theme:
    """One theme.

    Attributes:
        title: what its examples have in common, for the table of examples and a slice.
        statement: what is worse there, one sentence.
        proof: how many examples there are and how certain it is.
        details: missing words and further symptoms, "" for none.
        places: of its examples in the set, () of a trend.
        is_about_model: whether its condition is a measure of attention or confidence.
        conditions: what makes the slice, () of words and trends.
        symptom: the title of what is worse, "" of words.
        q: the false discovery rate at which it is found.
        effect: points that are lost, of 100, below 0.
        halves: in how many halves it was found.
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
        """All of it as text."""
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
