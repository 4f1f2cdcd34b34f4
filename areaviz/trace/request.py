"""The input of a run (`Request`) and the selection viewed (`Focus`): all state of the interface."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from areaviz.trace.clip import Clip
from areaviz.trace.errors import InputError
from areaviz.trace.interventions import Change, check_changes
from areaviz.trace.limits import (
    AREA_SIZES,
    BEAMS,
    METHODS,
    SEEDS,
    check_choice,
    check_range,
    check_text,
    shorten,
)
from areaviz.trace.medium import Medium
from areaviz.trace.picture import Picture
from areaviz.trace.sound import Sound

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
