"""A memory network learns a small corpus, is shipped, measured and asked."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from areaviz.backend.local import LocalBackend
from areaviz.cards.card import read_card
from areaviz.lab.measure import Options, evaluate_checkpoint
from areaviz.lab.tasks.stories import (
    Questions,
    QuestionsConfig,
    _find_latest_gold_facts,
    compute_covered_share,
)
from areaviz.lab.train import train_recipe
from areaviz.models.stories import Question, add_random_time_gaps
from areaviz.trace import file
from areaviz.trace.changes import Hide
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from tests.stories import write_corpus

STORY = "Ann went to the attic. Bob went to the barn. Cleo went to the den. Where is Bob?"


def recipe(**options: object) -> QuestionsConfig:
    values: dict[str, object] = {
        "name": "tiny",
        "task": "questions",
        "steps": 300,
        "peak_rate": 2e-2,
        "warmup": 5,
        "validate_every": 100,
        "linear": 100,
        "model": {"width": 16, "hops": 2, "most_facts": 10},
        **options,
    }
    return QuestionsConfig(**values)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("data")
    write_corpus(data, stories=150)
    return data


@pytest.fixture(scope="module")
def models(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs, folder = tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("models")
    train_recipe(recipe(), corpus, runs, "cpu").rename(folder / "tiny")
    return folder


@pytest.fixture(scope="module")
def backend(models: Path) -> LocalBackend:
    return LocalBackend(models, "cpu")


def test_network_learns_to_read_the_answering_fact(models: Path, corpus: Path) -> None:
    card, _ = evaluate_checkpoint(models / "tiny", corpus, "test", Options(), "cpu")
    assert read_card(models / "tiny" / "card.json") == card
    figures, hops = card.figures["test"], card.attention["hops, test"]
    assert figures["right"] > 0.9 and figures["qa1"] == figures["qa20"]
    assert hops["hit"] > hops["hit_uniform"] and hops["hit"] > hops["hit_position"]
    assert hops["change with the question"] > 0.3


def test_resumed_run_draws_like_an_unbroken_one(corpus: Path, tmp_path: Path) -> None:
    task = Questions.build(recipe(), corpus, tmp_path, torch.device("cpu"))
    each = len(task.train.questions) // 32
    whole, resumed = task.batches(0), task.batches(each + 2)
    later = [next(whole) for _ in range(each + 4)][each + 2 :]
    for one in later:
        other = next(resumed)
        assert torch.equal(one.age_BM, other.age_BM) and torch.equal(one.answer_B, other.answer_B)
        assert torch.equal(one.facts_BM2V, other.facts_BM2V) and one.linear == other.linear


def test_ages_count_from_latest_fact_with_gaps() -> None:
    rng = np.random.default_rng(0)
    assert add_random_time_gaps(4, 0, rng) == [3, 2, 1, 0]
    assert add_random_time_gaps(3, 1, rng) == [4, 2, 0]
    for _ in range(20):
        ages = add_random_time_gaps(9, 0.5, rng)
        assert ages[-1] == 0 and all(older - newer in (1, 2) for older, newer in pairwise(ages))


def test_gold_fact_counts_if_any_hop_prefers_it() -> None:
    weights = {0: torch.tensor([[0.6, 0.4, 0.0], [0.1, 0.2, 0.7]]), 1: torch.ones(2, 1)}
    assert compute_covered_share(weights, [{0, 1}, {0}]) == 0.75
    assert compute_covered_share(weights, [{1}, set()]) == 0


def test_gold_fact_moves_with_the_older_facts_that_are_not_read() -> None:
    question = Question(1, ("Ann sat.", "Bob ran.", "Cleo sat."), "Who ran?", "Bob", (0, 1))
    assert _find_latest_gold_facts(question, 2) == {0}
    assert _find_latest_gold_facts(question, 3) == {0, 1}


def test_trace_is_complete_and_survives_a_file(backend: LocalBackend, tmp_path: Path) -> None:
    trace = backend.trace(Request("tiny", STORY))
    validate(trace)
    assert trace.fields["target"].raw == "barn"
    assert trace.fields["facts"].labels[1] == "Bob went to the barn."
    assert trace.fields["question"].labels == ("Where is Bob?",)
    assert trace.maps["hops"].weights.shape == (2, 1, 1, 3)
    file.save(trace, tmp_path / "trace.npz")
    again = file.load(tmp_path / "trace.npz")
    assert again.request == trace.request and again.fields["facts"].kind == "facts"


def test_answer_is_less_likely_without_its_fact(backend: LocalBackend) -> None:
    before = backend.trace(Request("tiny", STORY, target="barn"))
    without = Request("tiny", STORY, target="barn", changes=(Hide("facts", (1,)),))
    after = backend.trace(without)
    assert not after.maps["hops"].weights[..., 1].any()
    assert after.output.probabilities[0] < before.output.probabilities[0] / 2


def test_unknown_words_are_named_and_skipped(backend: LocalBackend) -> None:
    story = STORY.replace("Cleo", "A zebra")
    trace = backend.trace(Request("tiny", story))
    assert "never seen a, zebra:" in trace.details["warning"]
    assert trace.fields["target"].raw == "barn"
    strange = backend.trace(Request("tiny", "Xx yy. Zz?"))
    validate(strange)


REFUSED = {
    "Ann went to the attic.": "no question at its end",
    "Where is Ann?": "The question has no facts",
    "?": "no question at its end",
    "Go. " * 200 + "Where is Ann?": "The story has 200 facts, but the limit is 10",
}


@pytest.mark.parametrize("text", REFUSED, ids=REFUSED.values())
def test_invalid_story_gives_one_sentence(backend: LocalBackend, text: str) -> None:
    with pytest.raises(InputError, match=REFUSED[text]):
        backend.trace(Request("tiny", text))


def test_unknown_answer_is_refused(backend: LocalBackend) -> None:
    with pytest.raises(InputError, match='"moon" is not an answer .* attic, barn'):
        backend.trace(Request("tiny", STORY, target="moon"))
