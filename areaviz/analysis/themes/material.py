"""The input of the search for themes: texts, outputs, scores, metrics and metadata of examples."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from areaviz.trace.errors import InputError

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

# Minimum and maximum number of examples. Fewer are not enough for a test in each half, and more
# take too long on a page.
MIN_EXAMPLES, MAX_EXAMPLES = 80, 20_000
# Largest number of words of all texts together.
MAX_WORDS = 2_000_000


@dataclass(frozen=True, slots=True)
class Score:
    """A score of outputs.

    Attributes:
        title: its name, such as "chrF".
        values: the score of every example, NaN where it is unknown: float [E].
        better: "high" or "low".
    """

    title: str
    values: FloatArray
    better: str = "high"


@dataclass(frozen=True, slots=True)
class Written:
    """The outputs of one system for the examples, and measurements of each output."""

    outputs: tuple[str, ...]
    scores: tuple[Score, ...] = ()
    # Confidence and metrics of attention, by title. They become conditions, never symptoms.
    measures: Mapping[str, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Material:
    """The examples in which themes are searched.

    Attributes:
        places: the indices of the examples in the dataset.
        sources: the input texts, "" if an example has none.
        references: the references of each example.
        files: the picture, sound or clip of each example, "" for none.
        written: the outputs of one system, or of two systems to compare.
        metadata: columns by name, with a text for every example.
        documents: the document of each example, "" for none.
    """

    places: tuple[int, ...]
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    files: tuple[str, ...]
    written: tuple[Written, ...]
    metadata: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    documents: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.places)

    @property
    def digest(self) -> str:
        """The SHA-256 of all content."""
        found = hashlib.sha256()
        texts = (self.places, self.sources, self.references, self.files, self.documents)
        found.update(repr((texts, sorted(self.metadata.items()))).encode("utf-8", "surrogatepass"))
        for one in self.written:
            found.update(repr(one.outputs).encode("utf-8", "surrogatepass"))
            for score in one.scores:
                found.update(repr((score.title, score.better)).encode())
                found.update(score.values.tobytes())
            for title, values in one.measures.items():
                found.update(repr(title).encode() + values.tobytes())
        return found.hexdigest()

    def has_sources(self) -> bool:
        """Return whether some example has an input text."""
        return any(self.sources)

    def has_one_reference(self) -> bool:
        """Return whether no example has more than one reference."""
        return any(self.references) and all(len(one) <= 1 for one in self.references)


def check_count(examples: int) -> None:
    """Check that there are enough examples for a proof, and not too many.

    Raises:
        InputError: there are too few or too many.
    """
    if examples < MIN_EXAMPLES:
        raise InputError(
            f"Themes need at least {MIN_EXAMPLES} examples with an output, but there are"
            f" {examples:,}. Use a larger set."
        )
    if examples > MAX_EXAMPLES:
        raise InputError(
            f"Themes can be found in at most {MAX_EXAMPLES:,} examples, but there are"
            f" {examples:,}. Use a part of the set."
        )


def check_size(material: Material) -> None:
    """Check the number of examples and of words.

    Raises:
        InputError: there are too few examples, too many examples or too many words.
    """
    check_count(len(material))
    words = sum(len(text.split()) for text in material.sources)
    words += sum(len(text.split()) for texts in material.references for text in texts)
    words += sum(len(text.split()) for one in material.written for text in one.outputs)
    if words > MAX_WORDS:
        raise InputError(
            f"Themes can be found in at most {MAX_WORDS:,} words, but the texts have"
            f" {words:,}. Use a part of the set."
        )
