"""Test whether themes find planted failures, and find nothing in shuffled data.

    python -m benchmarks.themes FOLDER [--write]

FOLDER has Multi30k's `val.en`, `val.de` and `test_2016_flickr.de`, one sentence per line. The
benchmark draws scenes into it, and `areaviz analyse` fills its tables, which takes minutes. A
failure counts as found if a theme has a Jaccard index of at least 0.5 with the damaged examples or
with those it was planted in. Shuffles move scores to other examples, so every theme in them is
false.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from areaviz.sets.themes.conditions import BoolArray, Material
from areaviz.sets.themes.search import (
    Measurements,
    compute_jaccard_index,
    measure_examples,
    split_halves,
)
from areaviz.sets.themes.symptoms import Rate, compute_word_rates
from areaviz.sets.themes.themes import find_themes, prove_themes
from benchmarks.report import command, markdown, processor, publish
from benchmarks.theme_material import captions, prepare, score, translations
from benchmarks.theme_plants import Plant, scene_plants, translation_plants

SHUFFLES = 40
# Smallest Jaccard index for a planted failure to count as found.
FOUND = 0.5


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of searching for a planted failure.

    Attributes:
        best: Largest Jaccard index of a theme with the planted or the damaged examples.
        sentence: Sentence of that theme.
        themes: Number of themes.
    """

    best: float
    sentence: str
    themes: int


def main() -> None:
    """Run the trial on the material in a folder and print its tables."""
    parser = command("Test whether themes find planted failures, and nothing in shuffled data.")
    parser.add_argument("folder", type=Path, help="has val.en, val.de and test_2016_flickr.de")
    given = parser.parse_args()
    prepare(given.folder)
    rng = np.random.default_rng(7)
    texts, scenes = translations(given.folder, rng), captions(given.folder)
    coverage_E = texts.written[0].measures["coverage_deviation"]
    other = (given.folder / "test_2016_flickr.de").read_text("utf-8")
    words = sorted(set(re.findall(r"[^\W\d_]+", other)))
    plants = translation_plants(texts.sources, texts.metadata, coverage_E, words, rng)
    began = time.process_time()
    rows = [_trial(texts, plant) for plant in plants]
    rows += [_trial(scenes, plant) for plant in scene_plants(scenes.metadata)]
    # Each row takes three searches: one alone, and two for a pair of systems.
    seconds = (time.process_time() - began) / (3 * len(rows))
    found = [sum(row[column].startswith("yes") for row in rows) for column in (2, 3)]
    about = (
        f"Measured on {processor()}; a list of themes of 1,000 examples took {seconds:.1f} s of CPU"
        f" time. Found: {found[0]} of {len(rows)} alone, {found[1]} paired."
    )
    planted = markdown(about, ("planted", "damaged", "alone", "paired"), rows)
    shuffled = (
        ("translations, alone", quiet_shuffles(texts, (0,))),
        ("translations, paired", quiet_shuffles(texts, (1, 0))),
        ("captions, alone", quiet_shuffles(scenes, (0,))),
    )
    cells = [(name, f"{count} of {SHUFFLES}") for name, count in shuffled]
    quiet = markdown("", ("shuffled", "without any theme"), cells)
    publish("themes", f"{planted}\n{quiet}", given.write)


def _trial(material: Material, plant: Plant) -> tuple[str, str, str, str]:
    """Plant a failure and return its row: the result alone, and against the second system."""
    damaged, changed_E = damage_outputs(material, plant)
    alone = replace(damaged, written=damaged.written[:1])
    # The damaged system comes second, where an analysis expects the newer system.
    paired = replace(damaged, written=damaged.written[::-1])
    verdicts = [judge(one, plant.holds_E, changed_E) for one in (alone, paired)]
    for verdict in verdicts:
        print(f"{plant.name}: {verdict.best:.2f}, {verdict.sentence[:150]}", file=sys.stderr)
    texts = [f"{'yes' if one.best >= FOUND else 'no'}, {one.best:.2f}" for one in verdicts]
    return plant.name, f"{int(changed_E.sum()):,}", texts[0], texts[1]


def damage_outputs(material: Material, plant: Plant) -> tuple[Material, BoolArray]:
    """Return the material with the first system's outputs damaged, and which ones changed."""
    first, *others = material.written
    outputs = []
    for output, holds in zip(first.outputs, plant.holds_E, strict=True):
        outputs.append(plant.damage(output) if holds else output)
    is_changed = [one != other for one, other in zip(outputs, first.outputs, strict=True)]
    scores = (score(first.scores[0].title, outputs, material.references),)
    damaged = replace(first, outputs=tuple(outputs), scores=scores)
    return replace(material, written=(damaged, *others)), np.array(is_changed)


def judge(material: Material, *planted: BoolArray) -> Verdict:
    """Return how well the last system's themes match the examples with the planted failure."""
    themes = find_themes(material)[0].found
    best = Verdict(0.0, "", len(themes))
    for theme in themes:
        holds_E = np.isin(material.places, theme.places)
        likeness = max(compute_jaccard_index(holds_E, one_E) for one_E in planted)
        if likeness > best.best:
            best = Verdict(likeness, theme.sentence, len(themes))
    return best


def quiet_shuffles(material: Material, systems: Sequence[int]) -> int:
    """Return the number of shuffles without any theme."""
    chosen = replace(material, written=tuple(material.written[one] for one in systems))
    other = 0 if len(systems) > 1 else None
    measured = measure_examples(chosen, len(systems) - 1, other)
    found = []
    for number in range(SHUFFLES):
        shuffled = shuffle_measurements(measured, np.random.default_rng(100 + number))
        found.append(len(prove_themes(shuffled, split_halves(chosen, number), number)))
    print(f"themes in shuffles: {found}", file=sys.stderr)
    return found.count(0)


def shuffle_measurements(measured: Measurements, rng: np.random.Generator) -> Measurements:
    """Return measurements in which every relation is broken.

    Symptoms move to other examples. For two systems, the outcomes of words are exchanged at random.
    For one system, each found word is exchanged with a word of similar frequency.
    """
    order = rng.permutation(len(measured.pairs))
    symptoms = tuple(replace(one, values_E=one.values_E[order]) for one in measured.symptoms)
    rates: Mapping[str, Rate]
    if measured.is_compared:
        flips_E = rng.random(len(order)) < 0.5
        rates = {
            title: Rate(
                np.where(flips_E, one.expected_E, one.found_E),
                np.where(flips_E, one.found_E, one.expected_E),
            )
            for title, one in measured.rates.items()
        }
    else:
        rates = _shuffled_rates(measured, rng)
    return replace(measured, symptoms=symptoms, rates=rates)


def _shuffled_rates(measured: Measurements, rng: np.random.Generator) -> Mapping[str, Rate]:
    """Return word rates in which found words are exchanged with words of similar frequency."""
    frequency = Counter(word for pair in measured.pairs for word in set(pair.reference))
    pools: dict[int, list[bool]] = defaultdict(list)
    for pair in measured.pairs:
        for one in pair.matched:
            pools[frequency[one.word].bit_length()].append(one.is_found)
    for pool in pools.values():
        rng.shuffle(pool)
    rows = []
    for pair in measured.pairs:
        row = []
        for one in pair.matched:
            is_found = pools[frequency[one.word].bit_length()].pop()
            row.append(replace(one, is_found=is_found))
        rows.append(row)
    return compute_word_rates(rows, measured.conditions.least, measured.spelling)


if __name__ == "__main__":
    main()
