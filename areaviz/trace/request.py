"""The input of a run (`Request`), the selection that is viewed (`Focus`), and links to both.

The picture, sound and clip of a request come first. The fields and the URL parameters of a
request come last.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from areaviz.trace.changes import (
    Change,
    check_changes,
    format_changes,
    format_ranges,
    parse_changes,
    parse_ranges,
)
from areaviz.trace.errors import (
    AGAINST,
    AREA_SIZES,
    AREAS,
    BEAMS,
    MASSES,
    MAX_POSITION,
    METHODS,
    READINGS,
    SEEDS,
    SIDES,
    UNITS,
    InputError,
    check_choice,
    check_range,
    check_text,
    shorten,
)

# The base class of a request's picture, sound and clip.
#
# The content is stored as plain bytes, so that requests can be compared, cached and sent.


MEDIUM_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Medium(ABC):
    """The base of inputs that are not a text.

    A new medium needs a subclass, a line in `request.MEDIA`, and a field of `Request` with the name
    in `noun`. Files, links, messages and caches then support it.
    """

    # The word in messages. It is also the field of the request and the parameter of a link.
    noun: ClassVar[str]
    # The type of its array.
    dtype: ClassVar[type[np.generic]]
    # Names of the attributes with the sizes of the array, outermost first. An axis of three colours
    # follows these sizes. A medium without sizes is one row of any length.
    sizes: ClassVar[tuple[str, ...]]

    # The name in links.
    name: str

    @classmethod
    @abstractmethod
    def of(cls, name: str, array: npt.NDArray[Any]) -> Self:
        """Create a medium from its array."""

    @property
    @abstractmethod
    def content(self) -> bytes:
        """The bytes of its array."""

    @property
    def array(self) -> npt.NDArray[Any]:
        """The pixels or samples, read-only."""
        return self.unpacked(self.content, [getattr(self, size) for size in self.sizes])

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that identify the content."""
        return hashlib.sha256(self._described() + self.content).hexdigest()[:12]

    @property
    def entry(self) -> Any:
        """Everything except the content, as JSON."""
        return self.name

    @classmethod
    def unpacked(cls, content: bytes, sizes: list[int]) -> npt.NDArray[Any]:
        """Return the array of a content and its sizes, read-only.

        Raises:
            ValueError: The content has another size.
        """
        shape = (*sizes, 3) if cls.sizes else (-1,)
        return np.frombuffer(content, np.dtype(cls.dtype).newbyteorder("<")).reshape(shape)

    @classmethod
    def read(cls, entry: Any, array: npt.NDArray[Any]) -> Self:
        """Return the checked medium with an `entry`, which may be untrusted, and its array.

        Raises:
            ValueError: The entry or the type or shape of the array is wrong.
            InputError: The medium is outside its limits.
        """
        axes = len(cls.sizes) + 1
        has_colours = not cls.sizes or array.shape[-1:] == (3,)
        if array.dtype != cls.dtype or array.ndim != axes or not has_colours:
            raise ValueError(f"the {cls.noun} is not an array of the right shape and type")
        made = cls._of_entry(entry, array)
        made.check()
        return made

    def check(self) -> None:
        """Check a medium, which may be untrusted.

        Raises:
            InputError: The name cannot be part of a link, or the content is outside its limits.
        """
        if not MEDIUM_NAME.fullmatch(self.name):
            raise InputError(
                f"The {self.noun}'s name has characters that a link cannot contain. Choose or"
                f" upload the {self.noun} again."
            )

    @classmethod
    def _of_entry(cls, entry: Any, array: npt.NDArray[Any]) -> Self:
        return cls.of(take({"name": entry}, "name", str), array)

    def _described(self) -> bytes:
        """Return the properties other than the content on which the digest depends, as bytes."""
        return b""


def take(entry: Any, key: str, kind: type[_Value]) -> _Value:
    """Return a required value of a JSON object, checked for its type.

    Raises:
        ValueError: It is missing or has the wrong type.
    """
    value = entry.get(key) if isinstance(entry, Mapping) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f'"{key}" is missing or not a {kind.__name__}')
    return value


# The picture of a request.


# The maximum side of a request's picture in pixels. Larger pictures are reduced beforehand.
MAX_PICTURE_SIDE = 640


