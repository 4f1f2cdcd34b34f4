"""A model's card (checkpoints/NAME/card.json): what it is, how it was trained, what it measured."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from areaviz.cards.tasks import TASKS
from areaviz.trace.errors import BackendError
from areaviz.trace.files import write_json
from areaviz.trace.limits import READINGS

OPTIONAL = ("notes", "gates", "files", "heads", "opening", "lacks")
"""Entries that older cards lack."""
POINTING_HEAD, LENGTH_PENALTY = "pointing_head", "length_penalty"
"""The entries of a recipe that `Card.pointing_head` and `Card.length_penalty` read."""
GRAMMAR = "grammar"
"""The entry of a recipe that `Card.grammar` reads."""
RENAMED = {"pointing head": "pointing_head", "chosen by": "chosen_by"}
"""Entries of a recipe in cards of before, and what they are called now."""
MEASURED = ("figures", "attention", "heads", "opening", "notes", "gates", "files", "lacks")
"""Entries that say more of the same model, and so do not make it another one."""
PICTURES = {"scenes": "shape scenes", "photos": "photographs"}
"""What pictures can show, in words; `Card.pictures` is one of them."""
_KINDS: Mapping[Any, tuple[Any, str]] = {
    str: (str, "text"),
    int: (int, "whole number"),
    float: ((int, float), "number"),
    tuple: (list, "list"),
    Mapping: (dict, "object with entries"),
}
"""For each type a field may have: what JSON has for it, and its name for people."""


@dataclass(frozen=True, slots=True)
class LengthLimit:
    """The longest output, in items, for a source of n items: ratio * n + extra.

    Character models repeat themselves without end on a few sentences; the limit is chosen so that
    no validation reference exceeds it.
    """

    ratio: float
    extra: int

    def __call__(self, items: int) -> int:
        return math.ceil(self.ratio * items) + self.extra


@dataclass(frozen=True, slots=True)
class Opening:
    """How a page first shows one site of a model, as chosen on validation."""

    # One of `READINGS`.
    reading: str
    # Counted from 0; the head None, in card.json "all", for all of them.
    layer: int
    head: int | None

    @property
    def entries(self) -> dict[str, Any]:
        """What card.json has for it."""
        return {**asdict(self), "head": "all" if self.head is None else self.head}


@dataclass(frozen=True, slots=True)
class Card:
    """What a reader may know about a model; each field is an entry of card.json.

    Args:
        name: its folder, and the request's `model`.
        family: key of the model registry.
        title: for people.
        task: a key of `TASKS`.
        level: "character", "token", "word" or "digit".
        mechanism: "regular" or "area", one of the survey's four, "text and picture" or "none".
        size: "Tiny", "Small", "Base" or "Big" (Li et al. 2019, section 4.1.1), or "".
        pair: models of one pair differ in their attention and in what teaches it only.
        parameters: how many numbers were learned.
        trained_length: longest training input, in items.
        config: options of the network, as trained.
        recipe: as trained, with what was chosen by validation.
        data: as trained.
        figures: test set -> measure -> value.
        attention: site -> measure -> value.
        history: one entry a validation: step, train_loss, valid_loss, seconds.
        code_version: the version and commit that trained it.
        trained_on: the machine and the hours.
        limits: prose.
        licence: prose.
        notes: sentences about it, such as a comparison with another model.
        gates: what it has to reach, see `areaviz.cards.gates`.
        files: name -> SHA-256 of each file that is loaded; {} in cards older than this entry.
        heads: site -> measure -> its value of each layer's heads, on validation, see
            `areaviz.evaluation.heads`; {} where they were not measured.
        opening: site -> what a page opens on there; a site without one opens on heaviest areas.
        lacks: what other models of its task can and it cannot, of the words of `can`.
    """

    name: str
    family: str
    title: str
    task: str
    level: str
    mechanism: str
    size: str
    pair: str
    parameters: int
    trained_length: int
    config: Mapping[str, Any]
    recipe: Mapping[str, Any]
    data: Mapping[str, Any]
    figures: Mapping[str, Mapping[str, Any]]
    attention: Mapping[str, Mapping[str, float]]
    history: tuple[Mapping[str, float], ...]
    code_version: str
    trained_on: str
    limits: str
    licence: str
    notes: tuple[str, ...] = field(default=())
    gates: tuple[Mapping[str, Any], ...] = field(default=())
    files: Mapping[str, str] = field(default_factory=dict)
    heads: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    opening: Mapping[str, Opening] = field(default_factory=dict)
    lacks: tuple[str, ...] = field(default=())

    @property
    def entries(self) -> dict[str, Any]:
        """What card.json has of it, for `card_of`."""
        opening = {site: opening.entries for site, opening in self.opening.items()}
        return {**asdict(self), "opening": opening}

    @property
    def can(self) -> frozenset[str]:
        """What a request may ask of it besides an input: "areas" of another size, the kinds of
        changes, "target", a given output, and "attribution".
        """
        can = TASKS[self.task].can if self.task in TASKS else frozenset[str]()
        # Attention to single cells, or to places, has no areas.
        has_areas = self.mechanism in ("regular", "area", "text and picture")
        return (can | {"areas"} if has_areas else can) - frozenset(self.lacks)

    @property
    def given(self) -> str | None:
        """The output that it is given with every example of a set; None where it writes its own."""
        return TASKS[self.task].given if "target" in self.can else None

    @property
    def has_logits(self) -> bool:
        """Whether its weights are those of queries and keys of items, so that a logit has parts."""
        # Keys of whole areas, the largest of their items or those of Eq. 9, have none.
        kinds = {options.get("key_mode") for options in (self.config, self.config.get("text", {}))}
        return "areas" in self.can and not kinds & {"max", "features"}

    @property
    def length_limit(self) -> LengthLimit | None:
        """The longest output for a text; None for a model that needs none."""
        limit = self.recipe.get("length_limit")
        return LengthLimit(**limit) if limit else None

    @property
    def length_penalty(self) -> float | None:
        """Of beam search, chosen on validation; None where it was not."""
        penalty = self.recipe.get(LENGTH_PENALTY)
        return None if penalty is None else float(penalty)

    @property
    def pointing_head(self) -> tuple[int, int] | None:
        """Layer and head, 0-based, whose attention points best on validation; None if unknown."""
        place = self.recipe.get(POINTING_HEAD)
        return (int(place[0]), int(place[1])) if place else None

    @property
    def told_head(self) -> tuple[int, int] | None:
        """Layer and head, 0-based, that were told where to look in training; None for no head."""
        if not self.recipe.get("told"):
            return None
        layer, head = self.recipe["told_head"]
        return int(layer), int(head)

    @property
    def grammar(self) -> str:
        """What its outputs are held to while they are written, a key of `GRAMMARS`; "" for none."""
        return str(self.recipe.get(GRAMMAR, ""))

    @property
    def identity(self) -> dict[str, Any]:
        """What distinguishes this model in the keys of traces and analyses.

        These are all entries but `MEASURED`: a model that is measured again keeps its traces and
        analyses. Nothing is copied, because every question needs the key.
        """
        names = (one.name for one in fields(self))
        return {name: getattr(self, name) for name in names if name not in MEASURED}

    @property
    def is_as_published(self) -> bool:
        """Whether its areas, if any, are those of Eq. 3 and 4 alone (Li et al. 2019)."""
        text = self.config.get("text", self.config)
        usual = {"key_mode": "mean", "value_mode": "sum", "convolution": 1, "size_bias": False}
        return all(text.get(name, value) == value for name, value in usual.items())

    @property
    def largest_learned(self) -> int:
        """The largest area its learned keys or biases know; 0 where any size will do."""
        text = self.config.get("text", self.config)
        learns_keys = text.get("key_mode", "mean") in ("features", "boundary")
        if learns_keys or text.get("size_bias", False):
            return int(text.get("area_size", 1))
        return 0

    @property
    def pictures(self) -> str:
        """What its pictures show where the card says so: "scenes" or "photos"; else ""."""
        return str(self.recipe.get("pictures", ""))

    @property
    def question(self) -> str:
        """What it is asked about a picture where nothing is said; "" where it takes no question."""
        return str(self.recipe.get("question", ""))

    def reads(self, kind: str) -> bool:
        """Whether it is meant for what a set's pictures show, as `Dataset.kind` has it.

        Readers of digits know one kind of pictures each; a reader's own may be of any.
        """
        return kind in (self.config.get("kind", kind), "photos", "")

    def unfamiliar(self, kind: str) -> str:
        """A sentence where it has never seen pictures of a kind; "" where it has, or for no kind.

        kind: what pictures show, a key of `PICTURES`, or "".
        """
        if kind == "" or self.pictures in ("", kind):
            return ""
        return (
            f"This model has seen {PICTURES[self.pictures]} alone: what it says of other pictures"
            " is a guess."
        )


def read_card(path: Path) -> Card:
    """Read a card.json; unknown entries are ignored.

    Raises:
        BackendError: it is missing, no JSON, or an entry is missing or of the wrong type.
    """
    advice = "restore it from the repository or train the model again"
    try:
        return card_of(json.loads(path.read_bytes()))
    except OSError as error:
        raise BackendError(
            f"The model card {path} cannot be read ({error.strerror or error}); {advice}."
        ) from error
    except (ValueError, RecursionError) as error:
        raise BackendError(f"The model card {path} is damaged ({error}); {advice}.") from error


def card_of(entries: Any) -> Card:
    """A card of what JSON gave; ValueError where an entry is missing or of the wrong type."""
    if not isinstance(entries, dict):
        raise ValueError("it holds no entries")
    values, missing = {}, []
    for name, hint in get_type_hints(Card).items():
        if name in entries:
            values[name] = _typed(entries[name], hint, name)
        elif name not in OPTIONAL:
            missing.append(name)
    if missing:
        raise ValueError(f"it lacks {', '.join(missing)}")
    recipe = values["recipe"]
    values["recipe"] = {RENAMED.get(name, name): value for name, value in recipe.items()}
    return Card(**values)


def write_card(card: Card, path: Path) -> None:
    """Write a card.json, whole or not at all.

    Raises:
        ValueError: an entry is not a finite number, or JSON cannot hold it.
        BackendError: the disk is full or the place cannot be written to.
    """
    try:
        write_json(path, card.entries)
    except TypeError as error:
        raise ValueError(
            f'The card "{card.name}" has an entry that JSON cannot hold: {error}.'
        ) from error


def _typed(value: Any, hint: Any, name: str) -> Any:
    """A JSON value as a field of the card has it: lists become tuples, integers may be floats."""
    if hint is Any:
        return value
    if hint is Opening:
        return _opening(value, name)
    kind, parts = get_origin(hint) or hint, get_args(hint)
    expected, called = _KINDS[kind]
    if not isinstance(value, expected) or isinstance(value, bool):
        raise ValueError(f"{name} is no {called}")
    if kind is tuple:
        return tuple(_typed(item, parts[0], f"an entry of {name}") for item in value)
    if kind is Mapping:
        return {key: _typed(item, parts[1], f"{name}: {key}") for key, item in value.items()}
    return value


def _opening(value: Any, name: str) -> Opening:
    """What a page opens on, of JSON; ValueError for a reading, layer or head that cannot be."""
    if not isinstance(value, dict) or value.keys() != {"reading", "layer", "head"}:
        raise ValueError(f"{name} is no object with reading, layer and head")
    reading, layer, head = value["reading"], value["layer"], value["head"]
    if reading not in READINGS:
        raise ValueError(f"{name}: reading is none of {', '.join(READINGS)}")
    places = [layer] if head == "all" else [layer, head]
    if any(type(place) is not int or place < 0 for place in places):
        raise ValueError(f"{name}: layer or head is no whole number from 0 on")
    return Opening(reading, layer, None if head == "all" else head)
