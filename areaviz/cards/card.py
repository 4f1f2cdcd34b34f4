"""Model cards: their fields, the views that they open with, former models, and targets.

Read `Card` first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from areaviz.cards.tasks import TASKS
from areaviz.trace.derived import BestAlignment, read_best_alignment
from areaviz.trace.errors import READINGS, BackendError
from areaviz.trace.safe_files import write_json

# How a page first shows a site of a model: an entry of the model's card.


@dataclass(frozen=True, slots=True)
class Opening:
    """How a page first shows one site of a model. Validation chose it."""

    # The display, one of `READINGS`.
    reading: str
    # Counted from 0. The head None, "all" in card.json, means all heads.
    layer: int
    head: int | None
    # The heads that together align best with words, boxes or times, or None if none were chosen.
    best: BestAlignment | None = None
    # Layer and head, from 0, whose attention points best, or None if none was chosen.
    pointing_head: tuple[int, int] | None = None

    @property
    def entries(self) -> dict[str, Any]:
        """Its entry in card.json."""
        head = "all" if self.head is None else self.head
        found: dict[str, Any] = {"reading": self.reading, "layer": self.layer, "head": head}
        if self.best is not None:
            found["best"] = self.best.entries
        if self.pointing_head is not None:
            found["pointing_head"] = list(self.pointing_head)
        return found


def parse_opening(value: Any, name: str) -> Opening:
    """Convert JSON to an opening.

    Args:
        value: An entry of card.json.
        name: The name of the entry, for the error message.

    Raises:
        ValueError: The reading, the layer or a head is invalid.
    """
    names = {"reading", "layer", "head"}
    if not isinstance(value, dict) or value.keys() - {"best", "pointing_head"} != names:
        raise ValueError(f"{name} is not an object with reading, layer and head")
    reading, layer, head = value["reading"], value["layer"], value["head"]
    if reading not in READINGS:
        raise ValueError(f"{name}: reading is none of {', '.join(READINGS)}")
    places = [layer] if head == "all" else [layer, head]
    if any(type(place) is not int or place < 0 for place in places):
        raise ValueError(f"{name}: layer or head is not a whole number from 0 on")
    best = read_best_alignment(value["best"]) if "best" in value else None
    pointing = _parse_place(value["pointing_head"], name) if "pointing_head" in value else None
    return Opening(reading, layer, None if head == "all" else head, best, pointing)


def _parse_place(value: Any, name: str) -> tuple[int, int]:
    """Convert JSON to a layer and a head. Raise ValueError for anything else."""
    is_list = isinstance(value, list) and len(value) == 2
    if not is_list or any(type(one) is not int or one < 0 for one in value):
        raise ValueError(f"{name}: pointing_head is not a list of layer and head")
    return value[0], value[1]


# Model cards (checkpoints/NAME/card.json): what a model is, its training and its figures.


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
        gates: Targets of the model, see `Gate`.
        files: File name -> SHA-256 of each file that is loaded. {} in older cards.
        heads: Site -> metric -> values of each layer's heads on validation, see
            `areaviz.lab.heads`. {} if they were not measured.
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


# Models that are no longer included, with their successors and their figures.
#
# Links, stored analyses and requests that name such a model get its successor. Targets of other
# models that refer to it still use its figures as limits.


@dataclass(frozen=True, slots=True)
class FormerModel:
    """A model that was removed.

    Args:
        successor: Name of the model that opens in its place.
        commit: The last commit that contains the model.
        figures: Test set -> metric -> value, as on its card.
    """

    successor: str
    commit: str
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


FORMER_MODELS: Mapping[str, FormerModel] = {
    "photo-teller-none": FormerModel(
        "photo-teller-soft",
        "ddfdaca9",
        {"val": {"cider_d": 0.24031}, "test": {"cider_d": 0.22566, "bleu_4": 11.42038}},
    ),
    "photo-teller-hard": FormerModel(
        "photo-teller-soft",
        "ddfdaca9",
        {"val": {"cider_d": 0.27228}, "test": {"cider_d": 0.26411, "bleu_4": 13.05515}},
    ),
    "photo-captions-convolution": FormerModel(
        "photo-captions-regular",
        "28777085",
        {"val": {"cider_d": 0.47354}, "test": {"cider_d": 0.48943, "bleu_4": 20.51845}},
    ),
}
"""The removed models by name."""


def find_successor(name: str, available: Container[str]) -> str:
    """Return the model to use for `name`: its successor if `name` was removed, else `name`."""
    former = FORMER_MODELS.get(name)
    if former is None or name in available or former.successor not in available:
        return name
    return former.successor


def describe_replacement(name: str, successor: str) -> str:
    """Return a sentence for users that names the successor of a removed model."""
    return f"The model {name} is no longer included. You see its successor, {successor}."


def describe_replacements(names: Iterable[str], available: Container[str]) -> list[str]:
    """Return a sentence for each of `names` that was removed and has a successor."""
    found = []
    for name in names:
        successor = find_successor(name, available)
        if successor != name:
            found.append(describe_replacement(name, successor))
    return found


# Targets ("gates") of models on held-out data, set in recipes and checked by their figures.


_NUMBERS = ("lift", "dependence", "size", "entropy")
"""Suffixes of attention metrics that are not shares."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One entry of `Card.gates`, with one limit: `at_least`, `at_most`, `over` or `under`.

    Args:
        what: Text for users that says what is measured.
        measure: Dataset and key in `Card.figures` or `Card.attention`.
        at_least: A number, or the dataset and key of another metric. For a metric of another model,
            the name of that model comes first.
        at_most: A number or another metric, see `at_least`.
        over: Keys of baselines next to the metric. The value must be `margin` above the best one.
        under: Keys of baselines for errors. The value must be `margin` below the best one.
        margin: Required distance from the best baseline, for `over` and `under`.
        slack: Distance by which a value may miss the limit and still pass.
        why: The reason for missing the target, if it is missed.
    """

    what: str
    measure: tuple[str, ...]
    at_least: float | tuple[str, ...] | None = None
    at_most: float | tuple[str, ...] | None = None
    over: tuple[str, ...] = ()
    under: tuple[str, ...] = ()
    margin: float = 0.0
    slack: float = 0.0
    why: str = ""

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Gate:
        """Create a target from plain values.

        Raises:
            ValueError: There are unknown entries, or not exactly one limit.
        """
        values: dict[str, Any] = {}
        for name, one in entry.items():
            values[name] = tuple(one) if isinstance(one, list) else one
        try:
            gate = cls(**values)
        except TypeError as error:
            raise ValueError(f"A gate cannot be read: {error}.") from error
        limits = (gate.at_least is not None, gate.at_most is not None)
        if sum((*limits, bool(gate.over), bool(gate.under))) != 1:
            raise ValueError(
                f'The gate "{gate.what}" needs one of at_least, at_most, over and under.'
            )
        return gate


@dataclass(frozen=True, slots=True)
class TargetResult:
    """The result of a target in words: the wanted and the measured value."""

    what: str
    wanted: str
    measured: str
    # None if either value is not known yet.
    reached: bool | None
    why: str


def judge_targets(card: Card, cards: Mapping[str, Card]) -> list[TargetResult]:
    """Check the targets of a card. Targets may name other models, which `cards` has by name."""
    return [_judge_target(Gate.of(entry), card, cards) for entry in card.gates]


def _judge_target(gate: Gate, card: Card, cards: Mapping[str, Card]) -> TargetResult:
    value = _get_value(gate.measure, card, cards)
    if gate.over or gate.under:
        return _judge_margin(gate, value, card, cards)
    if gate.at_least is not None:
        words, limit, sign = "at least", gate.at_least, 1
    else:
        assert gate.at_most is not None
        words, limit, sign = "at most", gate.at_most, -1
    bound = _get_value(limit, card, cards) if isinstance(limit, tuple) else float(limit)
    reached = None
    if bound is not None and value is not None:
        reached = sign * (value - bound) + gate.slack >= 0
    least = None if bound is None else bound - sign * gate.slack
    wanted = f"{words} {_format_value(least, gate.measure, card)}"
    other = limit[0] if isinstance(limit, tuple) and len(limit) == 3 else ""
    if other and gate.slack:
        wanted += f" ({gate.slack:g} {'below' if sign > 0 else 'above'} {other})"
    elif other:
        wanted += f" ({other})"
    why = gate.why if reached is False else ""
    return TargetResult(gate.what, wanted, _format_value(value, gate.measure, card), reached, why)


def _judge_margin(
    gate: Gate, value: float | None, card: Card, cards: Mapping[str, Card]
) -> TargetResult:
    """Check the margin of a value over, or for errors under, the best of several baselines."""
    part, keys = gate.measure[0], gate.over or gate.under
    words, sign, best = ("at least", 1, max) if gate.over else ("at most", -1, min)
    found = [_get_value((part, key), card, cards) for key in keys]
    known = [one for one in found if one is not None]
    bound = best(known) + sign * gate.margin if len(known) == len(found) else None
    reached = None if bound is None or value is None else sign * (value - bound) >= 0
    beside = []
    for key, one in zip(keys, found, strict=True):
        name = key.removeprefix(gate.measure[1]).strip("_").replace("_", " ")
        beside.append(f"{name} {_format_value(one, gate.measure, card)}")
    wanted = f"{words} {_format_value(bound, gate.measure, card)} ({', '.join(beside)})"
    why = gate.why if reached is False else ""
    return TargetResult(gate.what, wanted, _format_value(value, gate.measure, card), reached, why)


def _get_value(measure: Sequence[str], card: Card, cards: Mapping[str, Card]) -> float | None:
    *model, part, key = measure
    found = cards.get(model[0]) if model else card
    if found is None:
        former = FORMER_MODELS.get(model[0])
        return former.figures.get(part, {}).get(key) if former else None
    value = found.figures.get(part, found.attention.get(part, {})).get(key)
    return None if value is None else float(value)


def _format_value(value: float | None, measure: Sequence[str], card: Card) -> str:
    """Format a metric for users, in per cent if it is a share."""
    if value is None:
        return "–"
    part, key = measure[-2:]
    is_share = key in TASKS[card.task].percent
    if part in card.attention and not key.endswith(_NUMBERS):
        is_share = True
    return f"{value:.1%}" if is_share else f"{value:.2f}"
