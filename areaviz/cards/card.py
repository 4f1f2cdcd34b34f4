"""Model cards (checkpoints/NAME/card.json): what a model is, its training and its figures."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from areaviz.cards.opening import Opening, parse_opening
from areaviz.cards.tasks import TASKS
from areaviz.trace.derived import BestAlignment
from areaviz.trace.errors import READINGS, BackendError
from areaviz.trace.safe_files import write_json

OPTIONAL = ("notes", "gates", "files", "heads", "opening", "lacks")
"""Entries that older cards do not have."""
LENGTH_PENALTY = "length_penalty"
"""The entry of a recipe that `Card.length_penalty` reads."""
POINTING_HEAD = "pointing_head"
"""An entry of the recipe in older cards, which newer cards have in `Card.opening`."""
SIZES = ("Tiny", "Small", "Base", "Big")
"""Sizes of networks in reading order."""
GRAMMAR = "grammar"
"""The entry of a recipe that `Card.grammar` reads."""
ATTENDING_SITE = "encoder-decoder"
PICTURE_SITES = {"picture translation": "encoder-decoder picture"}
"""The site to which the pointing head of an older card belongs, by task."""
RENAMED = {"pointing head": "pointing_head", "chosen by": "chosen_by"}
"""Former names of recipe entries in older cards, and their current names."""
MEASURED_FIELDS = ("figures", "attention", "heads", "opening", "notes", "gates", "files", "lacks")
"""Entries with results and notes. They do not distinguish one model from another."""
PICTURES = {"scenes": "shape scenes", "photos": "photographs"}
"""Kinds of training pictures with their descriptions. `Card.pictures` is a key."""
_KINDS: Mapping[Any, tuple[Any, str]] = {
    str: (str, "a text"),
    int: (int, "a whole number"),
    float: ((int, float), "a number"),
    tuple: (list, "a list"),
    Mapping: (dict, "an object with entries"),
}
"""For each type of a field: the corresponding JSON types, and a name for error messages."""


@dataclass(frozen=True, slots=True)
class LengthLimit:
    """The longest output, in items, for a source of n items: ratio * n + extra.

    Character models sometimes repeat themselves without end. The limit is chosen so that no
    validation reference exceeds it.
    """

    ratio: float
    extra: int

    def __call__(self, items: int) -> int:
        """Return the limit for a source of `items` items."""
        return math.ceil(self.ratio * items) + self.extra


@dataclass(frozen=True, slots=True)
class Card:
    """The public information about a model. Each field is an entry of card.json.

    Args:
        name: Name of its folder, and the request's `model`.
        family: Key of the model registry.
        title: Name for users.
        task: Key of `TASKS`.
        level: Kind of the model's items: "character", "token", "word" or "digit".
        mechanism: "regular" or "area", one of the survey's four mechanisms, "text and picture" or
            "none".
        size: "Tiny", "Small", "Base" or "Big" (Li et al. 2019, section 4.1.1), or "".
        pair: Models of one pair differ only in their attention and its supervision.
        parameters: Number of learned parameters.
        trained_length: Longest training input, in items.
        config: Options of the trained network.
        recipe: Recipe of the training, with the choices made on validation.
        data: Description of the training data.
        figures: Test set -> metric -> value.
        attention: Site -> metric -> value.
        history: One entry per validation: step, train_loss, valid_loss, seconds.
        code_version: Version and commit of the training code.
        trained_on: The machine and the training time in hours.
        limits: The model's limitations, in sentences.
        licence: The licence, in sentences.
        notes: Sentences about the model, such as a comparison with another model.
        gates: Targets of the model, see `areaviz.cards.gates`.
        files: File name -> SHA-256 of each file that is loaded. {} in older cards.
        heads: Site -> metric -> values of each layer's heads on validation, see
            `areaviz.evaluation.heads`. {} if they were not measured.
        opening: Site -> default view of a page. Without an entry, the page shows top areas.
        lacks: Entries of `can` that its task provides and this model does not have.
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
        """The content of card.json, as `parse_card` reads it."""
        opening = {site: opening.entries for site, opening in self.opening.items()}
        return {**asdict(self), "opening": opening}

    @property
    def bests(self) -> dict[str, BestAlignment]:
        """The best alignment of each site that has one."""
        return {site: one.best for site, one in self.opening.items() if one.best is not None}

    @property
    def can(self) -> frozenset[str]:
        """The features that the model supports in addition to its input.

        The entries are the kinds of changes, "areas" for other area sizes, "target" for a given
        output, and "attribution".
        """
        can = TASKS[self.task].can if self.task in TASKS else frozenset[str]()
        # Attention to single cells or locations has no areas.
        has_areas = self.mechanism in ("regular", "area", "text and picture")
        return (can | {"areas"} if has_areas else can) - frozenset(self.lacks)

    @property
    def given(self) -> str | None:
        """The output given with every example of a dataset, or None if the model writes its own."""
        return TASKS[self.task].given if "target" in self.can else None

    @property
    def has_logits(self) -> bool:
        """True if its logits are sums of parts, because it has queries and keys of items."""
        # Keys of whole areas, by the maximum of their items or by Eq. 9, have no parts.
        kinds = {options.get("key_mode") for options in (self.config, self.config.get("text", {}))}
        return "areas" in self.can and not kinds & {"max", "features"}

    @property
    def length_limit(self) -> LengthLimit | None:
        """The limit on the output for a text, or None for a model without a limit."""
        limit = self.recipe.get("length_limit")
        return LengthLimit(**limit) if limit else None

    @property
    def length_penalty(self) -> float | None:
        """The length penalty of beam search chosen on validation, or None if there is none."""
        penalty = self.recipe.get(LENGTH_PENALTY)
        return None if penalty is None else float(penalty)

    @property
    def pointing_head(self) -> tuple[int, int] | None:
        """Layer and head, from 0, whose attention points best on validation, or None if unknown."""
        places = (one.pointing_head for one in self.opening.values())
        return next((place for place in places if place is not None), None)

    @property
    def told_head(self) -> tuple[int, int] | None:
        """Layer and head, from 0, with location supervision in training, or None."""
        if not self.recipe.get("told"):
            return None
        layer, head = self.recipe["told_head"]
        return int(layer), int(head)

    @property
    def grammar(self) -> str:
        """The grammar that constrains the outputs, a key of `GRAMMARS`, or "" for none."""
        return str(self.recipe.get(GRAMMAR, ""))

    @property
    def identity(self) -> dict[str, Any]:
        """The entries that identify this model in the keys of traces and analyses.

        They are all entries except `MEASURED_FIELDS`, so a model that is measured again keeps its
        traces and analyses. Nothing is copied, because every request needs the key.
        """
        names = (one.name for one in fields(self))
        found = {name: getattr(self, name) for name in names if name not in MEASURED_FIELDS}
        if self.pointing_head is not None:
            # The pointing head was an entry of the recipe. The keys of stored traces must not
            # change.
            found["recipe"] = {**self.recipe, POINTING_HEAD: list(self.pointing_head)}
        return found

    @property
    def is_as_published(self) -> bool:
        """True if its areas, if any, use only Eq. 3 and 4 (Li et al. 2019), as published."""
        text = self.config.get("text", self.config)
        usual = {"key_mode": "mean", "value_mode": "sum", "convolution": 1, "size_bias": False}
        return all(text.get(name, value) == value for name, value in usual.items())

    @property
    def key_mode(self) -> str:
        """How the key of an area of text is computed, such as "boundary", or "" if unknown."""
        return str(self.config.get("text", self.config).get("key_mode", ""))

    @property
    def largest_learned(self) -> int:
        """The largest area for which it has learned keys or biases, or 0 if it has learned none."""
        text = self.config.get("text", self.config)
        learns_keys = text.get("key_mode", "mean") in ("features", "boundary")
        if learns_keys or text.get("size_bias", False):
            return int(text.get("area_size", 1))
        return 0

    @property
    def pictures(self) -> str:
        """The kind of its training pictures, a key of `PICTURES`, or "" if unknown."""
        return str(self.recipe.get("pictures", ""))

    @property
    def question(self) -> str:
        """The default question about a picture, or "" if the model takes no question."""
        return str(self.recipe.get("question", ""))

    def reads(self, kind: str) -> bool:
        """Return whether the model is meant for a kind of pictures, see `Dataset.kind`.

        A digit classifier knows one kind of pictures. A user's own pictures, "", may be of any
        kind.
        """
        return kind in (self.config.get("kind", kind), "photos", "")

    def unfamiliar(self, kind: str) -> str:
        """Return a warning if the model was not trained on pictures of this kind, or "".

        Args:
            kind: The kind of the pictures, a key of `PICTURES`, or "".
        """
        if kind == "" or self.pictures in ("", kind):
            return ""
        return (
            f"This model has seen {PICTURES[self.pictures]} alone: what it says of other pictures"
            " is a guess."
        )