@dataclass(frozen=True, slots=True)
class Picture(Medium):
    """A picture as uint8 pixels with three colours."""

    noun = "picture"
    dtype = np.uint8
    sizes = ("height", "width")

    # Size in pixels, 1..640.
    width: int
    height: int
    # Red, green and blue bytes, row by row.
    rgb: bytes

    @classmethod
    def of(cls, name: str, array: npt.NDArray[np.uint8]) -> Self:
        """Create a picture from uint8 pixels [H, W, 3]."""
        height, width = array.shape[:2]
        return cls(name, width, height, np.ascontiguousarray(array).tobytes())

    @property
    def content(self) -> bytes:
        """The bytes of the pixels."""
        return self.rgb

    @property
    def pixels(self) -> npt.NDArray[np.uint8]:
        """The pixels: uint8 [H, W, 3], read-only."""
        return self.array

    def check(self) -> None:
        """Check a picture, which may be untrusted.

        Raises:
            InputError: The name cannot be part of a link, a side is outside 1..640 pixels, or
                pixels are missing.
        """
        Medium.check(self)
        if not (1 <= self.width <= MAX_PICTURE_SIDE and 1 <= self.height <= MAX_PICTURE_SIDE):
            raise InputError(
                f"The picture has {self.width:,} x {self.height:,} pixels, but each side may"
                f" have at most {MAX_PICTURE_SIDE}. Make it smaller."
            )
        if len(self.rgb) != self.width * self.height * 3:
            raise InputError(
                "The picture's pixels do not fit its size. Choose or upload the picture again."
            )

    def _described(self) -> bytes:
        return b"%d x %d " % (self.width, self.height)


def check_pixels(shape_HWC: Sequence[int], dtype: npt.DTypeLike) -> None:
    """Check the pixels of a picture by their shape and type alone.

    Raises:
        InputError: The pixels are not uint8 [height, width, 3] with sides of 1 to 640.
    """
    fits = len(shape_HWC) == 3 and shape_HWC[2] == 3
    if (
        not fits
        or not 1 <= min(shape_HWC) <= max(shape_HWC) <= MAX_PICTURE_SIDE
        or dtype != np.uint8
    ):
        raise InputError(
            f"The picture has the shape {' x '.join(map(str, shape_HWC))} and the type"
            f" {np.dtype(dtype)} but must be height x width x 3 bytes (uint8) with sides of 1 to"
            f" {MAX_PICTURE_SIDE}. Convert it."
        )


# The sound of a request.
#
# Shapes: S samples.


RATE = 8000
"""Samples per second. Other recordings are resampled beforehand."""
SECONDS = (0.1, 20.0)
"""The minimum and maximum duration of a sound in seconds."""


@dataclass(frozen=True, slots=True)
class Sound(Medium):
    """A recording with one channel, at `RATE`."""

    noun = "sound"
    dtype = np.int16
    sizes = ()

    # Samples as signed 16-bit numbers, little-endian.
    pcm: bytes

    @classmethod
    def of(cls, name: str, array: npt.NDArray[np.int16]) -> Self:
        """Create a sound from int16 samples [S]."""
        return cls(name, np.ascontiguousarray(array, dtype="<i2").tobytes())

    @property
    def content(self) -> bytes:
        """The bytes of the samples."""
        return self.pcm

    @property
    def samples(self) -> npt.NDArray[np.int16]:
        """The samples: int16 [S], read-only."""
        return self.array

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return len(self.pcm) / 2 / RATE

    def check(self) -> None:
        """Check a sound, which may be untrusted.

        Raises:
            InputError: The name cannot be part of a link, the last sample is incomplete, or the
                sound is shorter than a tenth of a second or longer than 20 seconds.
        """
        Medium.check(self)
        if len(self.pcm) % 2:
            raise InputError("The sound ends in the middle of a sample. Choose or upload it again.")
        if not SECONDS[0] <= self.seconds <= SECONDS[1]:
            raise InputError(
                f"The sound is {self.seconds:,.1f} seconds long, but {SECONDS[0]:g} to"
                f" {SECONDS[1]:g} seconds are allowed. Trim it."
            )


# The clip of a request.
#
# Shapes: F frames, each of height H and width W in pixels.


FRAMES = (2, 32)
"""The minimum and maximum number of frames in a clip. Longer clips are sampled beforehand."""
MAX_CLIP_SIDE = 128
"""The maximum side of a frame in pixels. Larger frames are reduced beforehand."""
MILLISECONDS = (10, 10_000)
"""The minimum and maximum duration of a frame in milliseconds."""


