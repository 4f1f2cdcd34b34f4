"""A watcher learns from newly drawn clips, and its card describes it correctly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
import torch
from torch import Tensor

from areaviz.lab.loop import Trainer
from areaviz.lab.tasks import TRAININGS, clips
from areaviz.lab.tasks.clips import Video, VideoConfig
from areaviz.models.base import TOKENIZER
from areaviz.models.generation import GENERATION_NETWORKS
from areaviz.models.network import Pass
from areaviz.models.tokenizer import PAD, UNKNOWN, Tokenizer, shift_targets
from areaviz.samples.digits import ACTIONS, CLIP_FRAMES, CLIP_SIDE, DIGITS

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use fewer digits than the app's own watchers, and fewer validation clips."""
    for name, value in (
        ("TRAINING_DRAWINGS", 3),
        ("HELD_OUT_DRAWINGS", 2),
        ("VALIDATION_CLIPS", 12),
    ):
        monkeypatch.setattr(clips, name, value)
    yield


def recipe(**options: Any) -> VideoConfig:
    values: dict[str, Any] = {"name": "toy", "task": "video", "peak_rate": 1e-2, "warmup": 5}
    model = {"width": 16, "dropout": 0.0, "area_size": 2, "key_mode": "boundary"}
    return VideoConfig(**{**values, "batch": 6, "steps": 12, "model": model, **options})


def build(folder: Path, **options: Any) -> Video:
    return Video.build(recipe(**options), folder, folder, CPU)


def test_loss_falls_and_the_run_is_described(tmp_path: Path) -> None:
    task = build(tmp_path, validate_every=6)
    trainer = Trainer(task, tmp_path / "run", CPU)
    trainer.train()
    first, last = trainer.history[0], trainer.history[-1]
    assert last["valid_loss"] < first["valid_loss"] < 3.3
    assert last["train_loss"] < first["train_loss"]
    assert 0.0 <= last["valid_words"] <= 1.0
    about = task.describe()
    assert (about.family, about.task, about.level) == ("watcher", "video", "word")
    assert (about.mechanism, about.trained_length) == ("area", CLIP_FRAMES)
    assert about.title == "Clips, frames and motion, areas up to 2 with boundary keys"
    assert about.config == asdict(task.network.config)
    # The card's options make an equal network.
    options, network = GENERATION_NETWORKS[about.family]
    network(options(**about.config)).load_state_dict(task.network.state_dict())
    task.save(tmp_path / "run")
    assert len(Tokenizer.load(tmp_path / "run" / TOKENIZER)) == about.config["vocabulary"]


@pytest.mark.parametrize(
    ("model", "mechanism"),
    [({"area_size": 1}, "regular"), ({"attends": False, "area_size": 4}, "none")],
)
def test_card_describes_its_attention(
    tmp_path: Path, model: dict[str, Any], mechanism: str
) -> None:
    about = build(tmp_path, model={"width": 16, **model}).describe()
    assert about.mechanism == mechanism
    assert ("no attention" in about.title) == (mechanism == "none")


def test_clip_recipes_use_the_video_task() -> None:
    assert resolve_name(TRAININGS["video"]) is Video and Video.Recipe is VideoConfig


def test_batches_depend_only_on_seed_and_step(tmp_path: Path) -> None:
    task = build(tmp_path)
    again = task.batches(0)
    first, second = next(again), next(again)
    resumed = next(build(tmp_path).batches(1))
    assert all(map(torch.equal, second, resumed))
    assert not torch.equal(first[0], second[0])
    other = next(build(tmp_path, seed=2).batches(0))
    assert not torch.equal(first[0], other[0])


def test_batch_has_frames_and_their_actions(tmp_path: Path) -> None:
    task = build(tmp_path)
    frames, ids = task.batch(task.clips.valid[:4])
    assert frames.shape == (4, CLIP_FRAMES, CLIP_SIDE, CLIP_SIDE) and frames.dtype == torch.uint8
    for row, clip in enumerate(task.clips.valid[:4]):
        assert torch.equal(frames[row], torch.from_numpy(clip.frames))
        words = [one for one in ids[row].tolist() if one != PAD]
        assert task.tokenizer.decode(words)[0] == clip.text


def test_every_word_is_known(tmp_path: Path) -> None:
    tokenizer = build(tmp_path).tokenizer
    for word in ("the", "and", "then", *DIGITS, *" ".join(ACTIONS).split()):
        ids = tokenizer.ids(word)
        assert len(ids) == 2 and UNKNOWN not in ids
        assert tokenizer.decode(ids)[0] == word


def test_validation_clips_are_separate_and_fixed(tmp_path: Path) -> None:
    one, other = build(tmp_path), build(tmp_path, seed=9)
    assert len(one.clips.valid) == 12
    for clip, twin in zip(one.clips.valid, other.clips.valid, strict=True):
        assert clip.text == twin.text and torch.equal(
            *map(torch.from_numpy, (clip.frames, twin.frames))
        )


class Knows:
    """A network that predicts the right words with certainty, except for some confused words."""

    def __init__(self, task: Video, wrong: dict[str, str]) -> None:
        self.tokenizer, self.wrong = task.tokenizer, wrong
        self.texts = {clip.frames.tobytes(): clip.text for clip in task.clips.valid}

    def attend(self, frames: Tensor, target: Tensor, need_weights: bool = True) -> Pass:
        logits = torch.zeros(*target.shape, len(self.tokenizer))
        for row, clip in enumerate(frames.numpy()):
            words = [self.wrong.get(word, word) for word in self.texts[clip.tobytes()].split()]
            for place, one in enumerate(self.tokenizer.ids(" ".join(words))):
                logits[row, place, one] = 30.0
        return Pass(logits, {})


def test_validation_counts_the_words_that_clips_tell(tmp_path: Path) -> None:
    task = build(tmp_path, batch=5)
    task.network = Knows(task, {})  # type: ignore[assignment]
    found = task.validate(0)
    assert found["valid_words"] == 1.0 and found["score"] == found["valid_loss"] < 1e-6
    # Function words do not count, and each differing word of an action is counted.
    task.network = Knows(task, {"then": "the", "moves": "turns"})  # type: ignore[assignment]
    told, moves = 0, 0
    for clip in task.clips.valid:
        for word in clip.text.split():
            told += word not in ("the", "and", "then")
            moves += word == "moves"
    assert moves and task.validate(0)["valid_words"] == pytest.approx(1 - moves / told)


def test_loss_is_that_of_the_next_word(tmp_path: Path) -> None:
    task = build(tmp_path, label_smoothing=0.0)
    task.network.eval()
    frames, ids = task.batch(task.clips.valid[:3])
    likely = task.network.attend(frames, shift_targets(ids)).logits.log_softmax(-1)
    losses = []
    for row in range(3):
        for time in range(ids.shape[1]):
            if ids[row, time] != PAD:
                losses.append(-likely[row, time, ids[row, time]])
    torch.testing.assert_close(task.loss((frames, ids)), torch.stack(losses).mean())
