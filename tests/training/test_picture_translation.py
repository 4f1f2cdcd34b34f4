"""A translator with pictures is trained on mixed batches of scenes and photos.

It reads no held-out data.
"""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from areaviz.cards.card import read_card
from areaviz.lab.measure import Options, evaluate_checkpoint
from areaviz.lab.pictures import read_photos
from areaviz.lab.tasks.picture_encoder import EncoderTaskConfig
from areaviz.lab.tasks.picture_translation import (
    BATCH_KINDS,
    CONDITIONS,
    Example,
    PictureTranslation,
    PictureTranslationConfig,
    find_seen_words,
)
from areaviz.lab.train import train_recipe
from areaviz.models import MODELS
from areaviz.models.base import choose_device
from areaviz.models.tokenizer import UNKNOWN
from areaviz.samples import scenes
from areaviz.samples.scenes import MASK, make_scene
from tests import flickr

ENCODER = {"side": 128, "channels": 2}
STEPS: dict[str, Any] = {
    "steps": 6,
    "peak_rate": 1e-3,
    "warmup": 1,
    "validate_every": 6,
    "batch": 4,
}


def encoder(pictures: str) -> EncoderTaskConfig:
    model = {
        "layers": 1,
        "width": 16,
        "filter": 16,
        "heads": 2,
        "encoder": {**ENCODER, "grids": [8, 14]},
        "grid": 8,
    }
    own = {"words": 5, "captions_from": 1, "captions_each": 1, "vocabulary": 60, "model": model}
    return EncoderTaskConfig(
        name="encoder", task="encoder", pictures=pictures, **{**STEPS, **own, "steps": 2}
    )


def recipe(pictures: str) -> PictureTranslationConfig:
    text = {"layers": 1, "width": 16, "filter": 16, "heads": 2}
    return PictureTranslationConfig(
        name="doubly",
        task="picture translation",
        pictures=pictures,
        encoder_run="encoder",
        vocabulary=90,
        model={"text": text, "encoder": ENCODER},
        **STEPS,
    )


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenes, "SIZES_OF_SPLITS", {"train": 12, "val": 8, "test": 4})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return photos, and a text corpus with all their sentences and some more."""
    place = flickr.write(tmp_path_factory.mktemp("data"))
    pairs = [
        p.pair
        for split in ("train", "val", "test")
        for p in read_photos(place, split)
        if p.pair is not None
    ]
    pairs += [
        (make_scene("samples", n).english.text, make_scene("samples", n).german.text)
        for n in range(50, 60)
    ]
    folder = place / "multi30k" / "text"
    folder.mkdir(parents=True)
    for language, lines in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
        (folder / f"train.{language}.gz").write_bytes(
            gzip.compress("\n".join(lines).encode() + b"\n")
        )
    return place


@pytest.mark.usefixtures("few")
def test_scenes_become_a_multimodal_translator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_recipe(encoder("scenes"), tmp_path, tmp_path / "runs", "cpu")
    folder = train_recipe(recipe("scenes"), tmp_path, tmp_path / "runs", "cpu")
    card = read_card(folder / "card.json")
    assert (card.family, card.task, card.level) == ("doubly", "picture translation", "word")
    assert {"valid_loss", "valid_loss_without", "valid_loss_wrong"} <= card.history[0].keys()
    assert 0 <= card.history[0]["valid_pointing"] <= 1 and "pointing" in card.recipe["chosen_by"]
    MODELS[card.family].load(folder, card, choose_device("cpu"))
    measured, written = evaluate_checkpoint(folder, tmp_path, "val", Options(1), "cpu")
    assert measured == read_card(folder / "card.json") and len(written) == 8
    kinds = {
        f"{kind}{condition}"
        for kind in ("bleu", "colour", "noun", "ambiguous")
        for condition in CONDITIONS
    }
    assert kinds <= measured.figures["val"].keys()
    quality = measured.attention["encoder-decoder picture, val"]
    assert (
        0 < quality["picture_share"] < 1
        and {"pointing", "pointing_untrained", "mass_position"} <= quality.keys()
    )
    path = tmp_path / "runs" / "doubly"
    task = PictureTranslation.build(recipe("scenes"), tmp_path, path, choose_device("cpu"))
    assert UNKNOWN not in task.tokenizer.ids(f"a small {MASK} star")
    stream = task.batches(0)
    shapes = {
        (batch.source is not None, batch.pictures is not None)
        for batch in (next(stream) for _ in range(30))
    }
    assert shapes == {(True, False), (False, True), (True, True)}


def test_photos_become_a_translator_without_held_out_data(data: Path, tmp_path: Path) -> None:
    train_recipe(encoder("photos"), data, tmp_path, "cpu")
    folder = train_recipe(recipe("photos"), data, tmp_path, "cpu")
    card, written = evaluate_checkpoint(folder, data, "test", Options(2), "cpu")
    assert (
        len(written) == card.figures["test"]["sentences"] == 2
        and "colour" not in card.figures["test"]
    )
    assert "valid_pointing" not in card.history[0] and "no gold boxes" in card.recipe["chosen_by"]
    task = PictureTranslation.build(
        recipe("photos"), data, tmp_path / "doubly", choose_device("cpu")
    )
    held = {
        p.pair[0]
        for split in ("val", "test")
        for p in read_photos(data, split)
        if p.pair is not None
    }
    read = {one.source for kind in BATCH_KINDS for one in task.train.examples[kind]}
    assert held and not held & read
    assert len(task.train.examples["text"]) > len(task.train.examples["triple"])


def test_longest_source_comes_from_training(data: Path, tmp_path: Path) -> None:
    train_recipe(encoder("photos"), data, tmp_path, "cpu")
    (tmp_path / "doubly").mkdir()
    task = PictureTranslation.build(
        recipe("photos"), data, tmp_path / "doubly", choose_device("cpu")
    )
    long = Example(-1, "word " * 70, "Wort")
    more = {**task.train.examples, "text": [*task.train.examples["text"], long]}
    task.train = replace(task.train, examples=more)
    assert task.describe().trained_length == len(task.tokenizer.tokens(long.source))
    held = {
        **task.valid.examples,
        "triple": [*task.valid.examples["triple"], Example(-1, "word " * 90, "Wort")],
    }
    task.valid = replace(task.valid, examples=held)
    assert task.describe().trained_length == len(task.tokenizer.tokens(long.source)), (
        "not of validation"
    )


def test_hidden_words_are_visible_in_the_picture() -> None:
    sentence = make_scene("samples", 3).english
    example = Example(0, sentence.text, "", find_seen_words(sentence))
    rng = np.random.default_rng(0)
    assert example.masked(0, rng) == sentence.text
    hidden = example.masked(1, rng).split()
    for word, shown, kind in zip(sentence.words, hidden, sentence.kinds, strict=True):
        assert shown == (MASK if kind in ("size", "colour", "noun") else word)


@pytest.mark.usefixtures("few")
def test_batches_depend_only_on_seed_and_step(tmp_path: Path) -> None:
    train_recipe(encoder("scenes"), tmp_path, tmp_path / "runs", "cpu")
    (tmp_path / "runs" / "doubly").mkdir()
    task = PictureTranslation.build(
        recipe("scenes"), tmp_path, tmp_path / "runs" / "doubly", choose_device("cpu")
    )
    first, later = task.batches(0), task.batches(2)
    next(first), next(first)
    for _ in range(3):
        one, other = next(first), next(later)
        torch.testing.assert_close(one.target_out, other.target_out)
        assert (one.source is None) == (other.source is None)