def read_card(path: Path) -> Card:
    """Read a card.json. Unknown entries are ignored.

    Raises:
        BackendError: The file is missing or not JSON, or an entry is missing or has the wrong type.
    """
    advice = "Restore it from the repository or train the model again"
    try:
        return parse_card(json.loads(path.read_bytes()))
    except OSError as error:
        raise BackendError(
            f"The model card {path} cannot be read ({error.strerror or error}). {advice}."
        ) from error
    except (ValueError, RecursionError) as error:
        raise BackendError(f"The model card {path} is damaged ({error}). {advice}.") from error


def read_cards(checkpoints: Path) -> list[Card]:
    """Return the cards of a folder of checkpoints in reading order.

    Cards are sorted by task, level (characters first), size (small first), kind of pictures, and
    attention (regular before area).

    Raises:
        BackendError: A card cannot be read. The message names it.
    """
    tasks = list(TASKS)

    def place(card: Card) -> tuple[object, ...]:
        size = SIZES.index(card.size) if card.size in SIZES else 0
        is_regular = card.mechanism == "regular"
        return tasks.index(card.task), card.level, size, card.pictures, not is_regular, card.name

    cards = [read_card(path) for path in checkpoints.glob("*/card.json")]
    return sorted(cards, key=place)


def parse_card(entries: Any) -> Card:
    """Return the card for parsed JSON.

    Raises:
        ValueError: An entry is missing or has the wrong type.
    """
    if not isinstance(entries, dict):
        raise ValueError("it holds no entries")
    values, missing = {}, []
    for name, hint in get_type_hints(Card).items():
        if name in entries:
            values[name] = _convert_type(entries[name], hint, name)
        elif name not in OPTIONAL:
            missing.append(name)
    if missing:
        raise ValueError(f"it lacks {', '.join(missing)}")
    recipe = values["recipe"]
    values["recipe"] = {RENAMED.get(name, name): value for name, value in recipe.items()}
    card = Card(**values)
    return _with_pointing_head(card) if POINTING_HEAD in card.recipe else card