@dataclass(frozen=True, slots=True)
class Clip(Medium):
    """A sequence of frames of one size."""

    noun = "clip"
    dtype = np.uint8
    sizes = ("frames", "height", "width")

    frames: int
    # Size of a frame in pixels, 1..128.
    width: int
    height: int
    # Duration of each frame.
    milliseconds: int
    # Red, green and blue bytes, row by row and frame by frame.
    rgb: bytes

    @classmethod
    def of(cls, name: str, array: npt.NDArray[np.uint8], milliseconds: int = 120) -> Self:
        """Create a clip from uint8 pixels [F, H, W, 3]."""
        frames, height, width = array.shape[:3]
        return cls(name, frames, width, height, milliseconds, np.ascontiguousarray(array).tobytes())

    @property
    def content(self) -> bytes:
        """The bytes of the pixels."""
        return self.rgb

    @property
    def pixels(self) -> npt.NDArray[np.uint8]:
        """The pixels: uint8 [F, H, W, 3], read-only."""
        return self.array

    @property
    def entry(self) -> Any:
        """The name and the duration of a frame, as JSON."""
        return {"name": self.name, "milliseconds": self.milliseconds}

    def check(self) -> None:
        """Check a clip, which may be untrusted.

        Raises:
            InputError: The name cannot be part of a link, the clip has fewer than 2 or more than 32
                frames, a side is outside 1..128 pixels, a frame lasts less than 10 or more than
                10,000 milliseconds, or pixels are missing.
        """
        Medium.check(self)
        if not FRAMES[0] <= self.frames <= FRAMES[1]:
            raise InputError(
                f"The clip has {self.frames:,} frames, but {FRAMES[0]} to {FRAMES[1]} are allowed."
                " Choose another one."
            )
        if not (1 <= self.width <= MAX_CLIP_SIDE and 1 <= self.height <= MAX_CLIP_SIDE):
            raise InputError(
                f"The clip has {self.width:,} x {self.height:,} pixels, but each side may have at"
                " most"
                f" {MAX_CLIP_SIDE}. Make it smaller."
            )
        if not MILLISECONDS[0] <= self.milliseconds <= MILLISECONDS[1]:
            raise InputError(
                f"A frame of the clip lasts {self.milliseconds:,} milliseconds, but"
                f" {MILLISECONDS[0]} to {MILLISECONDS[1]:,} are allowed. Choose another one."
            )
        if len(self.rgb) != self.frames * self.width * self.height * 3:
            raise InputError(
                "The clip's pixels do not fit its size. Choose or upload the clip again."
            )

    @classmethod
    def _of_entry(cls, entry: Any, array: npt.NDArray[Any]) -> Self:
        return cls.of(take(entry, "name", str), array, take(entry, "milliseconds", int))

    def _described(self) -> bytes:
        return b"%d x %d x %d, %d " % (self.frames, self.width, self.height, self.milliseconds)


# The input of a run (`Request`) and the selection viewed (`Focus`): all state of the interface.


# Callbacks for the progress of long tasks. The first gets the share done, 0..1, and a text on the
# current step. The second gets the number of steps done and the total number of steps.
Progress = Callable[[float, str], None]
Counted = Callable[[int, int], None]

MEDIA: Mapping[str, type[Medium]] = {one.noun: one for one in (Picture, Sound, Clip)}
"""Every input that is not a text, by the field of the request."""
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_BREAKS = str.maketrans(dict.fromkeys("\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029", " "))


@dataclass(frozen=True, slots=True)
class Request:
    """One example to run."""

    # Name of a checkpoint.
    model: str
    # The input, or "" for a model that takes only a picture, a sound or a clip.
    text: str
    # "greedy" or "beam". `beam` is the width of the beam, 1..16.
    method: str = "greedy"
    beam: int = 4
    # Largest area, 1..16 items, or None for the size that the model was trained with.
    area_size: int | None = None
    # Seed for models that sample, 0..2^32-1.
    seed: int = 0
    # The picture, for models that take one.
    picture: Picture | None = None
    # True if a model that chooses where to look samples its choices, using the seed. Otherwise it
    # takes the most probable choices.
    sample: bool = False
    # An output that the model reads instead of writing its own.
    target: str | None = None
    # The interventions, which are applied together.
    changes: tuple[Change, ...] = ()
    # The sound, for models that take one.
    sound: Sound | None = None
    # The clip, for models that take one.
    clip: Clip | None = None
    # True if the trace also includes attributions: what the output depends on, measured by methods
    # other than attention.
    attribution: bool = False

    @property
    def media(self) -> dict[str, Medium]:
        """The picture, sound and clip that the request has, by the name of their field."""
        found = {name: getattr(self, name) for name in MEDIA}
        return {name: medium for name, medium in found.items() if medium is not None}

    def without_media(self) -> Request:
        """Return this request without picture, sound and clip."""
        return replace(self, picture=None, sound=None, clip=None)

    def checked(self) -> Request:
        """Return this request ready to run, with line breaks and tabs replaced by single spaces.

        The replacement keeps all offsets. Emoji, right-to-left text, combining marks and any
        language are accepted.

        Raises:
            InputError: There is no picture, sound or clip and the text is blank. The text is longer
                than 4,096 characters, has more than 30 combining marks in a row or half a surrogate
                pair. An option is outside its range.
        """
        for medium in self.media.values():
            medium.check()
        if not self.media and not self.text.strip():
            state = "only blanks" if self.text else "no characters"
            raise InputError(f"The text has {state}. Type a sentence.")
        check_text(self.text)
        check_options(self)
        target = None if self.target is None else self.target.translate(_BREAKS)
        return replace(self, text=self.text.translate(_BREAKS), target=target)


