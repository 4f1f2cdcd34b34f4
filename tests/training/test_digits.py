"""A digit reader is trained from MNIST's files, resumes, is shipped and measured."""

from __future__ import annotations

import gzip
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from areaviz.cards.card import read_card
from areaviz.lab.loop import Trainer, read_training_texts
from areaviz.lab.measure import Options, evaluate_checkpoint
from areaviz.lab.tasks.digits import (
    ALWAYS_TOLD,
    CAN_BE_TOLD,
    TOLD,
    TOLD_WEIGHT,
    VALIDATION_DIGITS,
    DigitBatch,
    Digits,
    DigitsConfig,
)
from areaviz.lab.train import train_recipe
from areaviz.models import MODELS
from areaviz.models.base import choose_device
from areaviz.models.digit_reader import to_unit_range
from areaviz.samples.digits import draw_digits
from areaviz.trace.errors import InputError
from tests.sampled import sampled

MODELS_OF: dict[str, dict[str, Any]] = {
    "ram": {"kind": "cluttered", "glimpses": 2, "side": 8, "scales": 2, "width": 16},
    "dram": {"kind": "pairs", "glimpses": 1, "width": 16},
    "stn": {"kind": "cluttered", "width": 2},
    "rnn-stn": {"kind": "pairs", "width": 2, "hidden": 8},
    "items": {"kind": "cluttered", "hard": True, "looks": 2, "channels": 4, "width": 8},
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return twenty drawn digits, repeated many times, in MNIST's format."""
    data = tmp_path_factory.mktemp("data")
    (data / "mnist").mkdir()
    labels = np.arange(20) % 10
    images = draw_digits(labels, np.random.default_rng(0))
    for name, count in (("train", VALIDATION_DIGITS + 40), ("t10k", 20)):
        each = np.arange(count) % 20
        head = struct.pack(">4I", 2051, count, 28, 28), struct.pack(">2I", 2049, count)
        (data / "mnist" / f"{name}-images-idx3-ubyte.gz").write_bytes(
            gzip.compress(head[0] + images[each].tobytes())
        )
        content = head[1] + labels[each].astype(np.uint8).tobytes()
        (data / "mnist" / f"{name}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(content))
    return data


def recipe(network: str, **options: Any) -> DigitsConfig:
    values = {
        "steps": 2,
        "peak_rate": 1e-3,
        "warmup": 1,
        "validate_every": 2,
        "batch": 4,
        "drawn": 10,
        **options,
    }
    return DigitsConfig(
        name=network, task="digits", network=network, model=MODELS_OF[network], **values
    )


def test_card_notes_supervision_until_the_end(corpus: Path, tmp_path: Path) -> None:
    steps = recipe("ram").steps
    task = Digits.build(recipe("ram", told=steps), corpus, tmp_path, choose_device("cpu"))
    looks = "every look but the first"
    assert task.describe().limits.endswith(ALWAYS_TOLD.format(looks=looks))


def test_card_without_attention_does_not_mention_looks(corpus: Path, tmp_path: Path) -> None:
    plain = replace(recipe("stn"), model={**MODELS_OF["stn"], "attends": False, "width": 3})
    described = Digits.build(plain, corpus, tmp_path, choose_device("cpu")).describe()
    assert (described.mechanism, described.limits) == (
        "none",
        read_training_texts("digits", drawn=0).limits,
    )
    assert described.title.startswith("No attention") and described.title.endswith("3 channels")


@pytest.mark.parametrize("network", sampled(MODELS_OF, *list(MODELS_OF)[:1]))
def test_recipe_becomes_a_measured_checkpoint(network: str, corpus: Path, tmp_path: Path) -> None:
    folder = train_recipe(recipe(network), corpus, tmp_path, "cpu")
    card = read_card(folder / "card.json")
    assert (card.family, card.task, len(card.history)) == (network, "digits", 1)
    assert {"valid_loss", "valid_error", "train_loss"} <= card.history[
        0
    ].keys() and "score" not in card.history[0]
    measured, _ = evaluate_checkpoint(folder, corpus, "test", Options(), "cpu")
    assert measured == read_card(folder / "card.json")
    assert measured.figures["test"]["pictures"] == (
        10 if MODELS_OF[network]["kind"] == "pairs" else 20
    )
    looks = measured.attention["looks, test"]
    own = [name for name in looks if not name.endswith(("_uniform", "_position", "_untrained"))]
    assert {
        f"{name}{suffix}" for name in own for suffix in ("", "_uniform", "_position", "_untrained")
    } == set(looks)
    MODELS[card.family].load(folder, card, choose_device("cpu"))


def test_batches_depend_only_on_seed_and_step(corpus: Path, tmp_path: Path) -> None:
    def pictures(first: int, seed: int) -> list[int]:
        task = Digits.build(recipe("ram", seed=seed), corpus, tmp_path, choose_device("cpu"))
        stream = task.batches(first)
        return [int(next(stream).scenes.pictures.astype(int).sum()) for _ in range(4)]

    assert pictures(0, 1)[2:] == pictures(2, 1)[:2]
    assert pictures(0, 1) != pictures(0, 2)


@pytest.mark.parametrize("network", CAN_BE_TOLD)
def test_supervision_applies_only_to_first_updates(
    network: str, corpus: Path, tmp_path: Path
) -> None:
    task = Digits.build(recipe(network, told=2, steps=4), corpus, tmp_path, choose_device("cpu"))
    stream = task.batches(1)
    batches = [next(stream) for _ in range(2)]
    assert [batch.told for batch in batches] == [True, False]
    scenes = batches[0].scenes
    torch.manual_seed(0)
    told = task.loss(batches[0])
    torch.manual_seed(0)
    untold = task.loss(DigitBatch(scenes, told=False))
    torch.manual_seed(0)
    reading = task.network(to_unit_range(scenes.pictures, torch.device("cpu")), sample=True)
    side = scenes.pictures.shape[1]
    apart = []
    for picture, boxes in enumerate(scenes.boxes.tolist()):
        for digit, (left, top, right, bottom) in enumerate(boxes):
            middle = (left + right) / side - 1, (top + bottom) / side - 1
            for aim in reading.aims[picture, digit].tolist():
                apart += [(place - wanted) ** 2 for place, wanted in zip(aim, middle, strict=True)]
    assert float((told - untold).detach()) == pytest.approx(TOLD_WEIGHT * np.mean(apart), rel=1e-3)
    looks = "every look but the first" if network == "ram" else "its first look at it"
    assert task.describe().limits.endswith(TOLD.format(told=2, looks=looks))


@pytest.mark.parametrize("network", ["stn", "items"])
def test_supervision_needs_a_network_with_aims(network: str) -> None:
    with pytest.raises(InputError, match=f'The network "{network}" cannot learn .* ram, dram'):
        recipe(network, told=2)


def test_drawn_digits_match_the_requested_number(corpus: Path, tmp_path: Path) -> None:
    for drawn in (10, 6, 10):
        task = Digits.build(recipe("ram", drawn=drawn), corpus, tmp_path, choose_device("cpu"))
        assert len(task.digits) == len(task.labels) == 40 + drawn
    assert len(list(tmp_path.glob("drawn-*.npy"))) == 2


def test_score_combines_error_and_hit_rate(corpus: Path, tmp_path: Path) -> None:
    task = Digits.build(recipe("ram"), corpus, tmp_path, choose_device("cpu"))
    measured = task.validate(0)
    expected = measured["valid_error"] + 0.05 * (1 - measured["valid_hit"])
    assert measured["score"] == pytest.approx(expected)


@pytest.mark.long
def test_resuming_does_not_depend_on_memory_layout(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = recipe("stn", steps=4, validate_every=2)

    def trainer(runs: Path) -> Trainer:
        (runs / "stn").mkdir(parents=True, exist_ok=True)
        return Trainer(
            Digits.build(whole, corpus, runs / "stn", choose_device("cpu")),
            runs / "stn",
            choose_device("cpu"),
        )

    def killed(trainer: Trainer, valid_loss: float) -> dict[str, float]:
        validate(trainer, valid_loss)
        raise KeyboardInterrupt

    (expected := trainer(tmp_path / "whole")).train()
    validate = Trainer._validate
    with monkeypatch.context() as patch:
        patch.setattr(
            "areaviz.lab.tasks.digits.optimise_for_training", lambda network, device: network
        )
        patch.setattr(Trainer, "_validate", killed)
        with pytest.raises(KeyboardInterrupt):
            trainer(tmp_path / "killed").train()
    found = trainer(tmp_path / "killed")
    assert found.step == 2
    found.train()
    for one, other in zip(expected.network.parameters(), found.network.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_hard_attention_may_start_from_soft(corpus: Path, tmp_path: Path) -> None:
    soft = replace(recipe("items"), name="soft", model={**MODELS_OF["items"], "hard": False})
    train_recipe(soft, corpus, tmp_path, "cpu")
    (tmp_path / "hard").mkdir()
    task = Digits.build(
        recipe("items", start_run="soft"), corpus, tmp_path / "hard", choose_device("cpu")
    )
    weights = torch.load(tmp_path / "soft" / "best.pt", weights_only=True)
    for name, value in task.network.state_dict().items():
        torch.testing.assert_close(value, weights[name])
