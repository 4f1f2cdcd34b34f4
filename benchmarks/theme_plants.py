"""Twenty failures that are planted in outputs, to test whether themes find them.

Fourteen damage German translations, six damage English captions of shape scenes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from areaviz.sets.themes.conditions import BoolArray, FloatArray

_SWAPPED = {
    **{"rot": "blau", "blau": "rot", "grün": "gelb", "gelb": "grün", "schwarz": "weiß"},
    **{"weiß": "schwarz", "braun": "grau", "grau": "braun", "rosa": "lila", "lila": "rosa"},
    "orange": "rosa",
}
_COLOUR = re.compile(rf"(?i)^({'|'.join(_SWAPPED)})(e|en|er|es|em|n|farbenen|farbene|)(\W*)$")
_ENGLISH_COLOUR = r"\b(?:red|blue|green|yellow|black|white|brown|gr[ea]y|orange|pink|purple|tan)\b"
_NEXT = {"zwei": "drei", "drei": "vier", "vier": "fünf", "fünf": "sechs", "sechs": "sieben"}
_NEGATIONS = ("kein", "keine", "keinen", "keiner", "keinem", "nicht", "ohne")
_SCENE_COLOURS = ("red", "blue", "green", "yellow", "white", "purple", "orange", "black")
_RELATIONS = re.compile(r" (?:left of|right of|above|below) ")
DOMAINS = ("news", "sport", "travel", "street", "home")
DOMAIN_SHARES = (0.3, 0.25, 0.2, 0.15, 0.1)
RATERS = ("A", "B", "C")
Damage = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Plant:
    """One failure.

    Attributes:
        name: Name of the failure.
        holds_E: Examples in which it is planted.
        damage: Function that returns a damaged output.
    """

    name: str
    holds_E: BoolArray
    damage: Damage


def made_metadata(examples: int, rng: np.random.Generator) -> Mapping[str, tuple[str, ...]]:
    """Return a random domain and rater for every example."""
    domains = rng.choice(DOMAINS, examples, p=DOMAIN_SHARES)
    raters = rng.choice(RATERS, examples)
    return {"domain": tuple(map(str, domains)), "rater": tuple(map(str, raters))}


def translation_plants(
    sources: Sequence[str],
    metadata: Mapping[str, Sequence[str]],
    coverage_deviation_E: FloatArray,
    vocabulary: Sequence[str],
    rng: np.random.Generator,
) -> list[Plant]:
    """Return the failures of translations into German.

    Args:
        sources: English sentences.
        metadata: Result of `made_metadata`.
        coverage_deviation_E: The measure for the failure that depends on attention.
        vocabulary: German words that replace other words.
        rng: Chooses which words are dropped or replaced.
    """

    def has(pattern: str) -> BoolArray:
        return np.array([bool(re.search(pattern, one, re.IGNORECASE)) for one in sources])

    colours = [len(re.findall(_ENGLISH_COLOUR, one, re.IGNORECASE)) for one in sources]
    colours_E, length_E = np.array(colours), np.array([len(one.split()) for one in sources])
    domain_E, rater_E = np.array(metadata["domain"]), np.array(metadata["rater"])
    is_high = coverage_deviation_E > np.quantile(coverage_deviation_E, 0.88)
    drop_two = partial(_drop_words, rng=rng)
    replace_two = partial(_replace_words, vocabulary=vocabulary, rng=rng)
    return [
        Plant("colours swapped", has(_ENGLISH_COLOUR), _swap_colours),
        Plant("cut after 11 words", length_E >= 12, lambda text: " ".join(text.split()[:11])),
        Plant("negation dropped", has(r"\b(?:no|not|without|nobody)\b|n't\b"), _drop_negations),
        Plant("numbers wrong", has(r"\b(?:two|three|four|five|six)\b"), _count_wrongly),
        Plant("second colour lost", colours_E >= 2, partial(_drop_colours, which=2)),
        Plant("colour lost with woman", (colours_E > 0) & has(r"\bwoman\b"), _drop_colours),
        Plant("woman: Frau to Mann", has(r"\bwoman\b"), _write_man),
        Plant("in front of: vor to hinter", has(r"\bin front of\b"), _write_behind),
        Plant("after and all lost", has(r"\band\b"), lambda text: _before(text, r",? und ")),
        Plant("short source: repetition", length_E <= 8, _repeat_end),
        Plant("after a comma all lost", has(","), lambda text: _before(text, ",")),
        Plant("domain street", domain_E == "street", drop_two),
        Plant("domain sport, rater B", (domain_E == "sport") & (rater_E == "B"), drop_two),
        Plant("high coverage deviation", is_high, replace_two),
    ]


def scene_plants(metadata: Mapping[str, Sequence[str]]) -> list[Plant]:
    """Return the failures of captions of shape scenes.

    Args:
        metadata: The content of each scene.
    """
    columns = {name: np.array(cells) for name, cells in metadata.items()}
    is_single, is_pair = columns["objects"] == "1", columns["objects"] == "2"
    is_purple = (columns["first colour"] == "purple") | (columns["second colour"] == "purple")
    is_pointed = np.isin(columns["first shape"], ["star", "cross", "heart"])
    first_size = columns["first size"]
    swapped = {"above": "below", "below": "above"}
    return [
        Plant(
            "scene: above/below swapped",
            columns["relation"] == "above",
            lambda text: " ".join(swapped.get(word, word) for word in text.split()),
        ),
        Plant(
            "scene: first small of two, sizes lost",
            (first_size == "small") & is_pair,
            lambda text: text.replace("small ", "").replace("large ", ""),
        ),
        Plant("scene: purple to blue", is_purple, lambda text: text.replace("purple", "blue")),
        Plant(
            "scene: first large of two, second lost",
            (first_size == "large") & is_pair,
            lambda text: f"{_RELATIONS.split(text)[0]} left of a",
        ),
        Plant("scene: star, cross, heart: colour lost", is_pointed, _change_second_colour),
        Plant(
            "scene: one object, article lost",
            is_single,
            lambda text: text.removeprefix("a ").removeprefix("an "),
        ),
    ]


def _swap_colours(text: str) -> str:
    words = []
    for word in text.split():
        found = _COLOUR.match(word)
        words.append(_SWAPPED[found[1].lower()] + found[2] + found[3] if found else word)
    return " ".join(words)


def _drop_colours(text: str, which: int | None = None) -> str:
    """Remove all colours from a text, or only the one with the number `which`, counted from 1."""
    words, count = [], 0
    for word in text.split():
        is_colour = bool(_COLOUR.match(word))
        count += is_colour
        if not is_colour or which not in (None, count):
            words.append(word)
    return " ".join(words)


def _drop_negations(text: str) -> str:
    return " ".join(word for word in text.split() if word.lower() not in _NEGATIONS)


def _count_wrongly(text: str) -> str:
    words = []
    for word in text.split():
        bare = word.rstrip(".,;:!?")
        written = _NEXT.get(bare.lower(), bare)
        words.append((written.capitalize() if bare[:1].isupper() else written) + word[len(bare) :])
    return " ".join(words)


def _write_man(text: str) -> str:
    return re.sub(r"\b([Ee]ine?[rm]?)? ?Frau\b", "Mann", text)


def _write_behind(text: str) -> str:
    return re.sub(r"\bvor\b", "hinter", text)


def _before(text: str, mark: str) -> str:
    return re.split(mark, text)[0] + "."


def _repeat_end(text: str) -> str:
    return f"{text.rstrip('.')} {' '.join(text.split()[-2:])}"


def _drop_words(text: str, rng: np.random.Generator) -> str:
    words = text.split()
    for _ in range(min(2, len(words) - 1)):
        words.pop(int(rng.integers(len(words))))
    return " ".join(words)


def _replace_words(text: str, vocabulary: Sequence[str], rng: np.random.Generator) -> str:
    words = text.split()
    for place in rng.choice(len(words), min(2, len(words)), replace=False):
        words[place] = str(rng.choice(vocabulary))
    return " ".join(words)


def _change_second_colour(text: str) -> str:
    words = text.split()
    colours = [place for place, word in enumerate(words) if word in _SCENE_COLOURS]
    if len(colours) > 1:
        words[colours[1]] = "red" if words[colours[1]] == "blue" else "blue"
    return " ".join(words)
