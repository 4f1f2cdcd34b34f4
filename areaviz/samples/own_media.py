"""The app's own pictures, recordings of digits, and clips, by name.

`PICTURE_SAMPLES`, `SOUND_SAMPLES` and `CLIP_SAMPLES` list them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib.metadata import distribution
from pathlib import Path

import numpy as np

from areaviz.media.pictures import decode_picture, encode_small
from areaviz.media.sounds import decode_sound
from areaviz.samples.digits import (
    DIGITS,
    DigitBank,
    DigitScenes,
    MovingDigit,
    Window,
    compose_scenes,
    draw_digits,
    render_actions,
)
from areaviz.samples.paths import ASSETS
from areaviz.samples.scenes import Scene, make_scene
from areaviz.trace.errors import BackendError, InputError, shorten
from areaviz.trace.request import Clip, Picture, Sound

# The app's own pictures, generated or read at run time: shape scenes, digits and photographs.
#
# No copyright restricts their use. The photographs are files of installed packages and are read
# without importing these packages.
#
# - matplotlib: Grace M. Hopper, official portrait by James S. Davis, United States Navy, 1984
#   (public domain, as a work of the United States' government).
# - scikit-image: Eileen Collins, by NASA (public domain). The cat Chelsea, by Stefan van der Walt
#   (CC0). A cup of coffee, by Rachel Michetti (CC0). A photographer, by Lav Varshney (CC0). A
#   launch, by SpaceX (public domain).
#
# The other photographs in these packages are not scenes that a caption could describe.


SAMPLE_KINDS = ("scene", "digit", "single digit", "moved digit", "pair", "photo")
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
class PictureSample:
    """One of the app's own pictures."""

    # Description of the picture.
    title: str
    # One of `SAMPLE_KINDS`.
    kind: str
    # Function that creates the picture. The name of the picture is set later.
    make: Callable[[], Picture]
    # The digits in the picture, or "".
    digits: str = ""


def list_picture_names(*kinds: str) -> tuple[str, ...]:
    """Return the names of the samples of these kinds, or of all samples if no kind is given."""
    return tuple(
        name for name, entry in PICTURE_SAMPLES.items() if not kinds or entry.kind in kinds
    )


@lru_cache(maxsize=64)
def get_picture_sample(name: str) -> Picture:
    """Return the sample of a name.

    Raises:
        InputError: There is no sample of this name.
        BackendError: A photograph is not installed.
    """
    if name not in PICTURE_SAMPLES:
        raise InputError(
            f'Sample picture "{shorten(name)}" does not exist. Choose one of the samples or'
            " upload a picture."
        )
    return replace(PICTURE_SAMPLES[name].make(), name=name)


@lru_cache(maxsize=64)
def encode_thumbnail(name: str) -> bytes:
    """Return a sample as a small JPEG or PNG file for galleries (see `encode_small`)."""
    return encode_small(get_picture_sample(name), THUMBNAIL_SIDE)


def find_scene_sample(name: str) -> Scene | None:
    """Return the scene of a sample, with its sentences, or None if the sample is not a scene."""
    entry = PICTURE_SAMPLES.get(name)
    if entry is None or entry.kind != "scene":
        return None
    return make_scene("samples", int(name.removeprefix("scene-")))


def get_picture_sentence(name: str) -> str:
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


def _list_samples() -> dict[str, PictureSample]:
    entries = {}
    for number in _SCENES:
        sentence = make_scene("samples", number).english.text
        title = sentence[0].upper() + sentence[1:]
        entries[f"scene-{number}"] = PictureSample(title, "scene", partial(_draw_scene, number))
    for index, label in enumerate(_CLUTTERED):
        make = partial(_draw_digit, "cluttered", _CLUTTERED, index)
        entries[f"digit-{label}"] = PictureSample(
            f"The digit {label} among clutter", "digit", make, str(label)
        )
    for index, label in enumerate(_SINGLE):
        make = partial(_draw_digit, "centred", _SINGLE, index)
        entries[f"single-{label}"] = PictureSample(
            f"The digit {label}", "single digit", make, str(label)
        )
    for index, label in enumerate(_MOVED):
        make = partial(_draw_digit, "translated", _MOVED, index)
        entries[f"moved-{label}"] = PictureSample(
            f"The digit {label}, anywhere", "moved digit", make, str(label)
        )
    digits = tuple(int(digit) for digit in "".join(_PAIRS))
    for index, pair in enumerate(_PAIRS):
        make = partial(_draw_digit, "pairs", digits, index)
        entries[f"pair-{pair}"] = PictureSample(
            f"The digits {pair[0]} and {pair[1]}", "pair", make, pair
        )
    for name, photo in PHOTOS.items():
        entries[name] = PictureSample(photo.title, "photo", photo.read)
    return entries


PICTURE_SAMPLES: Mapping[str, PictureSample] = _list_samples()
"""Every sample by its name. The names are valid in links."""


# The app's own recordings of digits, spoken by the program espeak-ng.
#
# No copyright restricts their use. Training uses none of these voices.