@dataclass(frozen=True, slots=True)
class Focus:
    """The part of a trace that a view shows."""

    # Site of an attention map.
    site: str
    # Layer, counted from 0. If `head` is None, the view shows all heads.
    layer: int = 0
    head: int | None = None
    # "query" if `items` are queries (what do they attend to?), "memory" if they are memory items
    # (which queries attend to them?).
    side: str = "query"
    # The selected items, counted from 0.
    items: tuple[int, ...] = ()
    # The unit that users select: an "item" (a token of the model) or a "word".
    unit: str = "item"
    # Size of the top areas: "any", or "several" for two or more items. If the key of an area is the
    # mean of its items' keys, the top area of any size is always a single item.
    areas: str = "any"
    # The display of the map: the "heaviest" areas, the "coverage" of items, or the "densest" area.
    reading: str = "heaviest"
    # Minimum share that a densest area holds, 30..90 per cent.
    mass: int = 50
    # Baseline of the shares: "nothing", or the "average" of the head over all queries.
    against: str = "nothing"


def make_model_name(called: str) -> str:
    """Convert the name of a class, a folder or a hub model to a valid model name of a request.

    Args:
        called: The original name, such as "org/model". Invalid characters become hyphens.
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", called).strip("-._")[:100] or "model"


def check_options(request: Request) -> None:
    """Check everything in a request except its text.

    Raises:
        InputError: The model name is missing or invalid, an option is outside its range, the given
            output is not a valid text, or a change is invalid.
    """
    if not request.model:
        raise InputError("The request names no model. Choose one from the list.")
    if not _MODEL.fullmatch(request.model):
        raise InputError(
            f'Model "{shorten(request.model)}" does not exist. Choose one from the list.'
        )
    check_choice("method", request.method, METHODS)
    check_range("beam", request.beam, BEAMS)
    check_range("seed", request.seed, SEEDS)
    if request.area_size is not None:
        check_range("area", request.area_size, AREA_SIZES)
    check_text(request.target or "")
    check_changes(request.changes)


# The fields of a request, as documents and links write them.
#
# A new field of `Request` is one line here.


@dataclass(frozen=True, slots=True)
class RequestField:
    """One field of a request."""

    # The name in `Request` and in documents.
    name: str
    # The type of the value: str, int or bool, tuple for changes, or `Medium`.
    kind: type
    # The name in links, if it differs from `name`.
    parameter: str = ""
    # The smallest and largest number in a link.
    limits: tuple[int, int] = (0, 0)
    # The first version whose documents must have the field, or 0 if it is always optional.
    since: int = 1

    @property
    def default(self) -> Any:
        """The value that links and older documents leave out."""
        return getattr(Request("", ""), self.name)


REQUEST_FIELDS = (
    RequestField("model", str),
    RequestField("text", str),
    RequestField("method", str),
    RequestField("beam", int, limits=BEAMS),
    RequestField("area_size", int, "area", AREA_SIZES),
    RequestField("seed", int, limits=SEEDS),
    *(RequestField(name, Medium, since=2 if name == "picture" else 0) for name in MEDIA),
    RequestField("sample", bool, since=2),
    RequestField("target", str, since=3),
    RequestField("changes", tuple, since=3),
    RequestField("attribution", bool, since=0),
)
"""Every field, in the order of a link's parameters."""


# A request and a focus as URL parameters, so that every view is a link.
#
# In a link, layers, heads and items count from 1, as on the page. In the records they count from 0.


_SITE = re.compile(r"[a-z][a-z0-9 -]{0,39}")
_DIGITS = re.compile(r"-?[0-9]{1,10}")


@dataclass(frozen=True, slots=True)
class Form:
    """Conversion of a value to the text in a link and back."""

    write: Callable[[Any], str]
    # Gets the name of the parameter and its text. Raises InputError.
    read: Callable[[str, str], Any]


