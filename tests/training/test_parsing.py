"""A parser learns a small treebank of made-up sentences; its brackets are tokens."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import torch

from areaviz.lab.loop import Trainer
from areaviz.lab.tasks.trees import MAX_WORDS, Parsing, ParsingConfig
from tests.data.test_treebank import Line, write_treebank

CPU = torch.device("cpu")
WHO, VERBS, WHAT = ("Ida", "Olaf", "Mona"), ("paints", "sells"), ("boats", "jars")
WHOLE = "(S (NP XX )NP (VP XX (NP XX )NP )VP XX )S"
SHORT = "(S (NP XX )NP (VP XX )VP XX )S"


def of_length(words: int) -> tuple[str, str]:
    """Return a sentence with this number of words and a flat tree."""
    return " ".join(["Ida"] * words), f"(FRAG {'XX ' * words})FRAG"


def lines(split: str) -> list[Line]:
    found = []
    for who, verb, what in product(WHO, VERBS, WHAT):
        found.append((split, f"{who} {verb} {what} .", WHOLE))
        found.append((split, f"{who} {verb} .", SHORT))
    return found


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Write sentences of three or four words, and a few longer ones."""
    made = lines("train") + lines("dev")
    made += [("train", *of_length(words)) for words in (MAX_WORDS, MAX_WORDS + 1, 30, 31)]
    made += [("dev", *of_length(words)) for words in (MAX_WORDS, MAX_WORDS + 1)]
    write_treebank(tmp_path, made)
    return tmp_path


def recipe(**options: object) -> ParsingConfig:
    values: dict[str, object] = {
        "name": "toy",
        "task": "parsing",
        "level": "token",
        "vocabulary": 60,
        "network": "lstm",
        "size": "",
        "steps": 60,
        "peak_rate": 2e-2,
        "warmup": 5,
        "batch_tokens": 120,
        "validate_every": 30,
        "model": {"width": 16, "depth": 1, "heads": 2, "area_size": 3, "dropout": 0.0},
        **options,
    }
    return ParsingConfig(**values)  # type: ignore[arg-type]


def task_of(corpus: Path, **options: object) -> Parsing:
    return Parsing.build(recipe(**options), corpus, corpus, CPU)


def test_tokenizer_has_a_token_for_every_bracket(corpus: Path) -> None:
    tokenizer = task_of(corpus).tokenizer
    for _, text, tree in lines("train") + [("", *of_length(5))]:
        assert [token.text for token in tokenizer.tokens(tree)] == tree.split()
        assert tokenizer.decode(tokenizer.ids(tree))[0] == tree.strip()
        assert tokenizer.decode(tokenizer.ids(text))[0] == text


def test_tokenizer_learns_no_token_from_the_trees(corpus: Path) -> None:
    """Check that trees, which are far more frequent than any word, take no room from words."""
    sentences, symbols = Parsing.texts([("Ida sings", SHORT), ("Olaf", "(NP XX )NP")])
    assert sentences == ["Ida sings", "Olaf"]
    assert symbols == ["(NP", "(S", "(VP", ")NP", ")S", ")VP", "XX"]


def test_training_may_have_longer_sentences(corpus: Path) -> None:
    def words(found: list[tuple[str, str]]) -> list[int]:
        return sorted({len(text.split()) for text, _ in found})

    wide = recipe(longest_trained=30)
    assert words(Parsing.read(wide, corpus, "train")) == [3, 4, MAX_WORDS, MAX_WORDS + 1, 30]
    assert words(Parsing.read(wide, corpus, "val")) == [3, 4, MAX_WORDS]
    assert words(Parsing.read(recipe(), corpus, "train")) == [3, 4, MAX_WORDS]
    narrow = recipe(longest_trained=3)
    assert words(Parsing.read(narrow, corpus, "train")) == [3]
    assert words(Parsing.read(narrow, corpus, "val")) == [3, 4, MAX_WORDS]


def test_pairs_are_sentences_and_their_trees(corpus: Path) -> None:
    task = task_of(corpus, longest_trained=30)
    assert len(task.train_pairs) == 24 + 3 and len(task.valid_pairs) == 24 + 1
    texts = [[task.tokenizer.decode(one)[0] for one in pair] for pair in task.valid_pairs[:2]]
    assert texts == [["Ida paints boats .", WHOLE], ["Ida paints .", SHORT]]


def test_loss_falls_and_the_run_is_described(corpus: Path, tmp_path: Path) -> None:
    task = task_of(corpus, longest_trained=30)
    trainer = Trainer(task, tmp_path / "run", CPU)
    before = task.validate(0)["valid_loss"]
    trainer.train()
    first, last = (entry["valid_loss"] for entry in trainer.history)
    # A model that knows only token frequencies has a loss of more than 1.5 nats.
    assert last < first < before and last < 1.0
    about = task.describe()
    assert (about.family, about.task, about.level) == ("lstm", "parsing", "token")
    assert about.mechanism == "area" and about.title == "Trees, LSTM, areas up to 3"
    assert about.config["vocabulary"] == len(task.tokenizer)
    assert about.data["train"].startswith("27 sentences")
    # The longest sentence has 30 words, each with at least one token.
    assert about.trained_length == len(task.tokenizer.tokens(of_length(30)[0])) >= 30
    limit = about.recipe["length_limit"]
    for source, target in task.valid_pairs:
        assert len(target) <= limit["ratio"] * len(source) + limit["extra"]
