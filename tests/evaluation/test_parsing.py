"""Figures of a parser: by hand, of a perfect parser, and of one that has learned nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from areaviz.lab.measure import Options
from areaviz.lab.tasks.translation import PENALTIES
from areaviz.lab.tasks.trees import (
    Parsed,
    evaluate_parsing,
    measure_bracket_spans,
    score_trees_of_other_sentences,
)
from areaviz.measures.references import list_openings, make_flat_tree
from areaviz.models.generation import GenerationModel
from areaviz.models.recurrent import RECURRENT_SITE
from areaviz.models.tokenizer import Tokenizer
from areaviz.models.translation import LstmConfig, LstmTranslator
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Request
from tests import fakes, tiny
from tests.data.test_treebank import write_treebank

SENTENCES = [
    ("Ida paints boats .", "(S (NP XX )NP (VP XX (NP XX )NP )VP XX )S"),
    ("The cat sleeps .", "(S (NP XX XX )NP (VP XX )VP XX )S"),
    ("Sing with the old cat .", "(S (VP XX (PP XX (NP XX XX XX )NP )PP )VP XX )S"),
    ("In a boat sleeps Olaf .", "(S (PP XX (NP XX XX )NP )PP (VP XX (NP XX )NP )VP XX )S"),
    ("Boats sink", "(S (NP XX )NP (VP XX )VP )S"),
]
TREES = dict(SENTENCES)
SHARES = ("span", "span_random", "span_other", "span_untrained")
FIGURES = {*SHARES, "head", "openings", "dependence", "dependence_untrained", "sentences"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Write the same sentences for every split."""
    splits = ("train", "dev", "test", "test2")
    write_treebank(tmp_path, [(split, *one) for split in splits for one in SENTENCES])
    return tmp_path


def parser(**options: Any) -> GenerationModel:
    """Return a parser with random weights."""
    symbols = sorted({token for tree in TREES.values() for token in tree.split()})
    words = Tokenizer.train(TREES, "token", 60, symbols)
    sizes = {"width": 8, "depth": 1, "heads": 2, "area_size": 3, "key_mode": "boundary"}
    torch.manual_seed(0)
    network = LstmTranslator(LstmConfig(len(words), **{**sizes, **options})).eval()
    card = replace(
        tiny.card("parser", "token", tiny.network(len(words))),
        family="lstm",
        task="parsing",
        config=asdict(network.config),
    )
    return GenerationModel(card, words, network)


def test_trees_of_equally_long_sentences_by_hand() -> None:
    """Check two sentences of equal length, and a third, which is alone and gets a flat tree."""
    trees = ["(S (NP XX )NP (VP XX )VP )S", "(S (VP XX XX )VP )S", "(S (NP XX XX )NP XX )S"]
    texts = ["Boats sink", "Feed Olaf", "Old boats sink"]
    sentences = [Parsed(*one, "letter") for one in zip(texts, trees, strict=True)]
    scores = score_trees_of_other_sentences(trees, sentences)
    # The whole sentence is right for all three. 2 + 3 + 1 brackets are given, 3 + 2 + 2 are
    # expected.
    assert (scores.precision, scores.recall) == pytest.approx((3 / 6, 3 / 7))
    assert scores.exact == scores.malformed == 0.0
    # The result does not depend on the sentence's own tree.
    third = score_trees_of_other_sentences([*trees[:2], "(S"], sentences)
    assert third == scores


def test_other_tree_baseline_uses_every_tree() -> None:
    sentences = [Parsed("a b", tree, "letter") for tree in ("(A XX XX )A", "(B XX XX )B")]
    sentences.append(Parsed("a b", "(C XX XX )C", "letter"))
    own = [one.tree for one in sentences]
    assert score_trees_of_other_sentences(own, sentences).f1 == 0.0
    assert score_trees_of_other_sentences([own[-1], *own[:-1]], sentences).exact == 1.0


