"""The app's own pictures, made or read at run time: shape scenes, digits, and photographs that are
free of rights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from areaviz.data.digit_scenes import DigitScenes, compose
from areaviz.data.pictures import small_file
from areaviz.data.sample_photos import PHOTOS
from areaviz.data.scenes import Scene, make_scene
from areaviz.data.strokes import draw_digits
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown
from areaviz.trace.picture import Picture

KINDS = ("scene", "digit", "single digit", "pair", "photo")
SCENE_SIDE, THUMBNAIL_SIDE = 256, 128

_SCENES = (1, 9, 10, 12, 16, 20, 22, 26, 27, 34, 37, 51)
_CLUTTERED = (2, 3, 4, 5, 6, 7, 8, 9)
_SINGLE = (0, 1, 3, 4, 7, 8)
_PAIRS = (27, 41, 38, 95, 60, 18)
_SEED = 5


@dataclass(frozen=True, slots=True)
class Sample:
    """title: what the picture shows. kind: one of `KINDS`. make: the picture, under any name."""

    title: str
    kind: str
    make: Callable[[], Picture]


def names(*kinds: str) -> tuple[str, ...]:
    """The names of the samples of these kinds, of all kinds if none is given, in the registry's
    order.
    """
    return tuple(name for name, entry in SAMPLES.items() if not kinds or entry.kind in kinds)


@lru_cache(maxsize=64)
def sample(name: str) -> Picture:
    """The sample of a name.

    Raises:
        InputError: there is none of this name.
        BackendError: a photograph is not installed.
    """
    if name not in SAMPLES:
        raise InputError(
            f'There is no sample picture "{shown(name)}"; choose one of the samples or upload a'
            " picture."
        )
    return replace(SAMPLES[name].make(), name=name)


@lru_cache(maxsize=64)
def thumbnail(name: str) -> bytes:
    """A sample as a small file, see `small_file`."""
    return small_file(sample(name), THUMBNAIL_SIDE)


def scene_sample(name: str) -> Scene | None:
    """The scene that a sample shows, with its sentences; None for samples that show none."""
    entry = SAMPLES.get(name)
    return (
        make_scene("samples", int(name.removeprefix("scene-")))
        if entry and entry.kind == "scene"
        else None
    )


def sentence(name: str) -> str:
    """An English sentence that a sample shows, to be translated with it; "" where there is none."""
    scene = scene_sample(name)
    if scene:
        return scene.english.text
    return PHOTOS[name].sentence if name in PHOTOS else ""


def _scene(number: int) -> Picture:
    return Picture.of("scene", make_scene("samples", number).pixels(SCENE_SIDE))


def _digit(kind: str, labels: tuple[int, ...], index: int) -> Picture:
    grey_HW = _digits(kind, labels).pictures[index]
    return Picture.of("digit", np.repeat(grey_HW[:, :, None], 3, axis=2))


@lru_cache(maxsize=4)
def _digits(kind: str, labels: tuple[int, ...]) -> DigitScenes:
    """All pictures of a kind, as the clutter of each is cut from the others."""
    rng = np.random.default_rng(_SEED)
    wanted = np.array(labels, dtype=np.int64)
    return compose(kind, draw_digits(wanted, rng), wanted, rng)


def _samples() -> dict[str, Sample]:
    entries = {}
    for number in _SCENES:
        sentence = make_scene("samples", number).english.text
        entries[f"scene-{number}"] = Sample(
            sentence[0].upper() + sentence[1:], "scene", partial(_scene, number)
        )
    for index, label in enumerate(_CLUTTERED):
        make = partial(_digit, "cluttered", _CLUTTERED, index)
        entries[f"digit-{label}"] = Sample(f"The digit {label} among clutter", "digit", make)
    for index, label in enumerate(_SINGLE):
        make = partial(_digit, "centred", _SINGLE, index)
        entries[f"single-{label}"] = Sample(f"The digit {label}", "single digit", make)
    flat = tuple(int(digit) for pair in _PAIRS for digit in f"{pair:02}")
    for index, pair in enumerate(_PAIRS):
        make = partial(_digit, "pairs", flat, index)
        entries[f"pair-{pair:02}"] = Sample(
            "The digits {} and {}".format(*f"{pair:02}"), "pair", make
        )
    return entries | {
        name: Sample(photo.title, "photo", photo.read) for name, photo in PHOTOS.items()
    }


SAMPLES: Mapping[str, Sample] = _samples()
"""Every sample by its name, which a link can carry."""
