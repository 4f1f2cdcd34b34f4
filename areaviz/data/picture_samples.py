"""The app's own pictures, made at run time: shape scenes, digits, and a photograph that is free of rights.

The photograph lies in the installed matplotlib (mpl-data/sample_data/grace_hopper.jpg): Commodore Grace M. Hopper,
United States Navy, official portrait by James S. Davis, 1984, a work of the United States' government and so in
the public domain. Matplotlib's other pictures are drawings, some of unknown licence, and are not used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib.metadata import distribution
from pathlib import Path

import numpy as np

from areaviz.data.digit_scenes import DigitScenes, compose
from areaviz.data.pictures import decode, small_file
from areaviz.data.scenes import Scene, make_scene
from areaviz.data.strokes import draw_digits
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.limits import shown
from areaviz.trace.picture import Picture

KINDS = ("scene", "digit", "single digit", "pair", "photo")
SCENE_SIDE, THUMBNAIL_SIDE = 256, 128

_SCENES = (1, 9, 10, 12, 16, 20, 22, 26, 27, 34, 37, 51)
_CLUTTERED = (2, 3, 4, 5, 6, 7, 8, 9)
_SINGLE = (0, 1, 3, 4, 7, 8)
_PAIRS = (27, 41, 38, 95, 60, 18)
_SEED = 5
_SENTENCES = {"hopper": "A woman in a dark uniform sits in front of a flag."}


@dataclass(frozen=True, slots=True)
class Sample:
    """title: what the picture shows. kind: one of `KINDS`. make: the picture, under any name."""

    title: str
    kind: str
    make: Callable[[], Picture]


def names(*kinds: str) -> tuple[str, ...]:
    """The names of the samples of these kinds, of all kinds if none is given, in the registry's order."""
    return tuple(name for name, entry in SAMPLES.items() if not kinds or entry.kind in kinds)


@lru_cache(maxsize=64)
def sample(name: str) -> Picture:
    """The sample of a name.

    Raises:
        InputError: there is none of this name.
        BackendError: the photograph is not installed.
    """
    if name not in SAMPLES:
        raise InputError(f'There is no sample picture "{shown(name)}"; choose one of the samples or upload a picture.')
    return replace(SAMPLES[name].make(), name=name)


@lru_cache(maxsize=64)
def thumbnail(name: str) -> bytes:
    """A sample as a small file, see `small_file`."""
    return small_file(sample(name), THUMBNAIL_SIDE)


def scene_sample(name: str) -> Scene | None:
    """The scene that a sample shows, with its sentences; None for samples that show none."""
    entry = SAMPLES.get(name)
    return make_scene("samples", int(name.removeprefix("scene-"))) if entry and entry.kind == "scene" else None


def sentence(name: str) -> str:
    """An English sentence that a sample shows, to be translated with it; "" where there is none."""
    scene = scene_sample(name)
    return scene.english.text if scene else _SENTENCES.get(name, "")


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


def _photo(path: str) -> Picture:
    """A picture in an installed package, whose first folder has the package's name; the package is not imported."""
    file = Path(str(distribution(path.partition("/")[0]).locate_file(path)))
    if not file.is_file():
        raise BackendError(f"The sample picture {file.name} is not installed; choose another sample.")
    return decode(file.read_bytes()).picture


def _samples() -> dict[str, Sample]:
    entries = {}
    for number in _SCENES:
        sentence = make_scene("samples", number).english.text
        entries[f"scene-{number}"] = Sample(sentence[0].upper() + sentence[1:], "scene", partial(_scene, number))
    for index, label in enumerate(_CLUTTERED):
        make = partial(_digit, "cluttered", _CLUTTERED, index)
        entries[f"digit-{label}"] = Sample(f"The digit {label} among clutter", "digit", make)
    for index, label in enumerate(_SINGLE):
        make = partial(_digit, "centred", _SINGLE, index)
        entries[f"single-{label}"] = Sample(f"The digit {label}", "single digit", make)
    flat = tuple(int(digit) for pair in _PAIRS for digit in f"{pair:02}")
    for index, pair in enumerate(_PAIRS):
        make = partial(_digit, "pairs", flat, index)
        entries[f"pair-{pair:02}"] = Sample("The digits {} and {}".format(*f"{pair:02}"), "pair", make)
    portrait = partial(_photo, "matplotlib/mpl-data/sample_data/grace_hopper.jpg")
    entries["hopper"] = Sample("A woman in uniform before a flag: Grace Hopper", "photo", portrait)
    return entries


SAMPLES: Mapping[str, Sample] = _samples()
"""Every sample by its name, which a link can carry."""