@pytest.mark.parametrize("split", ["val", "test", "test_genres"])
def test_only_validation_chooses_a_length_penalty(corpus: Path, split: str) -> None:
    found = evaluate_parsing(parser(), corpus, split, Options(beam=2, traces=0))
    assert found.attention == {} and len(found.outputs) == len(SENTENCES)
    assert found.figures["sentences"] == 5 and found.figures["beam"] == 2
    for name in ("f1", "precision", "recall", "exact", "malformed", "f1_flat", "f1_other"):
        assert 0.0 <= found.figures[name] <= 1.0
    if split == "val":
        assert set(found.chosen) == {"length_penalty"}
        assert found.chosen["length_penalty"] in PENALTIES
    else:
        assert found.chosen == {}
    greedy = evaluate_parsing(parser(), corpus, split, Options(beam=1, traces=0))
    assert greedy.chosen == {} and greedy.figures["beam"] == 1


@pytest.mark.parametrize("split", ["val", "test"])
def test_attention_of_untrained_parser(corpus: Path, split: str) -> None:
    found = evaluate_parsing(parser(), corpus, split, Options(traces=4, outputs=False))
    assert found.figures == {} and set(found.attention) == {f"{RECURRENT_SITE}, {split}"}
    figures = found.attention[f"{RECURRENT_SITE}, {split}"]
    assert set(figures) == FIGURES
    assert all(0.0 <= figures[name] <= 1.0 for name in SHARES)
    assert figures["head"] in (0, 1) and figures["sentences"] == 4 and figures["openings"] > 0
    assert figures["dependence"] >= 0.0


def test_single_item_parser_without_spans_is_measured(corpus: Path) -> None:
    single = parser(area_size=1, key_mode="mean")
    found = evaluate_parsing(single, corpus, "test", Options(beam=1, traces=2))
    figures = found.attention[f"{RECURRENT_SITE}, test"]
    assert set(figures) == FIGURES and figures["openings"] == 0
    assert all(figures[name] == 0.0 for name in SHARES)


class Seer:
    """A parser that writes the right tree with one length penalty and a flat one with all others.

    Its second head attends exactly to the words of an opening bracket. The first head attends to
    the
    end symbol, and so do all heads of an untrained parser.
    """

    card = SimpleNamespace(name="seer", grammar="")
    network = SimpleNamespace(config=SimpleNamespace(heads=2))

    def __init__(self, is_trained: bool = True) -> None:
        self.is_trained = is_trained
        self.asked: list[Request] = []

    def make_untrained(self) -> Seer:
        return Seer(is_trained=False)

    def generate_outputs(self, requests: Sequence[Request]) -> list[str]:
        self.asked += requests
        return [TREES[one.text] for one in requests]

    def generate_outputs_by_penalty(
        self, requests: Sequence[Request], penalties: Sequence[float]
    ) -> list[list[str]]:
        flat = [make_flat_tree(len(one.text.split())) for one in requests]
        return [self.generate_outputs(requests) if one == 0.4 else flat for one in penalties]

    def trace(self, requests: Sequence[Request]) -> list[Trace]:
        return [self.seen(one) for one in requests]

    def seen(self, request: Request) -> Trace:
        assert request.target == TREES[request.text]
        source = by_words("source", request.text)
        target = by_words("target", request.target)
        grid = AreaGrid.clamped((1, len(source)), (1, 3))
        weights = np.zeros((1, 2, len(target), grid.count), np.float32)
        weights[..., grid.index(Area(0, len(source) - 1, 1, 1))] = 1.0
        if self.is_trained:
            for one in list_openings(request.target, source, 3):
                area = grid.index(Area(0, one.first, 1, one.size))
                weights[0, 1, one.token] = np.eye(grid.count)[area]
        attention = AttentionMap(RECURRENT_SITE, "target", "source", grid, weights)
        output = Output("target", np.ones(len(target), np.float32), ())
        return Trace(
            request, {"source": source, "target": target}, output, {RECURRENT_SITE: attention}
        )


