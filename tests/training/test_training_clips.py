"""Films are used in full: slightly changed in training, unchanged in validation."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from areaviz.lab.loop import Trainer
from areaviz.lab.tasks.clips import MAX_SHIFT_PX, FilmedClip, Films, Video, VideoConfig
from areaviz.trace.errors import InputError
from tests import films

MODEL: dict[str, Any] = {"frames": 12, "side": 16, "colour": True, "width": 16, "dropout": 0.0}
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return films.write(tmp_path_factory.mktemp("data"))


def recipe(**options: Any) -> VideoConfig:
    values: dict[str, Any] = {"name": "toy", "task": "video", "clips": "people", "batch": 4}
    learning = {"peak_rate": 1e-2, "warmup": 5, "steps": 20, "validate_every": 10}
    return VideoConfig(**{**values, **learning, "model": MODEL, **options})


def test_watcher_learns_from_films_and_card_records_it(data: Path, tmp_path: Path) -> None:
    task = Video.build(recipe(), data, tmp_path, CPU)
    trainer = Trainer(task, tmp_path / "run", CPU)
    trainer.train()
    first, last = trainer.history
    assert last["valid_loss"] < first["valid_loss"] < 5
    about = task.describe()
    assert about.title == "Films of people, frames and motion, regular attention"
    assert "J-HMDB" in about.data["name"] and "research and education" in about.licence
    assert about.config["colour"] and about.trained_length == 12


def test_vocabulary_comes_from_training(data: Path, tmp_path: Path) -> None:
    task = Video.build(recipe(), data, tmp_path, CPU)
    words = {word for text in task.clips.sentences() for word in text.split()}
    # Four more are the tokenizer's own symbols.
    assert "heron" in words and len(task.tokenizer) == len(words) + 4


def test_validation_uses_unchanged_films(data: Path) -> None:
    clips = Films(data, MODEL)
    assert len(clips.valid) == films.SPLITS["val"]
    frames = clips.valid[1].frames
    assert frames.shape == (12, 16, 16, 3) and frames.dtype == np.uint8
    # The film is wider than high: black bars above and below, and the frame's colour between.
    assert (frames[:, [0, 1, -2, -1]] == 0).all()
    assert np.abs(frames[5, 4:12].astype(int) - films.colour(9, 5)).max() < 8


def film(text: str = "a fox") -> FilmedClip:
    frames = np.random.default_rng(0).integers(0, 100, (3, 16, 16, 3)).astype(np.uint8)
    return FilmedClip(frames, text)


def alike(changed: FilmedClip) -> list[bool]:
    """Return whether the film is the original, shifted and relit, and whether it is its mirror."""
    found, shifts = [], range(-MAX_SHIFT_PX, MAX_SHIFT_PX + 1)
    for frames in (film().frames, film().frames[:, :, ::-1]):
        differences = []
        for down, across in product(shifts, shifts):
            moved = np.roll(frames, (down, across), (1, 2)).astype(float)
            light = changed.frames.sum() / moved.sum()
            assert 0.74 < light < 1.26
            differences.append(np.abs(changed.frames - moved * light).max())
        found.append(min(differences) < 2)
    return found


def test_changed_film_is_moved_relit_and_often_mirrored() -> None:
    found = [alike(film().changed(np.random.default_rng(seed))) for seed in range(8)]
    assert all(sum(one) == 1 for one in found)
    assert 0 < sum(mirrored for _, mirrored in found) < 8


def test_left_stays_left() -> None:
    for seed in range(8):
        changed = film("the fox on the left").changed(np.random.default_rng(seed))
        assert alike(changed) == [True, False]


def test_film_changes_are_random_and_leave_the_original(data: Path) -> None:
    clips = Films(data, MODEL)
    one, again, other = (clips.drawn(np.random.default_rng(seed), 5) for seed in (1, 1, 2))
    for first, twin in zip(one, again, strict=True):
        assert first.text == twin.text and np.array_equal(first.frames, twin.frames)
    assert [film.text for film in one] != [film.text for film in other]
    original = film()
    before = original.frames.copy()
    original.changed(np.random.default_rng(3))
    assert np.array_equal(original.frames, before)


def test_missing_clips_are_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="digits, people"):
        Video.build(recipe(clips="cats"), tmp_path, tmp_path, CPU)
