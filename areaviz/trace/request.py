"""What is asked (`Request`) and what is looked at (`Focus`): all the state the interface has.

Both travel as address parameters, so every view is a link. In a link layers, heads and items count
from 1, as they do on the page; in the records they count from 0.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from areaviz.trace.errors import InputError

MAX_CODE_POINTS = 4096
MAX_COMBINING_MARKS = 30
MAX_POSITION = 65_536
METHODS = ("greedy", "beam")
SIDES = ("query", "memory")
UNITS = ("item", "word")
AREAS = ("any", "several")
BEAMS = (1, 16)
AREA_SIZES = (1, 16)
SEEDS = (0, 2**32 - 1)

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SITE = re.compile(r"[a-z][a-z0-9 -]{0,39}")
_NUMBER = re.compile(r"-?[0-9]{1,10}")
_ITEMS = re.compile(r"[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*")
_BREAKS = str.maketrans(dict.fromkeys("\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029", " "))


@dataclass(frozen=True, slots=True)
class Request:
    """One example to run.

    model: name of a checkpoint. text: the input. method: "greedy" or "beam"; beam: its width, 1..16.
    area_size: largest area, 1..16 items, or None for the size the model was trained with. seed: for
    models that sample, 0..2^32-1.
    """

    model: str
    text: str
    method: str = "greedy"
    beam: int = 4
    area_size: int | None = None
    seed: int = 0

    def checked(self) -> Request:
        """This request as it can be run: every line break and tab is one blank, so offsets stay as typed.

        Emoji, right-to-left text, combining marks and any language are welcome.

        Raises:
            InputError: the text is blank, longer than 4,096 characters, has more than 30 combining marks
                in a row or half a surrogate pair, or an option is outside its range.
        """
        if not self.text.strip():
            state = "only blanks" if self.text else "no characters"
            raise InputError(f"The text has {state}; type between 1 and {MAX_CODE_POINTS:,} characters.")
        _check_text(self.text)
        _check_options(self)
        return replace(self, text=self.text.translate(_BREAKS))


@dataclass(frozen=True, slots=True)
class Focus:
    """What is being looked at in a trace.

    site: name of an attention map. layer, head: 0-based; head None means all heads. side: "query" when
    `items` are queries (what do they attend to?), "memory" when they are memory items (who attends to
    them?). items: 0-based, possibly several. unit: what the reader points at, "item" (as the model sees
    it) or "word". areas: those of "any" size, or those of "several" items, two or more: where keys are
    means, the heaviest area of all is always a single item.
    """

    site: str
    layer: int = 0
    head: int | None = None
    side: str = "query"
    items: tuple[int, ...] = ()
    unit: str = "item"
    areas: str = "any"


def to_params(request: Request, focus: Focus | None = None) -> dict[str, str]:
    """The address parameters that restore a request and a focus; defaults are left out.

    Names: model, text, method, beam, area, seed; site, layer, head, side, items ("3-7,12"), unit, areas.
    """
    params = {"model": request.model} | _unless("text", request.text, "")
    params |= _unless("method", request.method, "greedy") | _unless("beam", request.beam, 4)
    params |= _unless("area", request.area_size, None) | _unless("seed", request.seed, 0)
    if focus is None:
        return params
    params |= {"site": focus.site} | _unless("layer", focus.layer + 1, 1)
    if focus.head is not None:
        params["head"] = str(focus.head + 1)
    params |= _unless("side", focus.side, "query") | _unless("items", _packed(focus.items), "")
    return params | _unless("unit", focus.unit, "item") | _unless("areas", focus.areas, "any")


def from_params(params: Mapping[str, str]) -> tuple[Request, Focus | None]:
    """Read address parameters back; unknown names are ignored, a missing text is an empty one.

    Raises:
        InputError: a parameter cannot be used, in one sentence.
    """
    area = _number(params, "area", 0, AREA_SIZES) if "area" in params else None
    request = Request(
        model=params.get("model", ""),
        text=params.get("text", ""),
        method=params.get("method", "greedy"),
        beam=_number(params, "beam", 4, BEAMS),
        area_size=area,
        seed=_number(params, "seed", 0, SEEDS),
    )
    _check_text(request.text)
    _check_options(request)
    return request, _focus(params)


def _focus(params: Mapping[str, str]) -> Focus | None:
    """The focus of a link, or None where it has none."""
    if "site" not in params:
        stray = next((name for name in ("layer", "head", "side", "items", "unit", "areas") if name in params), None)
        if stray:
            raise InputError(f'The link has "{stray}" but no "site"; add the site or remove "{stray}".')
        return None
    if not _SITE.fullmatch(params["site"]):
        raise InputError(f'The link asks for the site "{_shown(params["site"])}", which does not exist; remove it.')
    places = (1, MAX_POSITION)
    return Focus(
        site=params["site"],
        layer=_number(params, "layer", 1, places) - 1,
        head=_number(params, "head", 1, places) - 1 if "head" in params else None,
        side=_choice("side", params.get("side", "query"), SIDES),
        items=tuple(_unpacked(params.get("items", ""))),
        unit=_choice("unit", params.get("unit", "item"), UNITS),
        areas=_choice("areas", params.get("areas", "any"), AREAS),
    )


def _check_text(text: str) -> None:
    """Size and well-formedness; an empty text passes."""
    if len(text) > MAX_CODE_POINTS:
        raise InputError(
            f"The text has {len(text):,} characters but at most {MAX_CODE_POINTS:,} are possible; "
            f"shorten it by {len(text) - MAX_CODE_POINTS:,}."
        )
    start, run = _longest_marks(text)
    if run > MAX_COMBINING_MARKS:
        raise InputError(
            f"The text has {run:,} combining marks in a row after character {start:,} but at most "
            f"{MAX_COMBINING_MARKS} are possible; remove some of them."
        )
    half = next((i for i, character in enumerate(text, 1) if "\ud800" <= character <= "\udfff"), None)
    if half:
        raise InputError(
            f"Character {half:,} of the text is broken (half a surrogate pair); delete it or type it anew."
        )


def _check_options(request: Request) -> None:
    """Everything but the text."""
    if not request.model:
        raise InputError("No model is named; choose one of the models offered.")
    if not _MODEL.fullmatch(request.model):
        raise InputError(f'There is no model "{_shown(request.model)}"; choose one of the models offered.')
    _choice("method", request.method, METHODS)
    _check_range("beam", request.beam, BEAMS)
    _check_range("seed", request.seed, SEEDS)
    if request.area_size is not None:
        _check_range("area", request.area_size, AREA_SIZES)


def _longest_marks(text: str) -> tuple[int, int]:
    """The longest run of combining marks: (how many characters stand before it, its length)."""
    position, longest = 0, (0, 0)
    for is_mark, group in groupby(text, lambda character: unicodedata.category(character).startswith("M")):
        length = sum(1 for _ in group)
        if is_mark and length > longest[1]:
            longest = (position, length)
        position += length
    return longest


def _check_range(name: str, value: int, limits: tuple[int, int]) -> None:
    low, high = limits
    if not low <= value <= high:
        raise InputError(f'"{name}" is {value} but must lie between {low} and {high}; choose a number in that range.')


def _choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise InputError(f'"{name}" is "{_shown(value)}" but must be one of: {", ".join(choices)}; choose one of them.')
    return value


def _number(params: Mapping[str, str], name: str, default: int, limits: tuple[int, int]) -> int:
    """A whole number in plain digits, within `limits`."""
    if name not in params:
        return default
    if not _NUMBER.fullmatch(params[name]):
        raise InputError(
            f'"{name}" is "{_shown(params[name])}" but must be a whole number from {limits[0]} to {limits[1]}; '
            "choose a number in that range."
        )
    _check_range(name, int(params[name]), limits)
    return int(params[name])


def _packed(items: tuple[int, ...]) -> str:
    """Runs of following items as ranges, in the order given: (2, 3, 4, 11) is "3-5,12"."""
    runs = [[item for _, item in group] for _, group in groupby(enumerate(items), lambda pair: pair[1] - pair[0])]
    return ",".join(f"{run[0] + 1}" if len(run) == 1 else f"{run[0] + 1}-{run[-1] + 1}" for run in runs)


def _unpacked(packed: str) -> Iterator[int]:
    """The items of "3-5,12"; nothing larger than `MAX_POSITION` is ever unrolled."""
    if packed and not _ITEMS.fullmatch(packed):
        raise InputError(f'"items" is "{_shown(packed)}" but must be positions such as 3-7,12; mend or remove it.')
    left = MAX_POSITION
    for part in filter(None, packed.split(",")):
        first, _, last = part.partition("-")
        start, stop = int(first), int(last or first)
        left -= stop - start + 1
        if not 1 <= start <= stop <= MAX_POSITION or left < 0:
            raise InputError(f'"items" has "{part}" but positions rise, from 1 to {MAX_POSITION:,}; mend or remove it.')
        yield from range(start - 1, stop)


def _unless(name: str, value: object, default: object) -> dict[str, str]:
    """One parameter, left out at its default."""
    return {} if value == default else {name: str(value)}


def _shown(value: str) -> str:
    """At most 40 characters of what was given."""
    return value if len(value) <= 40 else value[:39] + "…"
