"""The app's own pictures, generated or read at run time: shape scenes, digits and photographs.

No copyright restricts their use. The photographs are files of installed packages and are read
without importing these packages.

- matplotlib: Grace M. Hopper, official portrait by James S. Davis, United States Navy, 1984 (public
  domain, as a work of the United States' government).
- scikit-image: Eileen Collins, by NASA (public domain). The cat Chelsea, by Stefan van der Walt
  (CC0). A cup of coffee, by Rachel Michetti (CC0). A photographer, by Lav Varshney (CC0). A launch,
  by SpaceX (public domain).

The other photographs in these packages are not scenes that a caption could describe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib.metadata import distribution
from pathlib import Path

import numpy as np

from areaviz.data.digit_scenes import DigitScenes, compose_scenes
from areaviz.data.scenes import Scene, make_scene
from areaviz.data.strokes import draw_digits
from areaviz.media.pictures import decode_picture, encode_small
from areaviz.trace.errors import BackendError, InputError, shorten
from areaviz.trace.request import Picture

KINDS = ("scene", "digit", "single digit", "moved digit", "pair", "photo")
SCENE_SIDE, THUMBNAIL_SIDE = 256, 128

# Numbers of the sample scenes. The first of them are scenes that the model of the page Caption
# describes correctly, with its attention on the objects that it names.
_SCENES = (1, 9, 10, 12, 22, 26, 27, 34, 16, 20, 37, 51)
_CLUTTERED = (2, 3, 4, 5, 6, 7, 8, 9)
_SINGLE = (0, 1, 3, 4, 7, 8)
_MOVED = (2, 5, 6, 7, 8, 9)
_PAIRS = ("27", "41", "38", "95", "60", "18")
_SEED = 5


@dataclass(frozen=True, slots=True)
class Photo:
    """A photograph in an installed package."""

    # Description of the photograph.
    title: str
    # An English sentence to translate together with the photograph.
    sentence: str
    # Path relative to the folder of installed packages.
    path: str
    package: str = "scikit-image"

    def read(self) -> Picture:
        """Read the photograph, scaled down to the size limit of requests.

        Raises:
            BackendError: The photograph is not installed.
        """
        file = Path(str(distribution(self.package).locate_file(self.path)))
        if not file.is_file():
            raise BackendError(
                f"The sample picture {file.name} is not installed. Choose another sample."
            )
        return decode_picture(file.read_bytes()).picture


PHOTOS: Mapping[str, Photo] = {
    "hopper": Photo(
        "A woman in uniform before a flag: Grace Hopper",
        "A woman in a dark uniform sits in front of a flag.",
        "matplotlib/mpl-data/sample_data/grace_hopper.jpg",
        "matplotlib",
    ),
    "astronaut": Photo(
        "An astronaut in an orange suit: Eileen Collins",
        "A woman in an orange suit is smiling in front of a flag.",
        "skimage/data/astronaut.png",
    ),
    "cat": Photo(
        "The face of a cat", "A brown cat is looking at the camera.", "skimage/data/chelsea.png"
    ),
    "photographer": Photo(
        "A man with a camera in a field",
        "A man in a black coat is taking a picture in a field.",
        "skimage/data/camera.png",
    ),
    "coffee": Photo(
        "A cup of coffee on a table",
        "A white cup with a spoon stands on a wooden table.",
        "skimage/data/coffee.png",
    ),
    "rocket": Photo(
        "A rocket being launched", "A rocket rises into the evening sky.", "skimage/data/rocket.jpg"
    ),
}
"""Every photograph by the name of its sample."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One of the app's own pictures."""

    # Description of the picture.
    title: str
    # One of `KINDS`.
    kind: str
    # Function that creates the picture. The name of the picture is set later.
    make: Callable[[], Picture]
    # The digits in the picture, or "".
    digits: str = ""


def list_sample_names(*kinds: str) -> tuple[str, ...]:
    """Return the names of the samples of these kinds, or of all samples if no kind is given."""
    return tuple(name for name, entry in SAMPLES.items() if not kinds or entry.kind in kinds)


@lru_cache(maxsize=64)
def get_sample(name: str) -> Picture:
    """Return the sample of a name.

    Raises:
        InputError: There is no sample of this name.
        BackendError: A photograph is not installed.
    """
    if name not in SAMPLES:
        raise InputError(
            f'Sample picture "{shorten(name)}" does not exist. Choose one of the samples or'
            " upload a picture."
        )
    return replace(SAMPLES[name].make(), name=name)


@lru_cache(maxsize=64)
def encode_thumbnail(name: str) -> bytes:
    """Return a sample as a small JPEG or PNG file for galleries (see `encode_small`)."""
    return encode_small(get_sample(name), THUMBNAIL_SIDE)


def find_scene_sample(name: str) -> Scene | None:
    """Return the scene of a sample, with its sentences, or None if the sample is not a scene."""
    entry = SAMPLES.get(name)
    if entry is None or entry.kind != "scene":
        return None
    return make_scene("samples", int(name.removeprefix("scene-")))


def get_sample_sentence(name: str) -> str:
    """Return an English sentence to translate together with a sample, or "" if there is none."""
    scene = find_scene_sample(name)
    if scene:
        return scene.english.text
    return PHOTOS[name].sentence if name in PHOTOS else ""


def _draw_scene(number: int) -> Picture:
    return Picture.of("scene", make_scene("samples", number).pixels(SCENE_SIDE))


def _draw_digit(kind: str, labels: tuple[int, ...], index: int) -> Picture:
    grey_HW = _compose_digits(kind, labels).pictures[index]
    return Picture.of("digit", np.repeat(grey_HW[:, :, None], 3, axis=2))


@lru_cache(maxsize=4)
def _compose_digits(kind: str, labels: tuple[int, ...]) -> DigitScenes:
    """Return all pictures of a kind.

    They are composed together, because the clutter of each picture is cut from other digits.
    """
    rng = np.random.default_rng(_SEED)
    wanted = np.array(labels, dtype=np.int64)
    return compose_scenes(kind, draw_digits(wanted, rng), wanted, rng)


def _list_samples() -> dict[str, Sample]:
    entries = {}
    for number in _SCENES:
        sentence = make_scene("samples", number).english.text
        title = sentence[0].upper() + sentence[1:]
        entries[f"scene-{number}"] = Sample(title, "scene", partial(_draw_scene, number))
    for index, label in enumerate(_CLUTTERED):
        make = partial(_draw_digit, "cluttered", _CLUTTERED, index)
        entries[f"digit-{label}"] = Sample(
            f"The digit {label} among clutter", "digit", make, str(label)
        )
    for index, label in enumerate(_SINGLE):
        make = partial(_draw_digit, "centred", _SINGLE, index)
        entries[f"single-{label}"] = Sample(f"The digit {label}", "single digit", make, str(label))
    for index, label in enumerate(_MOVED):
        make = partial(_draw_digit, "translated", _MOVED, index)
        entries[f"moved-{label}"] = Sample(
            f"The digit {label}, anywhere", "moved digit", make, str(label)
        )
    digits = tuple(int(digit) for digit in "".join(_PAIRS))
    for index, pair in enumerate(_PAIRS):
        make = partial(_draw_digit, "pairs", digits, index)
        entries[f"pair-{pair}"] = Sample(f"The digits {pair[0]} and {pair[1]}", "pair", make, pair)
    for name, photo in PHOTOS.items():
        entries[name] = Sample(photo.title, "photo", photo.read)
    return entries


SAMPLES: Mapping[str, Sample] = _list_samples()
"""Every sample by its name. The names are valid in links."""