@dataclass(frozen=True, slots=True)
class SoundSample:
    """A recording of digits."""

    title: str
    # The digits that are spoken.
    text: str
    # Start and end of each digit in seconds.
    starts: tuple[float, ...]
    ends: tuple[float, ...]

    @property
    def spoken(self) -> str:
        """Start and end of each digit in seconds, in the format of a trace's details."""
        pairs = zip(self.starts, self.ends, strict=True)
        return " ".join(f"{start:g} {end:g}" for start, end in pairs)


SOUND_SAMPLES: Mapping[str, SoundSample] = {
    "digits-plain": SoundSample(
        "Seven digits, a man's voice: 3 1 4 1 5 9 2",
        "3141592",
        (0.08, 0.58, 1.18, 1.78, 2.30, 2.92, 3.60),
        (0.49, 1.05, 1.66, 2.25, 2.86, 3.48, 3.96),
    ),
    "digits-repeats": SoundSample(
        "Runs of the same digit, a woman's voice: 7 7 7 2 2 9 9 9",
        "77722999",
        (0.08, 0.73, 1.39, 2.00, 2.41, 2.82, 3.39, 3.98),
        (0.61, 1.27, 1.92, 2.35, 2.76, 3.33, 3.90, 4.49),
    ),
    "digits-long": SoundSample(
        "Longer than any string of training: 5 5 5 0 0 0 1 1 1 2 2 2 4 4",
        "55500011122244",
        (0.08, 0.74, 1.44, 2.13, 2.85, 3.61, 4.29, 4.82, 5.40, 5.92, 6.39, 6.92, 7.44, 8.06),
        (0.65, 1.30, 2.01, 2.75, 3.48, 4.24, 4.77, 5.30, 5.88, 6.36, 6.83, 7.35, 7.92, 8.55),
    ),
    "digits-fast": SoundSample(
        "Four digits, spoken fast: 8 0 6 4",
        "8064",
        (0.08, 0.41, 0.87, 1.28),
        (0.33, 0.79, 1.23, 1.60),
    ),
}


@lru_cache(maxsize=8)
def get_sound_sample(name: str) -> Sound:
    """Return a recording by its name.

    Raises:
        InputError: There is no recording of this name.
        BackendError: Its file is missing or damaged.
    """
    if name not in SOUND_SAMPLES:
        raise InputError(
            f'Recording "{shorten(name)}" does not exist. Choose one of:'
            f" {', '.join(SOUND_SAMPLES)}."
        )
    try:
        content = (ASSETS / "sounds" / f"{name}.flac").read_bytes()
        return Sound(name, decode_sound(content).sound.pcm)
    except (OSError, InputError) as error:
        raise BackendError(
            f"The recording {name} cannot be read. Install the app again."
        ) from error


# The app's own clips, generated on demand. In each, a drawn digit does two actions.
#
# The drawings have their own seed, so training uses none of them.


SEED = 77
ENLARGED = 2
"""Factor by which the sides of a sample clip exceed those of the frames that the model reads."""


@dataclass(frozen=True, slots=True)
class ClipSample:
    """A clip of a digit with two actions.

    Args:
        digit: The digit.
        actions: The actions in order, keys of `ACTIONS`.
        windows: The frames of each action.
    """

    digit: int
    actions: tuple[str, str]
    windows: tuple[Window, Window]

    @property
    def text(self) -> str:
        """The sentence that describes the clip."""
        return f"the {DIGITS[self.digit]} {self.actions[0]} and then {self.actions[1]}"

    @property
    def title(self) -> str:
        """The sentence as a title."""
        return self.text[:1].upper() + self.text[1:]

    @property
    def acts(self) -> str:
        """First and last frame of each action, from 1, in the format of a trace's details."""
        return " ".join(f"{start + 1} {end}" for start, end in self.windows)


CLIP_SAMPLES: Mapping[str, ClipSample] = {
    "three-left-grows": ClipSample(3, ("moves left", "grows"), ((1, 6), (9, 14))),
    "five-turns-down": ClipSample(5, ("turns right", "moves down"), ((2, 6), (8, 13))),
    "eight-shrinks-right": ClipSample(8, ("shrinks", "moves right"), ((0, 4), (5, 10))),
    "two-up-turns": ClipSample(2, ("moves up", "turns left"), ((2, 7), (10, 14))),
    "four-right-left": ClipSample(4, ("moves right", "moves left"), ((1, 5), (8, 12))),
}


@lru_cache(maxsize=8)
def get_clip_sample(name: str) -> Clip:
    """Return a clip by its name.

    Raises:
        InputError: There is no clip of this name.
    """
    if name not in CLIP_SAMPLES:
        raise InputError(
            f'Clip "{shorten(name)}" does not exist. Choose one of: {", ".join(CLIP_SAMPLES)}.'
        )
    sample = CLIP_SAMPLES[name]
    rng = np.random.default_rng([SEED, list(CLIP_SAMPLES).index(name)])
    plan = (sample.digit, sample.actions, sample.windows)
    return make_clip(name, render_actions(DigitBank(1, SEED), rng, [plan])[0])


def make_clip(name: str, moving: MovingDigit) -> Clip:
    """Convert a drawn clip to the clip of a request."""
    larger_FSS = moving.frames.repeat(ENLARGED, 1).repeat(ENLARGED, 2)
    return Clip.of(name, np.stack([larger_FSS] * 3, axis=3))
