"""The best alignment of an external model: halves, known answers, and refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import areaviz
from areaviz.measures.alignment import Linked, best_alignment, collect_errors
from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError
from areaviz.trace.record import AttentionMap
from tests.fakes import caption_trace

BOXED = "encoder-decoder"
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


def boxed(seed: int) -> Linked:
    """Return a trace over 4 x 4 cells whose second head reads the cell in the query's box."""
    random = np.random.default_rng(seed)
    cells = random.permutation(16)[:3]
    weights = random.random((1, 2, 3, 16)).astype(np.float32)
    weights[0, 1] = np.eye(16)[cells]
    shown = caption_trace()
    attention = shown.maps[BOXED]
    fields = {"target": shown.fields["target"], "picture": shown.fields["picture"]}
    drawn = AttentionMap(BOXED, attention.query, attention.memory, AreaGrid(4, 4, 1, 1), weights)
    trace = replace(shown, fields=fields, maps={BOXED: drawn})
    boxes = {}
    for query, cell in enumerate(cells.tolist()):
        row, column = divmod(cell, 4)
        boxes[query] = [(column / 4, row / 4, (column + 1) / 4, (row + 1) / 4)]
    return trace, boxes


def site_of(example: Linked) -> str:
    return next(iter(example[0].maps))


def test_right_head_is_chosen_on_one_half_and_reported_on_the_other() -> None:
    examples = [linked(seed) for seed in range(24)]
    found = best_alignment(examples, site_of(examples[0]))
    assert found.best.heads == ((0, 1, 0),)
    assert (found.best.examples, found.reported_on) == (12, 12)
    assert collect_errors(found)["best alignment"] == 0 and found.low == found.high == 0
    assert found.place == "the diagonal" and found.at_place > 0.5 and found.position > 0.5
    assert "12 other examples" in found.sentence
    drawn = found.map_of(examples[0][0]).weights[0, 0]
    np.testing.assert_allclose(drawn, examples[0][0].maps[found.site].weights[0, 1], atol=1e-6)


def test_half_that_chooses_has_the_odd_example() -> None:
    examples = [linked(seed) for seed in range(23)]
    found = best_alignment(examples, site_of(examples[0]))
    assert (found.best.examples, found.reported_on) == (12, 11)


def test_head_that_points_into_boxes_is_chosen_and_reported() -> None:
    found = best_alignment([boxed(seed) for seed in range(20)], BOXED)
    assert found.best.heads == ((0, 1, 0),) and found.best.examples == found.reported_on == 10
    assert collect_errors(found)["best alignment"] == found.low == found.high == 0
    # Between four cells of 4 x 4, the middle belongs to the cell below and to the right of it.
    assert collect_errors(found)["middle"] > 0.7 and found.position > 0.7 and found.single == 0
    assert "examples with boxes" in found.sentence and "share of wrong queries" in found.sentence


def test_row_is_compared_with_equal_distances() -> None:
    def row(query: int) -> Linked:
        trace = boxed(query)[0]
        weights = np.full((1, 1, 3, 4), 0.25, np.float32)
        row_map = replace(trace.maps[BOXED], grid=AreaGrid(1, 4, 1, 1), weights=weights)
        # The middle query is at half of the distance; the others are elsewhere.
        boxes = {1: [(0.4, 0.0, 0.6, 1.0)], 2: [(0.0, 0.0, 0.2, 1.0)]}
        return replace(trace, maps={BOXED: row_map}), boxes

    found = best_alignment([row(seed) for seed in range(20)], BOXED)
    assert found.at_place == pytest.approx(0.5)


def test_wrong_boxes_are_refused() -> None:
    first, *others = [boxed(seed) for seed in range(20)]
    wrong: list[tuple[Any, str]] = [
        ({9: [(0, 0, 1, 1)]}, "box for a query that does not exist"),
        ({0: [(0.5, 0, 0.2, 1)]}, "not a rectangle of the memory"),
        ({0: [(0.5, 0, 0.5, 1)]}, "not a rectangle of the memory"),
        ({0: ["left"]}, "not a rectangle of the memory"),
        ({0: [(0, 0, 1)]}, "not a rectangle of the memory"),
        ({0: []}, "query without a list of boxes"),
        ({}, "no links or boxes"),
        ({(0, 0)}, "Some examples have links"),
    ]
    for boxes, said in wrong:
        with pytest.raises(InputError, match=said):
            best_alignment([(first[0], boxes), *others], BOXED)
    with pytest.raises(InputError, match="links join words"):
        best_alignment([(trace, {(0, 0)}) for trace, _ in (first, *others)], BOXED)


def test_no_head_is_chosen_on_few_examples() -> None:
    examples = [linked(seed) for seed in range(19)]
    with pytest.raises(InputError, match="19 examples.*at least 20"):
        best_alignment(examples, site_of(examples[0]))


def test_wrong_links_and_sites_are_refused() -> None:
    examples = [linked(seed) for seed in range(20)]
    site = site_of(examples[0])
    with pytest.raises(InputError, match="Example 1 has a link to a word"):
        best_alignment([(examples[0][0], {(9, 0)}), *examples[1:]], site)
    with pytest.raises(InputError, match="Example 1 has no links or boxes"):
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
