"""The best alignment of an external model: halves, known answers, and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import areaviz
from areaviz.metrics.own_alignment import Linked, best_alignment, figures_of
from areaviz.trace.errors import InputError

WORDS = ("one", "two", "three", "four", "five")


def linked(seed: int) -> Linked:
    """Return a trace whose second head reads the linked word, in another order each time."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(WORDS))
    right = np.eye(len(WORDS))[order]
    noise = random.random((len(WORDS), len(WORDS)))
    weights = np.stack([noise / noise.sum(-1, keepdims=True), right])[None]
    trace = areaviz.from_arrays(weights, list(WORDS), list(WORDS))
    return trace, {(int(i), j) for j, i in enumerate(order)}


def site_of(example: Linked) -> str:
    return next(iter(example[0].maps))


def test_right_head_is_chosen_on_one_half_and_reported_on_the_other() -> None:
    examples = [linked(seed) for seed in range(24)]
    found = best_alignment(examples, site_of(examples[0]))
    assert found.best.heads == ((0, 1, 0),)
    assert (found.best.examples, found.reported_on) == (12, 12)
    assert figures_of(found)["best alignment"] == 0 and found.low == found.high == 0
    assert found.diagonal > 0.5 and found.position > 0.5
    assert "12 other examples" in found.sentence
    drawn = found.map_of(examples[0][0]).weights[0, 0]
    np.testing.assert_allclose(drawn, examples[0][0].maps[found.site].weights[0, 1], atol=1e-6)


def test_nothing_is_chosen_on_few_examples() -> None:
    examples = [linked(seed) for seed in range(19)]
    with pytest.raises(InputError, match="19 examples.*at least 20"):
        best_alignment(examples, site_of(examples[0]))


def test_wrong_links_and_sites_are_refused() -> None:
    examples = [linked(seed) for seed in range(20)]
    site = site_of(examples[0])
    with pytest.raises(InputError, match="Example 1 has a link to a word"):
        best_alignment([(examples[0][0], {(9, 0)}), *examples[1:]], site)
    with pytest.raises(InputError, match="Example 1 has no links"):
        best_alignment([(examples[0][0], set()), *examples[1:]], site)
    with pytest.raises(InputError, match="no attention"):
        best_alignment(examples, "nowhere")


def test_traces_of_several_models_are_refused() -> None:
    examples = [linked(seed) for seed in range(20)]
    site = site_of(examples[0])
    attention = examples[0][0].maps[site]
    other = replace(attention, weights=attention.weights[:, :1])
    mixed = replace(examples[0][0], maps={site: other})
    with pytest.raises(InputError, match="different layers or heads"):
        best_alignment([(mixed, examples[0][1]), *examples[1:]], site)