def by_words(name: str, text: str) -> Field:
    return replace(fakes.caption_trace(text).fields["target"], name=name)


def test_exact_attention_beats_the_baselines(corpus: Path) -> None:
    sentences = [Parsed(*one, "letter") for one in SENTENCES]
    figures = measure_bracket_spans(Seer(), sentences, corpus)  # type: ignore[arg-type]
    assert figures["span"] == 1.0 and figures["head"] == 1
    # Brackets around two or three words: one verb phrase of the first sentence, one noun phrase
    # each of the second and third, three brackets of the fourth, and the whole of the last.
    assert figures["openings"] == 7 and figures["sentences"] == 5
    # An area of two items among five, six or seven has 4, 5 or 6 positions, and so on.
    places = [1 / 4, 1 / 4, 1 / 5, 1 / 5, 1 / 6, 1 / 6, 1 / 2]
    assert figures["span_random"] == pytest.approx(sum(places) / 7)
    # No two brackets of a sentence contain the same words.
    assert figures["span_other"] == figures["span_untrained"] == 0.0
    assert figures["dependence"] > figures["dependence_untrained"] == pytest.approx(0.0)


def test_head_is_chosen_on_validation(corpus: Path) -> None:
    """Check that validation chooses; on other sets the other head would be better."""

    class Fickle(Seer):
        def seen(self, request: Request) -> Trace:
            trace = super().seen(request)
            if request.text == "Boats sink":
                return trace
            attention = trace.maps[RECURRENT_SITE]
            turned = replace(attention, weights=attention.weights[:, ::-1])
            return replace(trace, maps={RECURRENT_SITE: turned})

    last = Parsed(*SENTENCES[-1], "letter")
    figures = measure_bracket_spans(Fickle(), [last], corpus)  # type: ignore[arg-type]
    assert figures["head"] == 0 and figures["span"] == 0.0 and figures["openings"] == 1


def test_best_length_penalty_is_chosen_and_scored(corpus: Path) -> None:
    found = evaluate_parsing(Seer(), corpus, "val", Options(beam=3, traces=0))  # type: ignore[arg-type]
    assert found.chosen == {"length_penalty": 0.4}
    assert list(found.outputs) == [tree for _, tree in SENTENCES]
    figures = found.figures
    assert figures["f1"] == figures["exact"] == 1.0 > figures["f1_flat"] > 0.0
    assert figures["malformed"] == figures["unbalanced"] == 0.0
    # A flat tree gets the bracket of the whole sentence right: 5 of 5 brackets, and 5 of 19.
    assert figures["f1_flat"] == pytest.approx(2 * 5 / (5 + 19))
    assert 0.0 < figures["f1_other"] < 1.0


def test_requests_have_the_sentence_and_the_decoding(corpus: Path) -> None:
    seer = Seer()
    evaluate_parsing(seer, corpus, "test", Options(beam=3, traces=0))  # type: ignore[arg-type]
    assert seer.asked == [Request("seer", text, "beam", 3) for text, _ in SENTENCES]


def test_grammar_parser_is_scored_with_and_without_grammar(
    corpus: Path,
) -> None:
    free = parser()
    recipe = {**free.card.recipe, "grammar": "trees", "length_penalty": 0.4}
    held = replace(free, card=replace(free.card, recipe=recipe))
    found = evaluate_parsing(held, corpus, "test", Options(beam=2, traces=0))
    assert found.figures["malformed"] == found.figures["unbalanced"] == 0.0
    # Random weights never write a valid tree.
    assert found.figures["malformed_free"] == 1.0
    chosen = evaluate_parsing(held, corpus, "val", Options(beam=2, traces=0)).chosen
    assert chosen.keys() == {"length_penalty", "length_penalty_free"}
    plain = replace(free, card=replace(free.card, recipe={"length_penalty": 0.4}))
    unheld = evaluate_parsing(plain, corpus, "test", Options(beam=2, traces=0))
    assert unheld.figures["f1"] == found.figures["f1_free"]
    assert "f1_free" not in unheld.figures
