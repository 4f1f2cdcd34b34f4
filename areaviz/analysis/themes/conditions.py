"""Conditions, which are properties of examples that are known without the output.

Words of the output are not conditions. A wrong word in the output would otherwise explain itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pandas as pd

from areaviz.analysis.themes.material import BoolArray, FloatArray, Material
from areaviz.analysis.themes.text_conditions import iterate_text_conditions
from areaviz.analysis.themes.words import find_usual_spelling, lower_words

SOURCE, REFERENCE, MEASURE, METADATA = "source", "reference", "measure", "metadata"
# A condition needs this number of examples and this share of them. It may hold for at most MOST of
# the examples.
MIN_EXAMPLES, MIN_SHARE, MAX_SHARE = 16, 0.01, 0.6
# Maximum number of frequent words and of word pairs, because large vocabularies take minutes.
MAX_WORDS = 3000
# A numeric column with more distinct values than this is cut at its fifths.
MAX_VALUES = 8
# Share of a column's cells that must be numbers for the column to count as numeric.
NUMERIC = 0.95
# Largest number of values named as too rare.
MAX_NAMED = 8


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition.

    Attributes:
        text: the condition as it follows "Where".
        kind: SOURCE, REFERENCE, MEASURE or METADATA.
        words: the words of the source that make it true, () if it is not about single words.
    """

    text: str
    kind: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Conditions:
    """All conditions of a dataset.

    Attributes:
        known: the conditions that can be tested.
        holds_EC: whether each condition is true for each example.
        rare: conditions that are true for too few examples, with their number of examples.
        rare_words: the number of words and word pairs that are too rare.
        least: the number of examples that a condition needs.
    """

    known: tuple[Condition, ...]
    holds_EC: BoolArray
    rare: Mapping[str, int]
    rare_words: int
    least: int


@dataclass
class _Collector:
    """Collects conditions, and the names of those that are too rare."""

    examples: int
    least: int
    known: list[Condition] = field(default_factory=list)
    columns: list[BoolArray] = field(default_factory=list)
    rare: dict[str, int] = field(default_factory=dict)
    rare_words: int = 0

    def add(self, condition: Condition, holds_E: Iterable[bool], is_named: bool = False) -> None:
        """Add a condition.

        If it is too rare, record its name if `is_named`, and drop it otherwise.
        """
        column_E = np.fromiter(holds_E, bool, self.examples)
        count = int(column_E.sum())
        if count >= self.least and count <= min(
            self.examples - self.least, MAX_SHARE * self.examples
        ):
            self.known.append(condition)
            self.columns.append(column_E)
        elif is_named and 0 < count < self.least:
            self.rare[condition.text] = count

    def add_words(self, side: str, texts: Sequence[str], has_pairs: bool) -> None:
        """Add a condition for every word of a side and, with `has_pairs`, every word pair."""
        spelling = find_usual_spelling(texts)
        where: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, words in enumerate(map(lower_words, texts)):
            units: set[tuple[str, ...]] = {(word,) for word in words}
            if has_pairs:
                units.update(pairwise(words))
            for unit in units:
                where[unit].append(place)
        frequent = [unit for unit, places in where.items() if len(places) >= self.least]
        self.rare_words += len(where) - len(frequent)
        frequent.sort(key=lambda unit: (-len(where[unit]), unit))
        for unit in frequent[:MAX_WORDS]:
            holds_E = np.zeros(self.examples, bool)
            holds_E[where[unit]] = True
            spelled = " ".join(spelling.get(word, word) for word in unit)
            text = f"the {side} has “{spelled}”"
            self.add(Condition(text, side, unit if side == SOURCE else ()), holds_E)


def find_least_examples(count: int) -> int:
    """Return the minimum number of examples of a condition in a dataset of `count` examples."""
    return max(MIN_EXAMPLES, int(count * MIN_SHARE))