def _make_number_form(limits: tuple[int, int], first: int = 0) -> Form:
    """Return the form of a whole number. In a link it has plain digits and counts from `first`."""

    def read(name: str, text: str) -> int:
        if not _DIGITS.fullmatch(text):
            raise InputError(
                f'"{name}" is "{shorten(text)}" but must be a whole number from {limits[0]} to'
                f" {limits[1]}. Choose a number in that range."
            )
        check_range(name, int(text), limits)
        return int(text) - first

    return Form(lambda value: str(value + first), read)


def _make_choice_form(choices: Sequence[str]) -> Form:
    return Form(str, lambda name, text: check_choice(name, text, choices))


def _read_site(name: str, text: str) -> str:
    if not _SITE.fullmatch(text):
        raise InputError(
            f'The link asks for the site "{shorten(text)}", which does not exist. Remove it.'
        )
    return text


_PLACE = _make_number_form((1, MAX_POSITION), first=1)
_FORMS: Mapping[type, Form] = {
    str: Form(str, lambda _, text: text),
    bool: Form(lambda value: str(int(value)), lambda _, text: text == "1"),
    tuple: Form(format_changes, lambda _, text: parse_changes(text)),
    # A link contains only the name. The page finds the picture, sound or clip.
    Medium: Form(lambda medium: str(medium.name), lambda _, text: None),
}
Parameters = Mapping[str, tuple[str, Form]]
"""The field and the form of every parameter."""
REQUEST: Parameters = {
    field.parameter or field.name: (
        field.name,
        _FORMS.get(field.kind) or _make_number_form(field.limits),
    )
    for field in REQUEST_FIELDS
}
FOCUS: Parameters = {
    "site": ("site", Form(str, _read_site)),
    "layer": ("layer", _PLACE),
    "head": ("head", _PLACE),
    "side": ("side", _make_choice_form(SIDES)),
    "items": ("items", Form(format_ranges, lambda _, text: tuple(parse_ranges(text)))),
    "unit": ("unit", _make_choice_form(UNITS)),
    "areas": ("areas", _make_choice_form(AREAS)),
    "read": ("reading", _make_choice_form(READINGS)),
    "mass": ("mass", _make_number_form(MASSES)),
    "against": ("against", _make_choice_form(AGAINST)),
}


def to_params(request: Request, focus: Focus | None = None) -> dict[str, str]:
    """Return the URL parameters that restore a request and a focus, without default values.

    The names are those of `REQUEST` and `FOCUS`. Items are written as "3-7,12".
    """
    params = _write_parameters(REQUEST, request, Request("", ""))
    if focus is not None:
        params |= _write_parameters(FOCUS, focus, Focus(""))
    return params


def from_params(params: Mapping[str, str]) -> tuple[Request, Focus | None]:
    """Parse URL parameters. Unknown names are ignored, and a missing text is an empty text.

    A link contains only the name of a picture: `get_picture_name` reads it, and the page finds the
    picture.

    Raises:
        InputError: A parameter cannot be used.
    """
    request = Request(**{"model": "", "text": "", **_read_parameters(REQUEST, params)})
    check_text(request.text)
    check_options(request)
    return request, _read_focus(params)


def _write_parameters(parameters: Parameters, record: object, default: object) -> dict[str, str]:
    """Return the parameters of the fields that differ from those of a default record."""
    params = {}
    for parameter, (name, form) in parameters.items():
        value = getattr(record, name)
        if value != getattr(default, name):
            params[parameter] = form.write(value)
    return params


def _read_parameters(parameters: Parameters, params: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the fields that a link has."""
    found = {}
    for parameter, (name, form) in parameters.items():
        if parameter in params:
            found[name] = form.read(parameter, params[parameter])
    return found


def get_picture_name(params: Mapping[str, str]) -> str | None:
    """Return the name of a link's picture, or None.

    Raises:
        InputError: The name is invalid.
    """
    name = params.get("picture")
    if name is not None and not MEDIUM_NAME.fullmatch(name):
        raise InputError(
            f'The link asks for the picture "{shorten(name)}", which cannot exist. Choose a'
            " picture."
        )
    return name


def _read_focus(params: Mapping[str, str]) -> Focus | None:
    """Return the focus of a link, or None if it has none."""
    if "site" in params:
        return Focus(**_read_parameters(FOCUS, params))
    for stray in FOCUS:
        if stray in params:
            raise InputError(
                f'The link has "{stray}" but no "site". Add the site or remove "{stray}".'
            )
    return None
