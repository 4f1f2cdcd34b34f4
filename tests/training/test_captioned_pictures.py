"""Features of a finished encoder are cached, and recomputed when their inputs change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from areaviz.lab.loop import load_or_make_array
from areaviz.lab.pictures import CaptionedPictures
from areaviz.models.pictures import ENCODERS, EncoderConfig, PictureEncoder

CPU = torch.device("cpu")


def pictures(first: int = 0) -> CaptionedPictures:
    pixels = np.arange(first, first + 2 * 32 * 32 * 3).astype(np.uint8).reshape(2, 32, 32, 3)
    return CaptionedPictures("scenes", pixels, [("one",), ("two",)], [(), ()], changes=False)


def encoder() -> PictureEncoder:
    return PictureEncoder(EncoderConfig(32, 2, (2,)))


def trained(run: Path, seed: int) -> Path:
    """Return a run whose best weights are random."""
    torch.manual_seed(seed)
    run.mkdir(exist_ok=True)
    weights = {
        f"captioner.pictures.{name}": value for name, value in encoder().state_dict().items()
    }
    torch.save({**weights, "words.bias": torch.zeros(1)}, run / "best.pt")
    return run


def seen(given: CaptionedPictures, run: Path) -> np.ndarray:
    return np.stack(given.encoded(encoder(), run, CPU).features)


def test_features_depend_on_weights_and_pictures(tmp_path: Path) -> None:
    first = seen(pictures(), trained(tmp_path / "run", 1))
    again = seen(pictures(), tmp_path / "run")
    np.testing.assert_array_equal(first, again)
    assert len(list((tmp_path / "run").glob("features-2-2-view0-*.npy"))) == 1
    other_pictures = seen(pictures(9), tmp_path / "run")
    other_weights = seen(pictures(), trained(tmp_path / "run", 2))
    assert not np.array_equal(first, other_pictures) and not np.array_equal(first, other_weights)
    assert len(list((tmp_path / "run").glob("features-*.npy"))) == 3


def test_cached_array_is_computed_once(tmp_path: Path) -> None:
    path, made = tmp_path / "deep" / "one.npy", []

    def make() -> np.ndarray:
        made.append(1)
        return np.arange(3)

    for _ in range(2):
        assert load_or_make_array(path, make).tolist() == [0, 1, 2]
    assert len(made) == 1 and [one.name for one in path.parent.glob("*.npy")] == ["one.npy"]


def test_card_names_the_pretrained_picture_encoder() -> None:
    photos = replace(pictures(), kind="photos")
    assert "without any larger network's help" in photos.about("small").limits
    borrowed = photos.about("resnet152").limits
    assert "ResNet-152" in borrowed and "without" not in borrowed
    for kind in ENCODERS:
        assert "{" not in photos.about(kind).limits
