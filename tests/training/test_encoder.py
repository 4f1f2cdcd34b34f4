"""The picture encoder: its selection before and after captions are learned."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from areaviz.lab.tasks.picture_encoder import EncoderTask, EncoderTaskConfig
from areaviz.models.base import choose_device
from areaviz.samples import scenes


def build(folder: Path, **options: Any) -> EncoderTask:
    model = {
        "layers": 1,
        "width": 16,
        "filter": 16,
        "heads": 2,
        "encoder": {"side": 128, "channels": 2},
        "grid": 8,
    }
    values: dict[str, Any] = {
        "steps": 4,
        "peak_rate": 1e-3,
        "warmup": 1,
        "batch": 4,
        "vocabulary": 60,
        "words": 5,
    }
    config = EncoderTaskConfig(
        name="encoder", pictures="scenes", model=model, captions_each=1, **{**values, **options}
    )
    (folder / "runs" / "encoder").mkdir(parents=True, exist_ok=True)
    task = EncoderTask.build(config, folder, folder / "runs" / "encoder", choose_device("cpu"))
    task.network.eval().requires_grad_(False)
    return task


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenes, "SIZES_OF_SPLITS", {"train": 8, "val": 4, "test": 4})


def test_precision_alone_counts_without_captions(tmp_path: Path) -> None:
    measured = build(tmp_path, captions_from=4).validate(3)
    assert measured["score"] == -measured["valid_map"]


def test_captions_count_only_after_they_are_learned(tmp_path: Path) -> None:
    task = build(tmp_path, captions_from=2)
    guessing = math.log(len(task.tokenizer))
    for step in (1, 2):
        measured = task.validate(step)
        assert measured["score"] == pytest.approx(guessing - measured["valid_map"])
    measured = task.validate(3)
    assert measured["score"] == pytest.approx(measured["valid_loss"] - measured["valid_map"])


def test_card_states_how_long_captions_were_trained(tmp_path: Path) -> None:
    task = build(tmp_path)
    about = task.describe()
    assert (
        about.trained_length
        == max(len(text.split()) for text in task.train.texts())
        != task.config.words
    )
    assert "{" not in about.limits
