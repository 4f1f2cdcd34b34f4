"""What is asked (`Request`) and what is looked at (`Focus`): all the state the interface has."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from areaviz.trace.clip import Clip, check_clip
from areaviz.trace.errors import InputError
from areaviz.trace.interventions import Change, check_changes
from areaviz.trace.limits import (
    AREA_SIZES,
    BEAMS,
    METHODS,
    SEEDS,
    check_range,
    check_text,
    choice,
    shown,
)
from areaviz.trace.picture import Picture, check_picture
from areaviz.trace.sound import Sound, check_sound

# Called while something long runs, with the share done, 0..1, and what is being done, in words; or,
# where things are counted, with how many are done and how many there are.
Progress = Callable[[float, str], None]
Counted = Callable[[int, int], None]

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_BREAKS = str.maketrans(dict.fromkeys("\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029", " "))


@dataclass(frozen=True, slots=True)
class Request:
    """One example to run."""

    # Name of a checkpoint.
    model: str
    # The input, "" for a model that only takes a picture, a sound or a clip.
    text: str
    # "greedy" or "beam", and the width of the beam, 1..16.
    method: str = "greedy"
    beam: int = 4
    # Largest area, 1..16 items, or None for the size the model was trained with.
    area_size: int | None = None
    # For models that sample, 0..2^32-1.
    seed: int = 0
    # For models that take one.
    picture: Picture | None = None
    # Whether a model that chooses where to look draws its choices, by the seed, or takes the most
    # probable ones.
    sample: bool = False
    # The output that is read instead of one that the model finds.
    target: str | None = None
    # The interventions, all at once.
    changes: tuple[Change, ...] = ()
    # For models that listen.
    sound: Sound | None = None
    # For models that watch.
    clip: Clip | None = None
    # Whether the trace also has what the output depends on by other ways than attention.
    attribution: bool = False

    def checked(self) -> Request:
        """This request as it can be run: each line break and tab is one blank, to keep offsets.

        Emoji, right-to-left text, combining marks and any language are welcome.

        Raises:
            InputError: there is no picture, sound or clip and the text is blank; the text is
                longer than 4,096 characters, has more than 30 combining marks in a row or half a
                surrogate pair; or an option is outside its range.
        """
        if self.picture is not None:
            check_picture(self.picture)
        if self.sound is not None:
            check_sound(self.sound)
        if self.clip is not None:
            check_clip(self.clip)
        others = (self.picture, self.sound, self.clip)
        if all(other is None for other in others) and not self.text.strip():
            state = "only blanks" if self.text else "no characters"
            raise InputError(f"The text has {state}; type a sentence.")
        check_text(self.text)
        check_options(self)
        target = None if self.target is None else self.target.translate(_BREAKS)
        return replace(self, text=self.text.translate(_BREAKS), target=target)


@dataclass(frozen=True, slots=True)
class Focus:
    """What is being looked at in a trace."""

    # Name of an attention map.
    site: str
    # 0-based; head None means all heads.
    layer: int = 0
    head: int | None = None
    # "query" when `items` are queries (what do they attend to?), "memory" when they are memory
    # items (who attends to them?).
    side: str = "query"
    # 0-based, possibly several.
    items: tuple[int, ...] = ()
    # What the reader points at, "item" (as the model sees it) or "word".
    unit: str = "item"
    # Heaviest areas of "any" size, or of "several" items, two or more: where keys are means, the
    # heaviest area of all is always a single item.
    areas: str = "any"
    # How the map is read: its "heaviest" areas, the "coverage" of items, or the "densest" area.
    reading: str = "heaviest"
    # The share, in per cent, that a densest area holds at least, 30..90.
    mass: int = 50
    # What shares are shown against: "nothing", or the "average" of the head over all queries.
    against: str = "nothing"


def model_name(called: str) -> str:
    """Return a name that a request may have, of a class, a folder or a model of the hub.

    Args:
        called: such as "org/model"; signs that a request cannot carry become hyphens.
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", called).strip("-._")[:100] or "model"


def check_options(request: Request) -> None:
    """Everything but the text.

    Raises:
        InputError: when no model is named, its name cannot be one, an option is outside its range,
            the given output is no text that can be read, or a change cannot be made.
    """
    if not request.model:
        raise InputError("No model is named; choose one of the models offered.")
    if not _MODEL.fullmatch(request.model):
        raise InputError(
            f'There is no model "{shown(request.model)}"; choose one of the models offered.'
        )
    choice("method", request.method, METHODS)
    check_range("beam", request.beam, BEAMS)
    check_range("seed", request.seed, SEEDS)
    if request.area_size is not None:
        check_range("area", request.area_size, AREA_SIZES)
    check_text(request.target or "")
    check_changes(request.changes)
