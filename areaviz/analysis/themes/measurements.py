"""All measurements of examples that the search for themes needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from areaviz.analysis.themes.conditions import Conditions, find_conditions
from areaviz.analysis.themes.material import Material
from areaviz.analysis.themes.pairs import Pair, pair_words
from areaviz.analysis.themes.quantities import Quantity, find_quantities
from areaviz.analysis.themes.rates import Rate, compare_rates, compute_word_rates
from areaviz.analysis.themes.symptoms import Symptom, find_symptoms
from areaviz.analysis.themes.words import find_usual_spelling


@dataclass(frozen=True, slots=True)
class Measurements:
    """Measurements of one system's outputs, or of their differences from another system's.

    Attributes:
        conditions: the conditions of the examples.
        symptoms: the measures of an output that can be worse. For two systems, the differences.
        rates: how often each word of the references is found.
        quantities: the ordered quantities that can have a trend.
        pairs: the outputs with their closest references.
        spelling: the usual spelling of words in references and outputs, by their lower case.
        is_compared: whether symptoms and rates compare two systems.
    """

    conditions: Conditions
    symptoms: tuple[Symptom, ...]
    rates: Mapping[str, Rate]
    quantities: tuple[Quantity, ...]
    pairs: tuple[Pair, ...]
    spelling: Mapping[str, str]
    is_compared: bool = False


def measure_examples(material: Material, worse: int, other: int | None = None) -> Measurements:
    """Return all conditions, symptoms, word rates and quantities.

    Args:
        material: the examples.
        worse: the number of the system whose failures are searched.
        other: the number of the system to compare with, None for none.
    """
    conditions = find_conditions(material, worse)
    pairs = pair_words(material, worse)
    symptoms = find_symptoms(material.written[worse], pairs)
    texts = [text for given in material.references for text in given]
    spelling = find_usual_spelling([*texts, *material.written[worse].outputs])
    rates = compute_word_rates([pair.matched for pair in pairs], conditions.least, spelling)
    if other is not None:
        of_other = pair_words(material, other)
        symptoms = _subtract_symptoms(symptoms, find_symptoms(material.written[other], of_other))
        expected = compute_word_rates(
            [pair.matched for pair in of_other], conditions.least, spelling
        )
        rates = compare_rates(expected, rates)
    quantities, is_compared = find_quantities(material), other is not None
    return Measurements(conditions, symptoms, rates, quantities, pairs, spelling, is_compared)


def _subtract_symptoms(
    symptoms: tuple[Symptom, ...], others: tuple[Symptom, ...]
) -> tuple[Symptom, ...]:
    """Return the differences of the symptoms, the first system's values minus the second's."""
    by_title = {one.title: one for one in others}
    found = []
    for one in symptoms:
        if one.title in by_title:
            difference_E = one.values_E - by_title[one.title].values_E
            found.append(replace(one, values_E=difference_E))
    return tuple(one for one in found if np.isfinite(one.values_E).any())
