"""Captioners are trained, shipped and measured: on scenes from pixels, on photos from features."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from areaviz.cards.card import read_card
from areaviz.lab.measure import Options, evaluate_checkpoint
from areaviz.lab.pictures import VIEWS, PhotoChanges
from areaviz.lab.sentences import choose_content_words, label_words
from areaviz.lab.tasks.captions import Captions, CaptionsConfig
from areaviz.lab.tasks.picture_encoder import EncoderTaskConfig
from areaviz.lab.train import train_recipe
from areaviz.models import MODELS
from areaviz.models.base import choose_device
from areaviz.models.generation import GenerationModel
from areaviz.samples import scenes
from areaviz.samples.scenes import make_scene
from areaviz.trace.errors import InputError
from tests import flickr

TINY = {"layers": 1, "width": 16, "filter": 16, "heads": 2, "dropout": 0.0}
COMMON: dict[str, Any] = {
    "steps": 2,
    "peak_rate": 1e-3,
    "warmup": 1,
    "validate_every": 2,
    "batch": 4,
    "vocabulary": 60,
}


def recipe(pictures: str, **options: Any) -> CaptionsConfig:
    model = {**TINY, "encoder": {"side": 128, "channels": 2}, "grid": 8, "area_size": 2}
    return CaptionsConfig(
        name="captions", task="captions", pictures=pictures, model=model, **{**COMMON, **options}
    )


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenes, "SIZES_OF_SPLITS", {"train": 8, "val": 4, "test": 4})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return flickr.write(tmp_path_factory.mktemp("data"))


@pytest.mark.usefixtures("few")
def test_scenes_become_a_measured_captioner(tmp_path: Path) -> None:
    folder = train_recipe(recipe("scenes"), tmp_path, tmp_path / "runs", "cpu")
    card = read_card(folder / "card.json")
    assert (card.family, card.task, card.mechanism) == ("captioner", "caption", "area")
    assert {"valid_loss", "valid_pointing"} <= card.history[0].keys()
    with pytest.raises(InputError, match='Measure the split "val" first'):
        evaluate_checkpoint(folder, tmp_path, "test", Options(2), "cpu")
    measured, captions = evaluate_checkpoint(folder, tmp_path, "val", Options(2), "cpu")
    assert measured == read_card(folder / "card.json") and len(captions) == 4
    assert {"bleu_4", "rouge_l", "cider_d", "true", "beam"} <= measured.figures["val"].keys()
    quality = measured.attention["encoder-decoder, val"]
    assert {
        f"{m}{b}" for m in ("pointing", "mass") for b in ("", "_uniform", "_position", "_untrained")
    } <= set(quality)
    assert ("own_pointing" in quality) == (measured.figures["val"]["true"] > 0)
    assert measured.pointing_head is not None
    assert "pointing_head" not in measured.recipe
    MODELS[card.family].load(folder, card, choose_device("cpu"))


def test_photos_are_described_from_a_finished_encoder(data: Path, tmp_path: Path) -> None:
    model = {**TINY, "encoder": {"side": 128, "channels": 2}, "grid": 8}
    encoder = EncoderTaskConfig(
        name="encoder",
        task="encoder",
        model=model,
        words=5,
        captions_from=1,
        **{**COMMON, "steps": 3},
    )
    train_recipe(encoder, data, tmp_path, "cpu")
    folder = train_recipe(recipe("photos", encoder_run="encoder"), data, tmp_path, "cpu")
    weights = torch.load(tmp_path / "encoder" / "best.pt", weights_only=True)
    task = Captions.build(
        recipe("photos", encoder_run="encoder"), data, tmp_path / "captions", choose_device("cpu")
    )
    kept = task.network.pictures.state_dict()
    for name, value in kept.items():
        torch.testing.assert_close(value, weights[f"captioner.pictures.{name}"])
    assert [view.shape for view in task.train.features] == [(12, 64, 16)] * VIEWS
    evaluate_checkpoint(folder, data, "val", Options(1), "cpu")  # chooses the head
    measured, _ = evaluate_checkpoint(folder, data, "test", Options(1), "cpu")
    assert "true" not in measured.figures["test"] and measured.figures["test"]["captions"] == 4


@pytest.mark.usefixtures("few")
def test_own_words_are_measured_in_true_captions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = train_recipe(recipe("scenes"), tmp_path, tmp_path / "runs", "cpu")
    true = [make_scene("test", number).list_true_sentences() for number in range(4)]
    said = ["a bird", *(list(sentences)[-1] for sentences in true[1:])]
    evaluate_checkpoint(folder, tmp_path, "val", Options(1), "cpu")  # chooses the head
    monkeypatch.setattr(GenerationModel, "generate_outputs", lambda *_: said)
    measured, _ = evaluate_checkpoint(folder, tmp_path, "test", Options(1), "cpu")
    boxed = [len(sentences[text].boxes) for sentences, text in zip(true[1:], said[1:], strict=True)]
    quality = measured.attention["encoder-decoder, test"]
    assert measured.figures["test"]["true"] == 75 and quality["own_words"] == sum(boxed)
    assert 0 <= quality["own_pointing"] <= 1 and 0 < quality["own_mass"] < 1


@pytest.mark.usefixtures("few")
def test_pointing_is_measured_on_a_fixed_picture_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def points(task: Captions, features: torch.Tensor, chosen: np.ndarray) -> list[bool]:
        assert len(features) == len(chosen)
        asked.extend(chosen.tolist())
        return [True]

    monkeypatch.setattr("areaviz.lab.tasks.captions.POINTED", 3)
    monkeypatch.setattr(Captions, "_points", points)
    (tmp_path / "runs" / "one").mkdir(parents=True)
    task = Captions.build(
        recipe("scenes", batch=2), tmp_path, tmp_path / "runs" / "one", choose_device("cpu")
    )
    with torch.no_grad():
        task.validate(0)
    assert asked == [0, 1, 2]


@pytest.mark.usefixtures("few")
def test_batches_depend_only_on_seed_and_step(tmp_path: Path) -> None:
    def words(first: int, seed: int) -> list[list[int]]:
        task = Captions.build(
            recipe("scenes", seed=seed), tmp_path, tmp_path / "runs" / "one", choose_device("cpu")
        )
        stream = task.batches(first)
        return [next(stream).captions.flatten().tolist() for _ in range(4)]

    (tmp_path / "runs" / "one").mkdir(parents=True)
    assert words(0, 1)[2:] == words(2, 1)[:2]
    assert words(0, 1) != words(0, 2)


def test_changed_photo_keeps_its_shape_and_content() -> None:
    pixels = torch.zeros(6, 32, 32, 3, dtype=torch.uint8)
    pixels[:, 8:24, 8:24] = 220
    changed = PhotoChanges.draw(6, torch.Generator().manual_seed(0)).change(pixels)
    assert changed.shape == pixels.shape and changed.dtype == torch.uint8
    assert (changed[:, 12:20, 12:20].float().mean((1, 2, 3)) > 150).all()
    assert len({one.numpy().tobytes() for one in changed}) == 6


def test_content_words_are_frequent_without_function_words() -> None:
    captions = [("a small dog", "the dog runs"), ("a small cat",), ("two dogs and a cat", "a cat")]
    words = choose_content_words(captions, 3)
    assert words[:2] == ["small", "cat"] or words[:2] == ["cat", "small"]
    assert not {"a", "the", "and"} & set(words)
    labels = label_words(captions, ["small", "dog", "cat"])
    np.testing.assert_array_equal(labels, np.array([[1, 1, 0], [1, 0, 1], [0, 0, 1]], np.float32))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("attention", ["soft", "hard", "none"])
def test_tellers_are_trained_and_measured(attention: str, tmp_path: Path) -> None:
    encoder = EncoderTaskConfig(
        name="encoder",
        task="encoder",
        pictures="scenes",
        words=5,
        captions_from=1,
        captions_each=1,
        model={**TINY, "encoder": {"side": 128, "channels": 2, "grids": [8, 14]}, "grid": 8},
        **COMMON,
    )
    train_recipe(encoder, tmp_path, tmp_path / "runs", "cpu")
    model = {
        "attention": attention,
        "encoder": {"side": 128, "channels": 2},
        "width": 8,
        "scoring": 4,
    }
    options: dict[str, Any] = {"network": "teller", "encoder_run": "encoder", "pair": "tellers"}
    plan = CaptionsConfig(
        name="soft", task="captions", pictures="scenes", model=model, **COMMON, **options
    )
    folder = train_recipe(plan, tmp_path, tmp_path / "runs", "cpu")
    assert list((tmp_path / "runs" / "encoder").glob("features-14-8-view0-*.npy"))
    card, captions = evaluate_checkpoint(folder, tmp_path, "val", Options(2), "cpu")
    assert len(captions) == 4 and card.family == "teller" and card.figures["val"]["captions"] == 4
    assert bool(card.attention) == (attention != "none")
    again = Captions.build(
        replace(plan, start_run="soft"), tmp_path, tmp_path / "runs" / "soft", choose_device("cpu")
    )
    best = torch.load(tmp_path / "runs" / "soft" / "best.pt", weights_only=True)
    torch.testing.assert_close(dict(again.network.state_dict()), best)


@pytest.mark.usefixtures("few")
def test_supervised_captioner_card_names_its_head(tmp_path: Path) -> None:
    first = train_recipe(recipe("scenes"), tmp_path, tmp_path / "runs", "cpu")
    plan = replace(
        recipe("scenes"),
        name="told",
        start_run="captions",
        any_true=True,
        captions_each=1,
        told=0.1,
        told_head=(0, 1),
    )
    folder = train_recipe(plan, tmp_path, tmp_path / "runs", "cpu")
    card = read_card(folder / "card.json")
    assert card.title.endswith("told where to look") and card.told_head == (0, 1)
    assert "Head 2 of layer 1 was told where to look" in card.limits
    plain = read_card(first / "card.json")
    assert plain.told_head is None and "told" not in plain.title + plain.limits
    # The ids of its words are those of the run that it started from.
    assert card.files["tokenizer.model"] == plain.files["tokenizer.model"]
    task = Captions.build(plan, tmp_path, tmp_path / "runs" / "told", choose_device("cpu"))
    batch = next(task.batches(0))
    assert batch.told is not None and len(batch.captions) == 4
    assert batch.told.overlap.shape[1] == task.network.config.areas(0).make_grid(64).count
    assert set(batch.told.sentence.tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"pictures": "scenes", "network": "teller"}, 'Only the network "captioner"'),
        ({"pictures": "photos"}, "Give an encoder_run, whose views of a photo are fixed"),
    ],
)
def test_invalid_supervision_is_refused(
    options: dict[str, Any], told: str, data: Path, tmp_path: Path, few: None
) -> None:
    plan = replace(recipe(options["pictures"]), **{**options, "told": 0.1})
    with pytest.raises(InputError, match=told):
        Captions.build(plan, data, tmp_path / "captions", choose_device("cpu"))
