"""Measures of one example: known values, and examples to which a measure does not apply."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.measures.spans import find_word_runs
from areaviz.samples.dataset import Example
from areaviz.sets import measures
from areaviz.sets.measures import (
    MEASURES,
    compute_glimpse_hit_rate,
    compute_metrics,
    find_share_of_facts_read,
    order_measures,
    score_output,
    score_points,
)
from areaviz.trace.areas import AreaGrid
from areaviz.trace.kinds import make_facts_field, make_points_field, make_question_field
from areaviz.trace.record import AttentionMap, Field, Trace
from tests import fakes

WHOLE, LEFT, RIGHT = (0.0, 0.0, 1.0, 1.0), (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0)


def looking(site: str, *cells: int, grid: int = 4) -> Trace:
    """Return a caption with one word per cell; the last cell belongs to the end symbol.

    Each word attends only to its cell, in the last layer.
    """
    made = (
        fakes.caption_trace("red star", grid)
        if site == "encoder-decoder"
        else fakes.doubly_trace("a", "roter Stern")
    )
    attention = made.maps[site]
    weights = np.zeros_like(attention.weights[..., : grid * grid])
    weights[0, :, :, 0] = 1
    weights[1, :, range(len(cells)), cells] = 1
    single = replace(attention, grid=AreaGrid(grid, grid, 1, 1), weights=weights)
    return replace(made, maps={**made.maps, site: single})


@pytest.mark.parametrize(
    ("site", "words"),
    [("encoder-decoder", ("red", "star")), ("encoder-decoder picture", ("roter", "stern"))],
)
def test_words_point_right_inside_their_boxes(site: str, words: tuple[str, str]) -> None:
    trace, (colour, noun) = looking(site, 0, 3, 0), words
    for box_of_colour, box_of_noun, right in (
        (LEFT, RIGHT, 1),
        (LEFT, LEFT, 0.5),
        (RIGHT, LEFT, 0),
        (WHOLE, LEFT, 0.5),
    ):
        example = Example(
            "1", "", boxes=((colour, box_of_colour), (noun, box_of_noun), ("circle", WHOLE))
        )
        assert compute_metrics(trace, example)["pointing"] == right
    several = Example("1", "", boxes=((noun, LEFT), (noun, RIGHT)))
    assert compute_metrics(trace, several)["pointing"] == 1, "any of its boxes will do"


def test_pointing_is_compared_with_mean_map() -> None:
    """Check words of which all but one look at the first cell, so their mean map does as well."""
    trace = looking("encoder-decoder", 0, 3, 0)
    boxes = (("red", LEFT), ("star", RIGHT))
    found = compute_metrics(trace, Example("1", "", boxes=boxes))
    assert found["pointing"] == 1 and found["pointing_blind"] == 0.5


def test_alignment_is_compared_with_diagonal_and_mean_map() -> None:
    trace = fakes.trace("A dog", "Ein Hund")
    attention = trace.maps["encoder-decoder"]
    source = trace.fields[attention.memory]
    weights = np.zeros_like(attention.weights)
    # Every word looks at the first item of the last word.
    weights[..., find_word_runs(source)[-1][0]] = 1
    maps = {**trace.maps, "encoder-decoder": replace(attention, weights=weights)}
    links = frozenset({(0, 0), (1, 1)})
    example = Example("1", "A dog", sure=links, possible=links)
    found = compute_metrics(replace(trace, maps=maps), example)
    assert found["alignment_diagonal"] == 0
    assert found["alignment_error"] == found["alignment_blind"] == 0.5


def test_pointing_needs_boxes_and_a_picture() -> None:
    boxes = (("circle", WHOLE),)
    assert "pointing" not in compute_metrics(
        looking("encoder-decoder", 0, 0, 0), Example("1", "", boxes=boxes)
    )
    assert "pointing" not in compute_metrics(looking("encoder-decoder", 0, 0, 0), Example("1", ""))
    assert "pointing" not in compute_metrics(
        fakes.trace(), Example("1", "", boxes=(("ein", WHOLE),))
    )


def test_every_measure_is_described_in_a_sentence() -> None:
    for one in MEASURES.values():
        assert one.title and one.about.endswith(".") and one.better in ("high", "low", "")


def test_head_with_one_place_has_no_dependence() -> None:
    """Check a layer that attends to the first cell only; in the other, each word has its own."""
    found = compute_metrics(looking("encoder-decoder", 0, 1, 3), Example("1", ""))
    assert found["dependence"] == pytest.approx(np.log2(3) / 2)
    assert found["dependence_share"] == pytest.approx(1 / 2)
    still = compute_metrics(looking("encoder-decoder", 2, 2, 2), Example("1", ""))
    assert still["dependence"] == still["dependence_share"] == 0


STORY = "Mary went to the kitchen. John went to the garden. Where is Mary?"
TREE = "(S (NP XX )NP (VP XX )VP )S"


def test_answers_and_trees_are_right_or_wrong_and_not_compared_word_by_word() -> None:
    story = Example("1", STORY, ("kitchen",), facts=(0,))
    assert score_output("Kitchen", story) == {"right": 1}
    assert score_output("garden", story) == {"right": 0}
    tree = Example("1", "He slept", (TREE,))
    assert score_output(TREE, tree) == {"right": 1, "bracket_f1": 1}
    flat = score_output("(S XX XX )S", tree)
    # One written bracket is right, and three were expected.
    assert flat["right"] == 0 and flat["bracket_f1"] == pytest.approx(2 * 1 / 3 / (1 + 1 / 3))
    assert score_output("1 2 3 1", Example("1", "1,1 5,5 1,5")) == {}


def test_facts_that_some_hop_weighs_most_are_read() -> None:
    weights = np.zeros((3, 1, 1, 2), np.float32)
    # The first and the last hop attend to the first fact, the second hop to the second fact.
    weights[range(3), 0, 0, (0, 1, 0)] = 1
    hops = AttentionMap(
        "facts", "question", "facts", AreaGrid(1, 2, 1, 1), weights, "softmax over facts"
    )
    trace = fakes.trace("a")
    fields = {"facts": make_facts_field(STORY), "question": make_question_field(STORY)}
    both = replace(trace, fields=fields | {"target": trace.fields["target"]}, maps={"facts": hops})
    first = replace(both, maps={"facts": replace(hops, weights=weights[:1])})
    for seen, gold, share in ((both, (0, 1), 1), (first, (0, 1), 0.5), (first, (1,), 0)):
        example = Example("1", STORY, ("kitchen",), facts=gold)
        assert find_share_of_facts_read(seen, example) == {"facts_read": share}
    assert find_share_of_facts_read(both, Example("1", STORY, ("kitchen",))) == {}


@pytest.mark.parametrize(
    ("kind", "answer", "found"),
    [
        ("tour", "1 2 3 4 1", {"right": 1, "tour_ratio": 1}),
        ("tour", "1 3 2 4 1", {"right": 0, "tour_ratio": (2 + 2 * 2**0.5) / 4}),
        ("hull", "1 2 3 4 1", {"right": 1, "hull_area": 1}),
        ("hull", "1 2 3 1", {"right": 0, "hull_area": 0.5}),
    ],
)
def test_points_answer_is_compared_with_exact_answer(
    kind: str, answer: str, found: dict[str, float]
) -> None:
    text, trace = "0,0 100,0 100,100 0,100", fakes.trace("a")
    labels = tuple(answer.split())
    ends = np.arange(len(labels)) * 2
    written = Field("target", "text", answer, labels, np.stack([ends, ends + 1], 1))
    fields = {"points": make_points_field(text), "target": written}
    trace = replace(trace, fields=fields, maps={}, details={"kind": kind})
    assert score_points(trace, Example("1", text)) == pytest.approx(found)


def test_digit_measures_count_right_labels_and_hits() -> None:
    trace = fakes.gaze_trace()
    middles = trace.gazes["glimpses"].corners[:, 0].mean(1) / 60
    first, second = (tuple(middles[look].tolist()) for look in (0, 1))
    # One box surrounds the first glimpse only, another box the second.
    boxes = tuple(("8", (x - 0.01, y - 0.01, x + 0.01, y + 0.01)) for x, y in (first, second))
    seen = Example("1", "", ("8",), "a.png", boxes=boxes)
    found = compute_metrics(trace, seen)
    assert found["right"] == 1.0 and found["pointing"] == pytest.approx(2 / 3)
    assert "bleu" not in found and "length" not in found
    assert compute_metrics(trace, replace(seen, boxes=boxes[:1]))["pointing"] == pytest.approx(
        1 / 3
    )
    wrong = compute_metrics(trace, replace(seen, references=("3",), boxes=()))
    # Only the final answer counts, not the answers of earlier glimpses.
    assert wrong["right"] == 0.0 and "pointing" not in wrong
    # Words of a caption are not digits to locate.
    assert compute_glimpse_hit_rate(trace, replace(seen, references=("a dog",))) == {}


def test_attention_hits_digit_by_top_cell() -> None:
    trace = looking("encoder-decoder", 0, 3, 0)
    seen = Example("1", "", ("7",), "a.png", boxes=(("7", LEFT),))
    assert compute_glimpse_hit_rate(trace, seen) == {"pointing": pytest.approx(2 / 3)}


def test_measure_missing_in_tables_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt key would otherwise be lost without a word."""
    monkeypatch.setattr(measures, "GROUPS", (lambda trace, example: {"confidance": 1.0},))
    with pytest.raises(KeyError, match="confidance"):
        compute_metrics(fakes.trace(), Example("one", "A dog."))
    first, second, *_ = MEASURES
    assert list(order_measures({second: 1, first: 2})) == [first, second]
