"""Themes as users see them: their details, their sentences, and the search for them.

`Theme` comes first. `find_themes` runs the search, and `find_themes_of_table` runs it on the
table of an analysis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from areaviz.draw.labels import pluralise
from areaviz.samples.dataset import Dataset
from areaviz.sets.table import CIDER, JUDGED, MQM, list_measures
from areaviz.sets.themes.conditions import (
    MEASURE,
    BoolArray,
    Condition,
    FloatArray,
    Material,
    Score,
    Written,
    check_size,
)
from areaviz.sets.themes.search import (
    TREND,
    WORDS,
    IntArray,
    Measurements,
    SliceCandidate,
    Tested,
    TrendCandidate,
    WordCandidate,
    keep_distinct,
    measure_examples,
    prove_slices,
    prove_trends,
    prove_words,
    search_slices,
    search_trends,
    search_words,
    split_halves,
    with_q,
)
from areaviz.sets.themes.symptoms import Symptom

# A theme as users see it, and the list of a system's themes.


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


# Details of a theme: other symptoms, missing words, and words written instead of them.


# Maximum number of named words. Each must occur in at least LEAST examples of the theme. Its share
# of these examples must exceed its share of the other examples by at least MORE_OFTEN.
MAX_NAMED, LEAST, MORE_OFTEN = 3, 3, 0.03
# Maximum number of further symptoms, and the difference in standard deviations that they need.
MAX_FURTHER, LOWER = 2, -0.35


def find_further_symptoms(holds_E: BoolArray, symptoms: Sequence[Symptom], own: int) -> list[str]:
    """Return the titles of other symptoms that are much worse in a slice.

    Args:
        holds_E: whether each example belongs to the slice.
        symptoms: all symptoms.
        own: the number of the symptom of the theme.
    """
    found = []
    for number, symptom in enumerate(symptoms):
        known_E = np.isfinite(symptom.values_E)
        inside = symptom.values_E[known_E & holds_E]
        outside = symptom.values_E[known_E & ~holds_E]
        spread = np.nanstd(symptom.values_E)
        if number == own or min(len(inside), len(outside)) < LEAST or not spread:
            continue
        distance = (inside.mean() - outside.mean()) / spread
        if distance < LOWER:
            found.append((distance, symptom.title))
    return [title for _, title in sorted(found)[:MAX_FURTHER]]


def find_frequent_words(
    holds_E: BoolArray, words_E: Sequence[frozenset[str]], spelling: Mapping[str, str]
) -> str:
    """Return the words that occur in more examples of a slice than elsewhere, "" for none.

    Args:
        holds_E: whether each example belongs to the slice.
        words_E: the words of each example, such as missing words.
        spelling: the usual spelling of words, by their lower case.
    """
    inside: Counter[str] = Counter()
    outside: Counter[str] = Counter()
    for holds, words in zip(holds_E, words_E, strict=True):
        (inside if holds else outside).update(words)
    count, rest = max(1, int(holds_E.sum())), max(1, int((~holds_E).sum()))
    lifts = []
    for word, times in inside.items():
        lift = times / count - outside[word] / rest
        if times >= LEAST and lift > MORE_OFTEN:
            lifts.append((-lift, word))
    named = [word for _, word in sorted(lifts)[:MAX_NAMED]]
    return ", ".join(f"“{spelling.get(word, word)}” ({inside[word]})" for word in named)


# Themes in words: what is worse, where, by how much, how certain, and which words are missing.


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


# The search for themes: measure examples, search each half, test in the other one.


# Largest q value of a theme, and default seed of the split and of random draws.
MAX_Q, SEED = 0.02, 1


def find_themes(material: Material, seed: int = SEED) -> tuple[Themes, ...]:
    """Return the list of themes of one system, or for two systems the list of where each is worse.

    The second system's list comes first, because the second system is usually the new one.

    Args:
        material: the examples with the outputs of one system or two.
        seed: the seed of the halves and the draws. Equal input and seed give equal themes.

    Raises:
        InputError: there are too few or too many examples, or they cannot be split into halves.
    """
    check_size(material)
    halves = split_halves(material, seed)
    found = []
    for worse in reversed(range(len(material.written))):
        other = 1 - worse if len(material.written) > 1 else None
        measured = measure_examples(material, worse, other)
        tests = prove_themes(measured, halves, seed)
        themes = describe_themes(tests, measured, material.places, worse)
        conditions = measured.conditions
        about = len(material), conditions.least, conditions.rare, conditions.rare_words
        found.append(Themes(worse, other, themes, *about))
    return tuple(found)


def prove_themes(
    measured: Measurements, halves: tuple[IntArray, IntArray], seed: int, max_q: float = MAX_Q
) -> list[Tested]:
    """Search in each half, test in the other half, and drop redundant themes.

    Args:
        measured: the measurements of the examples.
        halves: the rows of both halves.
        seed: the seed of random draws.
        max_q: the largest false discovery rate.
    """
    rng = np.random.default_rng(seed)
    proved: list[Tested] = []
    for search_in, prove_in in (halves, halves[::-1]):
        tests = with_q(_test_suggestions(measured, search_in, prove_in, rng))
        proved += [one for one in tests if one.q <= max_q and _is_failure(one, measured)]
    return keep_distinct(proved, measured.symptoms)


def _is_failure(test: Tested, measured: Measurements) -> bool:
    """Return whether the system itself is worse, not only less good than in other examples."""
    return not measured.is_compared or test.family == WORDS or test.inside < 0


def _test_suggestions(
    measured: Measurements, search_in: IntArray, prove_in: IntArray, rng: np.random.Generator
) -> list[Tested]:
    """Return the suggestions of one half, tested in the other half."""
    conditions, symptoms = measured.conditions, measured.symptoms
    measured_C = np.array([one.kind == MEASURE for one in conditions.known], bool)
    slices = search_slices(conditions.holds_EC, measured_C, symptoms, search_in)
    words = search_words(measured.rates, search_in)
    trends = search_trends(measured.quantities, symptoms, search_in)
    return [
        *prove_slices(slices, conditions.holds_EC, symptoms, prove_in, rng),
        *prove_words(words, measured.rates, prove_in, rng),
        *prove_trends(trends, measured.quantities, symptoms, prove_in),
    ]


# Conversion of an analysis' table to the material in which themes are searched.


# Metrics that a model computes without the right answer. They show when it fails, but not how.
OF_THE_MODEL = (
    *("confidence", "coverage_deviation", "absentmindedness", "source_absentmindedness"),
    *("entropy", "area_size", "dependence", "dependence_share", "purity"),
)
# Metrics that repeat chrF or the symptoms of length, and metrics of the quality of attention.
LEFT_OUT_METRICS = (
    *("bleu", "rouge_l", CIDER, "length", "length_ratio"),
    *("pointing", "alignment_error", "facts_read"),
)
# Metrics from raters are used if at least this share of the examples is rated. A few ratings say
# nothing about kinds of examples.
RATERS, RATED = (MQM, JUDGED), 0.5
# Names of metadata columns that contain the document of an example.
DOCUMENT_COLUMNS = ("document", "doc", "doc_id", "docid", "document_id")


def find_themes_of_table(dataset: Dataset, frame: pd.DataFrame, systems: int) -> tuple[Themes, ...]:
    """Return the themes of two compared systems, or of each system if there are not exactly two.

    Args:
        dataset: the dataset.
        frame: the table of its analysis.
        systems: the number of systems in the table.

    Raises:
        InputError: there are too few or too many examples, or they cannot be split into halves.
    """
    if systems == 2:
        return find_themes(collect_material(dataset, frame, (0, 1)))
    found = []
    for system in range(systems):
        (themes,) = find_themes(collect_material(dataset, frame, (system,)))
        found.append(replace(themes, worse=system))
    return tuple(found)


def collect_material(dataset: Dataset, frame: pd.DataFrame, systems: Sequence[int]) -> Material:
    """Return the material of one system, or of two systems to compare.

    Examples that a system could not run are left out.

    Args:
        dataset: the dataset.
        frame: the table of its analysis, as `build_table` and `with_scores` return it.
        systems: the numbers of the systems in the table, from 0.
    """
    was_run = pd.Series(True, frame.index)
    for system in systems:
        was_run &= frame[f"error_{system}"] == ""
    frame = frame[was_run]
    places = tuple(int(place) for place in frame.index)
    examples = [dataset.examples[place] for place in places]
    metadata = {
        name: tuple(values[place] for place in places) for name, values in dataset.metadata.items()
    }
    documents = next((name for name in metadata if name.lower() in DOCUMENT_COLUMNS), "")
    return Material(
        places,
        tuple(one.text for one in examples),
        tuple(one.references for one in examples),
        tuple(one.file for one in examples),
        tuple(_collect_outputs(frame, system) for system in systems),
        {name: cells for name, cells in metadata.items() if name != documents},
        metadata.get(documents, ()),
    )


def _collect_outputs(frame: pd.DataFrame, system: int) -> Written:
    """Return the outputs of one system, their scores and the metrics of the model."""
    scores = []
    measures: Mapping[str, FloatArray] = {}
    for name, measure in list_measures(frame).items():
        values = frame[f"{name}_{system}"].to_numpy(float)
        if name in RATERS and np.isfinite(values).mean() < RATED:
            continue
        if name in OF_THE_MODEL:
            measures = {**measures, measure.title: values}
        elif measure.better and name not in LEFT_OUT_METRICS:
            scores.append(Score(measure.title, values, measure.better))
    return Written(tuple(frame[f"output_{system}"]), tuple(scores), measures)


# The titles and notes of lists of themes for pages, the command line and reports.


METHOD = (
    "Each theme was searched for in one half of the examples and confirmed in the other half, at a"
    " false discovery rate (q) of at most 2 %. Found means that the output has the word of the"
    " reference. Another word can be right, too."
)
NO_THEMES = "No theme was found: nothing is both large and certain enough."
# Maximum number of conditions to name as too rare.
MAX_RARE = 8


@dataclass(frozen=True, slots=True)
class Part:
    """A group of themes under a title."""

    title: str
    themes: tuple[Theme, ...]


def split_parts(themes: Themes) -> tuple[Part, ...]:
    """Split themes into those about the input and those about the model's confidence and attention.

    Confidence and attention show when outputs are worse but not what is wrong with the input, so
    their themes are separate. A part without themes is left out.
    """
    kinds = tuple(one for one in themes.found if not one.is_about_model)
    moments = tuple(one for one in themes.found if one.is_about_model)
    parts = (Part("By input", kinds), Part("By confidence and attention", moments))
    return tuple(part for part in parts if part.themes)


def list_title(themes: Themes, systems: int) -> str:
    """Return the title of a list in an analysis with this number of systems."""
    count = pluralise(len(themes.found), "theme")
    if themes.better is not None:
        return f"{count} where ({themes.worse + 1}) is worse than ({themes.better + 1})"
    return f"{count} of failure of ({themes.worse + 1})" if systems > 1 else f"{count} of failure"


def describe_rare_conditions(lists: Sequence[Themes]) -> str:
    """Return a sentence about conditions that were too rare to be tested, "" if there are none."""
    one = lists[0]
    named = sorted(one.rare.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{text} ({count})" for text, count in named[:MAX_RARE]]
    if len(named) > MAX_RARE:
        parts.append(pluralise(len(named) - MAX_RARE, "further condition"))
    if one.rare_words:
        parts.append(f"{one.rare_words:,} words and word pairs")
    if not parts:
        return ""
    return f"Too rare to test, in fewer than {one.least} examples: {'; '.join(parts)}."