def _with_pointing_head(card: Card) -> Card:
    """Move the pointing head of an older card from its recipe to the opening of its site."""
    recipe = dict(card.recipe)
    layer, head = map(int, recipe.pop(POINTING_HEAD))
    site = PICTURE_SITES.get(card.task, ATTENDING_SITE)
    first = card.opening.get(site, Opening(READINGS[0], layer, None))
    opening = {**card.opening, site: replace(first, pointing_head=(layer, head))}
    return replace(card, recipe=recipe, opening=opening)


def write_card(card: Card, path: Path) -> None:
    """Write a card.json, whole or not at all.

    Raises:
        ValueError: An entry is not a finite number, or JSON cannot represent it.
        BackendError: The disk is full or the path is not writable.
    """
    try:
        write_json(path, card.entries)
    except TypeError as error:
        raise ValueError(
            f'The card "{card.name}" has an entry that JSON cannot hold: {error}.'
        ) from error


def _convert_type(value: Any, hint: Any, name: str) -> Any:
    """Convert a JSON value to a field's type.

    Lists become tuples, and integers become floats if needed.
    """
    if hint is Any:
        return value
    if hint is Opening:
        return parse_opening(value, name)
    kind, parts = get_origin(hint) or hint, get_args(hint)
    expected, called = _KINDS[kind]
    if not isinstance(value, expected) or isinstance(value, bool):
        raise ValueError(f"{name} is not {called}")
    if kind is tuple:
        return tuple(_convert_type(item, parts[0], f"an entry of {name}") for item in value)
    if kind is Mapping:
        return {key: _convert_type(item, parts[1], f"{name}: {key}") for key, item in value.items()}
    return value
