"""Themes in words: what is worse, where, by how much, how certain, and which words are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from areaviz.analysis.themes.conditions import MEASURE, Condition
from areaviz.analysis.themes.details import find_frequent_words, find_further_symptoms
from areaviz.analysis.themes.material import BoolArray
from areaviz.analysis.themes.measurements import Measurements
from areaviz.analysis.themes.proof import TREND, Tested
from areaviz.analysis.themes.search import SliceCandidate, TrendCandidate, WordCandidate
from areaviz.analysis.themes.symptoms import Symptom
from areaviz.analysis.themes.theme import Theme
from areaviz.draw.labels import pluralise


def describe_themes(
    tests: Sequence[Tested], measured: Measurements, places: Sequence[int], worse: int
) -> tuple[Theme, ...]:
    """Return themes in words. Themes with the most lost points over all their examples come first.

    Args:
        tests: the proved themes.
        measured: the measurements of the examples.
        places: the indices of the examples in their dataset.
        worse: the number of the worse system.
    """
    writer = _Writer(measured, places, worse)
    themes = [writer.describe(one) for one in tests]

    def count_lost_points(theme: Theme) -> float:
        # A trend has no examples of its own. It is counted for the fifth at its worse end.
        return theme.effect * (len(theme.places) or len(places) / 5)

    return tuple(sorted(themes, key=lambda theme: (count_lost_points(theme), theme.statement)))


def join_conditions(texts: Sequence[str]) -> str:
    """Return conditions joined by "and". A common beginning is written once."""
    first, *rest = texts
    for start in ("the source has ", "the reference has "):
        if first.startswith(start):
            rest = [text.removeprefix(start) for text in rest]
    return " and ".join([first, *rest])


def format_signed(value: float) -> str:
    """Return a number of points with its sign. "−" marks a loss."""
    rounded = round(value)
    return f"{rounded:+d}".replace("-", "−") if rounded else "0"


def format_per_cent(share: float) -> str:
    """Return a share as "70 %"."""
    return f"{100 * share:.0f} %"


def _format_value(symptom: Symptom, value: float) -> str:
    """Return a value of a symptom as text, with the sign that users expect."""
    said = symptom.sign * value
    return format_per_cent(said) if symptom.is_share else f"{said:.3g}"


def _describe_change(symptom: Symptom, change: float) -> str:
    """Return a verb phrase for the change of a symptom from the better system to the worse one."""
    said = symptom.sign * change
    size = f"{abs(said):.3g}"
    if symptom.is_share:
        size = pluralise(round(symptom.points * abs(said)), "point")
    is_nothing = size.startswith("0 ") or abs(said) < 1e-9
    return "does not change" if is_nothing else f"{'rises' if said > 0 else 'falls'} by {size}"


@dataclass(frozen=True)
class _Writer:
    """Puts themes into words.

    Attributes:
        measured: the measurements of the examples.
        places: the indices of the examples in their dataset.
        worse: the number of the worse system.
    """

    measured: Measurements
    places: Sequence[int]
    worse: int

    @property
    def names(self) -> tuple[str, str]:
        """The names of the worse and the better of two compared systems."""
        return f"({self.worse + 1})", f"({2 - self.worse})"

    def describe(self, test: Tested) -> Theme:
        """Return a tested theme in words."""
        candidate = test.candidate
        if isinstance(candidate, SliceCandidate):
            return self._describe_slice(test, candidate)
        if isinstance(candidate, WordCandidate):
            return self._describe_words(test, candidate)
        return self._describe_trend(test, candidate)

    def _describe_slice(self, test: Tested, candidate: SliceCandidate) -> Theme:
        conditions = tuple(self.measured.conditions.known[column] for column in candidate.columns)
        symptom = self.measured.symptoms[candidate.symptom]
        where = join_conditions([one.text for one in conditions])
        if self.measured.is_compared:
            worse, better = self.names
            here, elsewhere = (
                _describe_change(symptom, test.inside),
                _describe_change(symptom, test.outside),
            )
            statement = (
                f"Where {where}, “{symptom.title}” {here} from {better} to {worse}. Elsewhere it"
                f" {elsewhere}"
            )
        else:
            inside, outside = (
                _format_value(symptom, test.inside),
                _format_value(symptom, test.outside),
            )
            statement = f"Where {where}, {symptom.phrase.format(inside)}, elsewhere {outside}"
        is_about_model = any(one.kind == MEASURE for one in conditions)
        about = (
            test.holds_E,
            conditions,
            symptom.title,
            is_about_model,
            self._describe_details(test, candidate),
        )
        return self._make_theme(test, where, statement, symptom.points, about)

    def _describe_words(self, test: Tested, candidate: WordCandidate) -> Theme:
        inside, outside = format_per_cent(test.inside), format_per_cent(test.outside)
        if self.measured.is_compared:
            worse, better = self.names
            statement = (
                f"{worse} finds {inside} of the references' {candidate.title}, {better} finds"
                f" {outside}"
            )
        else:
            statement = (
                f"{inside} of the references' {candidate.title} are found, against {outside} of"
                " equally frequent words"
            )
        details = self._describe_words_written_instead(test.holds_E)
        where = f"the reference has {candidate.title}"
        about = (test.holds_E, (), "", False, details)
        return self._make_theme(test, where, statement, 100, about)

    def _describe_trend(self, test: Tested, candidate: TrendCandidate) -> Theme:
        quantity, symptom = (
            self.measured.quantities[candidate.quantity],
            self.measured.symptoms[candidate.symptom],
        )
        is_high_worse = candidate.sign < 0
        start = quantity.more if is_high_worse else quantity.less
        worst, best = (quantity.high, quantity.low)[:: 1 if is_high_worse else -1]
        if self.measured.is_compared:
            names = " is compared with ".join(self.names)
            at_worst, at_best = (
                _describe_change(symptom, test.inside),
                _describe_change(symptom, test.outside),
            )
            statement = (
                f"{start}, the worse {names}: “{symptom.title}” {at_worst} in {worst} and"
                f" {at_best} in {best}"
            )
        else:
            inside, outside = (
                _format_value(symptom, test.inside),
                _format_value(symptom, test.outside),
            )
            worse = f"the worse: {symptom.phrase.format(inside)} in {worst}, {outside} in {best}"
            statement = f"{start}, {worse}"
        about = (np.zeros(len(test.holds_E), bool), (), symptom.title, False, "")
        return self._make_theme(test, start, statement, symptom.points, about)

    def _make_theme(
        self,
        test: Tested,
        title: str,
        statement: str,
        points: float,
        about: tuple[BoolArray, tuple[Condition, ...], str, bool, str],
    ) -> Theme:
        """Return a theme.

        Args:
            test: the test that proved it.
            title: the common property of its examples.
            statement: a sentence that says what is worse.
            points: the factor that converts an effect to points.
            about: its examples, its conditions, its symptom, whether a condition is a metric of the
                model, and details.
        """
        holds_E, conditions, symptom, is_about_model, details = about
        rows = np.flatnonzero(holds_E)
        places = tuple(self.places[row] for row in rows.tolist())
        proof = self._describe_proof(test, points, len(places))
        return Theme(
            title,
            statement,
            proof,
            details,
            places,
            is_about_model,
            conditions,
            symptom,
            test.q,
            points * test.effect,
            test.halves,
        )

    def _describe_proof(self, test: Tested, points: float, count: int) -> str:
        parts = []
        if test.family != TREND:
            parts.append(pluralise(count, "example"))
            low, high = format_signed(points * test.low), format_signed(points * test.high)
            parts.append(f"held out {low} to {high} points")
        halves = "both halves" if test.halves == 2 else "one half"
        q = "q < 0.001" if test.q < 0.001 else f"q = {test.q:.3f}"
        return ", ".join([*parts, q, halves])

    def _describe_details(self, test: Tested, candidate: SliceCandidate) -> str:
        further = find_further_symptoms(test.holds_E, self.measured.symptoms, candidate.symptom)
        missing = find_frequent_words(test.holds_E, self._missing, self.measured.spelling)
        parts = [f"Also worse: {', '.join(further)}."] if further else []
        parts += [f"Missing: {missing}."] if missing else []
        return " ".join(filter(None, (*parts, self._describe_words_written_instead(test.holds_E))))

    def _describe_words_written_instead(self, holds_E: BoolArray) -> str:
        instead = find_frequent_words(holds_E, self._surplus, self.measured.spelling)
        return f"Written instead: {instead}." if instead else ""

    @cached_property
    def _missing(self) -> list[frozenset[str]]:
        return [pair.missing for pair in self.measured.pairs]

    @cached_property
    def _surplus(self) -> list[frozenset[str]]:
        return [pair.surplus if pair.reference else frozenset() for pair in self.measured.pairs]
