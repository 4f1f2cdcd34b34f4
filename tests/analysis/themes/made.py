"""Made-up sentences with outputs that fail at random, and with planted failures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from areaviz.sets.themes.conditions import Material, Score, Written

WHO = {"man": "Mann", "woman": "Frau", "child": "Kind", "dog": "Hund", "boy": "Junge"}
COLOURS = {"red": "rot", "blue": "blau", "green": "grün", "black": "schwarz"}
WHAT = {"hat": "Hut", "ball": "Ball", "car": "Auto", "book": "Buch", "chair": "Stuhl"}
WHERE = {"park": "Park", "street": "Straße", "house": "Haus", "forest": "Wald", "sea": "Meer"}


def made_material(
    examples: int = 400, damage: Callable[[str, str], str] | None = None, seed: int = 3
) -> Material:
    """Return made-up examples whose outputs lack every eighth word.

    Args:
        examples: number of examples.
        damage: changes the output, given the source and the output; None leaves outputs unchanged.
        seed: seed of the sentences.
    """
    rng = np.random.default_rng(seed)
    sources: list[str] = []
    references: list[tuple[str, ...]] = []
    outputs: list[str] = []
    for number in range(examples):
        source, reference = ["the"], ["der"]
        for words, share in ((COLOURS, 0.5), (WHO, 1), (WHAT, 1), (WHERE, 0.7), (COLOURS, 0.2)):
            if rng.random() < share:
                word = str(rng.choice(list(words)))
                source.append(word)
                reference.append(words[word])
        source.append(f"n{number}")
        output = " ".join(word for word in reference if rng.random() > 0.125)
        sources.append(" ".join(source))
        references.append((" ".join(reference),))
        outputs.append(damage(sources[-1], output) if damage else output)
    written = (Written(tuple(outputs), (made_score(outputs, references),)),)
    places = tuple(range(examples))
    return Material(places, tuple(sources), tuple(references), ("",) * examples, written)


def made_score(outputs: list[str], references: list[tuple[str, ...]]) -> Score:
    """Return the percentage of the reference's words in each output, as a score."""
    values = []
    for output, (reference,) in zip(outputs, references, strict=True):
        wanted = reference.split()
        values.append(100 * sum(word in output.split() for word in wanted) / len(wanted))
    return Score("overlap", np.array(values))


def compared(first: Material, second: Material) -> Material:
    """Return two systems' outputs for the same examples."""
    return replace(first, written=(first.written[0], second.written[0]))


def lose_colours_of_women(source: str, output: str) -> str:
    """Remove all colours if the source contains "woman"."""
    if "woman" not in source.split():
        return output
    return " ".join(word for word in output.split() if word not in COLOURS.values())