def find_conditions(material: Material, system: int) -> Conditions:
    """Return all conditions of a dataset.

    Args:
        material: the examples.
        system: the system whose confidence and attention become conditions.
    """
    collector = _Collector(len(material), find_least_examples(len(material)))
    has_one_reference = material.has_one_reference()
    references = [texts[0] if texts else "" for texts in material.references]
    if material.has_sources():
        _add_texts(collector, SOURCE, material.sources)
    elif has_one_reference:
        _add_texts(collector, REFERENCE, references)
    if material.has_sources() and has_one_reference:
        # The length and form of a reference are close to those of the source, so only its words are
        # used.
        collector.add_words(REFERENCE, references, has_pairs=False)
    for title, values_E in material.written[system].measures.items():
        _add_measure(collector, title, values_E)
    for name, cells in material.metadata.items():
        _add_column(collector, name, cells)
    return _without_doubles(collector)


def _add_texts(collector: _Collector, side: str, texts: Sequence[str]) -> None:
    words_E = list(map(lower_words, texts))
    collector.add_words(side, texts, has_pairs=True)
    for text, words, holds_E, is_named in iterate_text_conditions(side, texts, words_E):
        collector.add(Condition(text, side, words if side == SOURCE else ()), holds_E, is_named)


def _add_measure(collector: _Collector, title: str, values_E: FloatArray) -> None:
    """Add conditions for the lowest and highest tenth and fifth of a metric.

    The metric needs a value for nearly all examples.
    """
    known = np.isfinite(values_E)
    if known.mean() < 0.9 or np.ptp(values_E[known]) == 0:
        return
    name = title[:1].lower() + title[1:] if title[1:2].islower() else title
    for share, part in ((0.1, "tenth"), (0.2, "fifth")):
        low, high = np.quantile(values_E[known], [share, 1 - share])
        collector.add(Condition(f"{name} is in its lowest {part}", MEASURE), values_E <= low)
        collector.add(Condition(f"{name} is in its highest {part}", MEASURE), values_E > high)


def _add_column(collector: _Collector, name: str, cells: Sequence[str]) -> None:
    """Add conditions for the values of a metadata column, or for the extremes of its numbers."""
    numbers_E = parse_column_numbers(cells)
    if numbers_E is not None and len(np.unique(numbers_E[np.isfinite(numbers_E)])) > MAX_VALUES:
        low, high = np.nanquantile(numbers_E, [0.2, 0.8])
        collector.add(Condition(f"{name} is at most {low:.3g}", METADATA), numbers_E <= low)
        collector.add(Condition(f"{name} is more than {high:.3g}", METADATA), numbers_E > high)
        return
    counts = Counter(cell for cell in cells if cell)
    # A column of names has a different value for nearly every example, so it gives no condition.
    is_named = len(counts) <= len(cells) // 4
    for value, _ in counts.most_common(MAX_WORDS):
        condition = Condition(f"{name} is {value}", METADATA)
        collector.add(condition, (cell == value for cell in cells), is_named)


def parse_column_numbers(cells: Sequence[str]) -> FloatArray | None:
    """Return the numbers of a column [E], NaN for other cells, or None if most are not numbers."""
    # A number such as 1e400 becomes infinite when it is parsed.
    numbers_E = pd.to_numeric(pd.Series(list(cells), dtype=object), errors="coerce").to_numpy(float)
    numbers_E = np.where(np.isfinite(numbers_E), numbers_E, np.nan)
    return numbers_E if np.isfinite(numbers_E).mean() > NUMERIC else None


def _without_doubles(collector: _Collector) -> Conditions:
    """Return one condition for each distinct set of examples, the one with the shortest text."""
    first: dict[bytes, int] = {}
    lengths = [len(one.text) for one in collector.known]
    for number in np.argsort(lengths, kind="stable"):
        first.setdefault(np.packbits(collector.columns[number]).tobytes(), int(number))
    kept = sorted(first.values())
    known = tuple(collector.known[number] for number in kept)
    holds_EC = np.zeros((collector.examples, len(kept)), bool)
    for column, number in enumerate(kept):
        holds_EC[:, column] = collector.columns[number]
    return Conditions(known, holds_EC, collector.rare, collector.rare_words, collector.least)
