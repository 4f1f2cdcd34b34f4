"""Words and foils: probabilities by hand, and the faithfulness of a map that they measure."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from areaviz.cards.card import read_card
from areaviz.lab.measure import LIKELIEST, find_closest_contrast, find_contrast, measure_contrast
from areaviz.measures.faithfulness import (
    Contrast,
    Probe,
    compute_odds,
    find_output_words,
    keep_shared_changes,
    make_foil_request,
    measure_faithfulness,
)
from areaviz.models.generation import GenerationModel
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.changes import Change, Gate, Hide, Weigh, compute_area_factors
from areaviz.trace.errors import InputError
from areaviz.trace.record import AttentionMap, Output, Run, Trace
from areaviz.trace.request import Request
from tests import fakes
from tests.models.test_language_model import language_model
from tests.tiny import checkpoint
from tests.trace.sentence import assert_one_sentence

EVIDENCE = {"x": [0.4, 0.3, 0.1, 0.0], "y": [0.0, 0.2, 0.2, 0.4], "z": [0.2, 0.0, 0.0, 0.1]}
"""Amount that each of four items adds to the probability of a character, above 0.1."""
WEIGHTS = {"x": [0.6, 0.3, 0.1, 0.0], "y": [0.0, 0.1, 0.3, 0.6], "z": [0.7, 0.1, 0.0, 0.2]}


class Letters:
    """A model that writes "xy".

    A character's probability is 0.1 plus the evidence of the items that its position may read.
    """

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Trace:
        self.asked.append(request)
        target = "xy" if request.target is None else request.target
        grid = AreaGrid(1, 4, 1, 1)
        weighs = [change for change in request.changes if isinstance(change, Weigh)]
        free_QN = compute_area_factors(weighs, grid.table(), 4, 1, len(target))[0] > 0
        free_QN = np.broadcast_to(free_QN, (len(target), 4))
        likely = [
            0.1 + float((np.array(EVIDENCE[letter]) * free).sum())
            for letter, free in zip(target, free_QN, strict=True)
        ]
        weights = np.array([[[WEIGHTS[letter] for letter in target]]], np.float32)
        fields = {
            "source": fakes.text_field("source", "abcd", end=""),
            "target": fakes.text_field("target", target, end=""),
        }
        attention = AttentionMap("encoder-decoder", "target", "source", grid, weights)
        others = ((("y", 0.5), ("z", 0.3)), (("⟨end⟩", 0.4), ("z", 0.25)))
        output = Output("target", np.array(likely, np.float32), others[: len(target)])
        return Trace(request, fields, output, {attention.site: attention})


ASKED = Request("fake", "abcd")
Y_NOT_Z = Contrast(1, 2, "z")


def test_odds_use_an_equal_prefix() -> None:
    model = Letters()
    trace = model(ASKED)
    found = compute_odds(trace, Y_NOT_Z, model)
    assert model.asked[-1].target == "xz"
    assert (found.word, found.foil) == pytest.approx((0.9, 0.4))
    assert found.difference == pytest.approx(0.5)
    assert found.log_ratio == pytest.approx(math.log(0.9 / 0.4))


def test_odds_multiply_over_several_items() -> None:
    model = Letters()
    found = compute_odds(model(ASKED), Contrast(0, 2, "zzx"), model)
    assert (found.word, found.foil) == pytest.approx((0.9 * 0.9, 0.4 * 0.4 * 0.9))


def test_changes_apply_to_word_and_foil() -> None:
    model = Letters()
    before = model(ASKED)
    ban = (Weigh("encoder-decoder", (3,)),)
    changed = model(replace(ASKED, changes=ban, target="xy"))
    found = compute_odds(before, Y_NOT_Z, model, changed)
    assert model.asked[-1].changes == ban
    assert (found.word, found.foil) == pytest.approx((0.5, 0.3))


def test_map_is_measured_by_the_difference() -> None:
    probe = Probe(k=1, draws=3, contrast=Y_NOT_Z)
    model = Letters()
    found = measure_faithfulness(ASKED, probe, model)
    assert found.probability == pytest.approx(0.9 - 0.4) and found.items == 1
    # "y" attends to item 4 (0.4), "z" to item 1 (0.2).
    assert found.comprehensiveness == pytest.approx((0.9 - 0.4) - (0.5 - 0.2))
    assert found.sufficiency == pytest.approx((0.9 - 0.4) - (0.5 - 0.3))
    assert len(found.random_sufficiency) == 3
    assert len(model.asked) == 1 + 2 + 2 * 2 * 4


def test_random_baseline_bans_equally_for_both() -> None:
    model = Letters()
    measure_faithfulness(ASKED, Probe(k=1, draws=2, contrast=Y_NOT_Z), model)
    banned: dict[str, list[tuple[int, ...]]] = {"xy": [], "xz": []}
    for request in model.asked[3:]:
        if len(request.changes[0].items) == 1:
            banned[request.target or ""].append(request.changes[1].items)
    assert banned["xy"] == [(3,), *banned["xz"][1:]] and banned["xz"][0] == (0,)


@pytest.mark.parametrize(
    ("foil", "part"), [("", "1 to 200"), (" ", "1 to 200"), ("y", "word at this place")]
)
def test_invalid_foil_is_refused(foil: str, part: str) -> None:
    with pytest.raises(InputError, match=part) as refused:
        make_foil_request(Letters()(ASKED), Contrast(1, 2, foil))
    assert_one_sentence(refused.value)


def test_output_words_have_no_punctuation() -> None:
    output = fakes.text_field("target", "Er, (sie) und 3.")
    texts = ["".join(output.labels[first:last]) for first, last in find_output_words(output)]
    assert texts == ["Er", "sie", "und", "3"]
    assert find_contrast(output, "sie", "er") == Contrast(5, 8, "er")
    assert find_contrast(output, "si", "er") is None


def test_likeliest_alternative_is_not_a_symbol() -> None:
    trace = Letters()(ASKED)
    assert find_closest_contrast(trace, (0, 1)) == Contrast(0, 1, "y")
    assert (
        find_closest_contrast(trace, (1,)) == Contrast(1, 2, "z")
        and find_closest_contrast(trace, ()) is None
    )


def test_contrast_over_several_inputs() -> None:
    found, taken = measure_contrast([ASKED, ASKED], Probe(k=1, draws=2), Letters(), "xy", "zy")
    assert taken == 2 and found.items == 2
    found, taken = measure_contrast([ASKED], Probe(k=1, draws=2), Letters(), "", LIKELIEST)
    assert found.probability == pytest.approx(0.9 - 0.9) and taken == 1
    # Removing item 1 halves the first probability; removing item 4 halves the other.
    assert found.comprehensiveness == pytest.approx(0.4 - 0.4)
    for word, part in (("", "needs the word that it replaces"), ("no", "None of the 1 outputs")):
        with pytest.raises(InputError, match=part):
            measure_contrast([ASKED], Probe(k=1), Letters(), word, "z")


def test_foil_probability_equals_its_traced_alternative(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, "tiny-area", "character")
    model = GenerationModel.load(folder, read_card(folder / "card.json"), torch.device("cpu"))

    def run(request: Request) -> Trace:
        return model.trace([request])[0]

    trace = run(Request("tiny-area", "A small dog", target="Ein Hund"))
    check_alternative(trace, 4, run)


def check_alternative(trace: Trace, item: int, run: Run) -> None:
    """Check that a foil, the likeliest other letter, has the probability that the trace gives."""
    label, probability = next(
        (label, p)
        for label, p in trace.output.alternatives[item]
        if label.isalpha() and label != trace.fields["target"].labels[item]
    )
    found = compute_odds(trace, Contrast(item, item + 1, label), run)
    assert found.foil == pytest.approx(probability, rel=1e-4)
    assert found.word == pytest.approx(float(trace.output.probabilities[item]), rel=1e-6)


def read(request: Request) -> Trace:
    """Return the trace of a language model that reads a text character by character."""
    return language_model("character").trace([request])[0]


@pytest.mark.parametrize("written", ["", " garden", None])
def test_language_model_scores_foil_after_its_prefix(written: str | None) -> None:
    """Check a foil's probability for texts that are read, given or continued."""
    trace = read(Request("reader", "A small dog in a", target=written))
    for item in (2, 9, len(trace.fields["target"]) - 2):
        check_alternative(trace, item, read)


def test_later_items_change_neither_word_nor_foil() -> None:
    """Check that changes by position keep only items up to the word, and other changes stay."""
    changes: tuple[Change, ...] = (
        Hide("history", (1, 3)),
        Hide("history", (4,)),
        Weigh("decoder self", (2, 4), (Area(0, 2, 1, 2), Area(0, 0, 1, 2))),
        Gate("decoder self", 0, 1),
    )
    asked = Request("reader", "A small dog runs", target="")
    trace = read(replace(asked, changes=changes))
    kept = (
        Hide("history", (1,)),
        Weigh("decoder self", (2,), (Area(0, 0, 1, 2),)),
        Gate("decoder self", 0, 1),
    )
    assert keep_shared_changes(trace, 2) == kept
    before = read(asked)
    found = compute_odds(before, Contrast(2, 3, "tea"), read, trace)
    assert found.word == pytest.approx(float(trace.output.probabilities[2]))
    last = compute_odds(before, Contrast(2, 3, "tea"), read, read(replace(asked, changes=kept)))
    assert found.foil == pytest.approx(last.foil)
