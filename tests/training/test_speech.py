"""A listener learns a toy corpus of two sounds, and its attention locates them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from areaviz.lab.loop import Trainer
from areaviz.lab.tasks import speech
from areaviz.lab.tasks.speech import Speech, SpeechConfig
from areaviz.trace.request import RATE


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Write two digits of one speaker, as tones of 400 and 1,600 hertz."""
    rows = [(digit, take) for digit in range(10) for take in range(12)]
    time = np.arange(int(0.2 * RATE)) / RATE
    parts = []
    for digit, take in rows:
        tone = np.sin(2 * np.pi * (300 + 320 * digit + take) * time)
        parts.append((tone * 8000).astype(np.int16))
    digits, takes = (np.array(column) for column in zip(*rows, strict=True))
    (tmp_path / "fsdd").mkdir()
    np.savez(
        tmp_path / "fsdd" / "fsdd_8khz_int16.npz",
        audio=np.concatenate(parts),
        offsets=np.cumsum([0, *map(len, parts)]),
        digit=digits.astype(np.int8),
        speaker=np.zeros(len(rows), np.int8),
        take=takes.astype(np.int16),
    )
    return tmp_path


def recipe(**options: object) -> SpeechConfig:
    values = {"name": "toy", "task": "speech", "peak_rate": 5e-3, "warmup": 5, "batch": 8}
    model = {"width": 32, "dropout": 0.0, "filters": 4, "reach": 4}
    return SpeechConfig(**{**values, "steps": 60, "model": model, **options})  # type: ignore[arg-type]


def test_loss_falls_and_the_run_is_described(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speech, "VALIDATION_EXAMPLES", 16)
    config = recipe(fewest=1, most=3, validate_every=30)
    task = Speech.build(config, corpus, tmp_path, torch.device("cpu"))
    trainer = Trainer(task, tmp_path / "run", torch.device("cpu"))
    trainer.train()
    first, last = trainer.history[0], trainer.history[-1]
    assert last["valid_loss"] < first["valid_loss"] < 3.0
    assert 0.0 <= last["valid_hits"] <= 1.0
    about = task.describe()
    assert (about.family, about.task, about.trained_length) == ("listener", "speech", 3)


def test_batches_depend_only_on_seed_and_step(corpus: Path, tmp_path: Path) -> None:
    task = Speech.build(recipe(fewest=2, most=3), corpus, tmp_path, torch.device("cpu"))
    again = task.batches(0)
    next(again)
    frames, ids = next(again)
    resumed_frames, resumed_ids = next(task.batches(1))
    assert torch.equal(ids, resumed_ids)
    assert torch.equal(frames.nan_to_num(7.0), resumed_frames.nan_to_num(7.0))
    assert frames.isnan().any() == (frames.shape[1] * len(frames) > frames[..., 0].isfinite().sum())
