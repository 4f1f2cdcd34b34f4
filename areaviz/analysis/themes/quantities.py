"""Ordered quantities of the examples that can have a trend, such as "the longer, the worse"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.analysis.themes.conditions import parse_column_numbers
from areaviz.analysis.themes.material import FloatArray, Material
from areaviz.analysis.themes.text_conditions import count_unique_words
from areaviz.analysis.themes.words import lower_words


@dataclass(frozen=True, slots=True)
class Quantity:
    """An ordered quantity and its wording.

    Attributes:
        more: the start of a sentence where high values are worse, such as "The longer the source".
        less: the start of a sentence where low values are worse.
        high: the name of the fifth of the examples with the highest values.
        low: the name of the fifth with the lowest values.
        values_E: the value of every example, NaN for none.
    """

    more: str
    less: str
    high: str
    low: str
    values_E: FloatArray


def find_quantities(material: Material) -> tuple[Quantity, ...]:
    """Return the source's length and number of unique words, and the metadata numbers that vary."""
    texts, side = material.sources, "source"
    if not material.has_sources():
        if not material.has_one_reference():
            return _list_metadata_quantities(material)
        texts, side = tuple(one[0] if one else "" for one in material.references), "reference"
    words_E = list(map(lower_words, texts))
    length = Quantity(
        f"The longer the {side}",
        f"The shorter the {side}",
        "the longest fifth",
        "the shortest fifth",
        np.array([len(words) for words in words_E], float),
    )
    unique = Quantity(
        f"The more words of the {side} occur nowhere else",
        f"The fewer words of the {side} occur nowhere else",
        "the fifth with the most",
        "the fifth with the fewest",
        count_unique_words(words_E).astype(float),
    )
    found = (length, unique, *_list_metadata_quantities(material))
    return tuple(one for one in found if np.nanstd(one.values_E) > 0)


def _list_metadata_quantities(material: Material) -> tuple[Quantity, ...]:
    found = []
    for name, cells in material.metadata.items():
        values_E = parse_column_numbers(cells)
        if values_E is not None and len(np.unique(values_E[np.isfinite(values_E)])) > 2:
            names = (f"The higher the value of “{name}”", f"The lower the value of “{name}”")
            ends = ("the fifth with the highest values", "the fifth with the lowest values")
            found.append(Quantity(*names, *ends, values_E))
    return tuple(found)
