"""Texts about a model for the index and the card page: one line, its main result and its twin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from areaviz.cards.card import Card, TargetResult
from areaviz.cards.tasks import TASKS
from areaviz.draw.labels import number_text
from areaviz.ui.forms.mechanisms_form import PICTURE_KINDS
from areaviz.ui.models.card_tables import format_metric

MODEL_PARAM = "model"
"""The URL parameter that names a model."""
TASK_PAGES = {
    "translation": "translate",
    "caption": "caption",
    "picture translation": "translate_picture",
    "reading": "read",
    "digits": "four_ways",
    "speech": "listen",
    "video": "watch",
    "points": "reason",
    "parsing": "reason",
    "questions": "reason",
}
"""The page that runs the models of a task."""
LOWER_IS_BETTER = frozenset({"error", "perplexity"})
"""Metrics by which the best model has the lowest value."""
NO_TARGETS = "none set"
_HOURS = re.compile(r"([0-9.]+) hours")


def group_by_task(cards: Iterable[Card]) -> Mapping[str, list[Card]]:
    """Return the cards by task, in the order of `TASKS`, without tasks that have no card."""
    groups: dict[str, list[Card]] = {task: [] for task in TASKS}
    for card in cards:
        if card.task in groups:
            groups[card.task].append(card)
    return {task: group for task, group in groups.items() if group}


def get_main_measure(task: str) -> str:
    """Return the key of a task's first metric, "" if its models are not measured."""
    return next(iter(TASKS[task].measures), "")


def get_main_value(card: Card) -> float | None:
    """Return a model's value of its task's first metric, None if it was not measured."""
    value = card.figures.get(TASKS[card.task].headline, {}).get(get_main_measure(card.task))
    return None if value is None else float(value)


def format_main_value(card: Card) -> str:
    """Return a model's main result with the name of its metric."""
    value = get_main_value(card)
    if value is None:
        return "–"
    key = get_main_measure(card.task)
    return f"{TASKS[card.task].measures[key]} {format_metric(card.task, key, value)}"


def sort_best_first(cards: Iterable[Card]) -> list[Card]:
    """Return the cards of one task by their main result. Cards without a result come last."""

    def rank(card: Card) -> tuple[bool, float]:
        value = get_main_value(card)
        if value is None:
            return True, 0.0
        return False, value if get_main_measure(card.task) in LOWER_IS_BETTER else -value

    return sorted(cards, key=rank)


def describe_attention(card: Card) -> str:
    """Return the kind of a model's attention in words."""
    return {"area": "areas", "none": "no attention"}.get(card.mechanism, card.mechanism)


def format_parameters(card: Card) -> str:
    """Return the number of learned parameters, in millions from 100,000 on."""
    if card.parameters < 100_000:
        return f"{card.parameters:,}"
    return f"{card.parameters / 1e6:.1f} million"


def format_training_time(card: Card) -> str:
    """Return the training time, "–" if the card does not say."""
    found = _HOURS.search(card.trained_on)
    return f"{found[1]} hours" if found else "–"


def get_start_run(card: Card) -> str:
    """Return the run from whose weights the training started, or "" for initial weights."""
    return str(card.recipe.get("start_run", ""))


def count_targets(targets: Sequence[TargetResult]) -> str:
    """Return how many targets were reached, such as "6 of 8"."""
    if not targets:
        return NO_TARGETS
    return f"{sum(target.reached is True for target in targets)} of {len(targets)}"


def draw_target_dots(targets: Sequence[TargetResult]) -> str:
    """Return a filled dot per target that was reached, a ring per other target, and the counts."""
    if not targets:
        return NO_TARGETS
    dots = "".join("●" for target in targets if target.reached)
    return f"{dots.ljust(len(targets), '○')} {count_targets(targets)}"


def describe_model(card: Card) -> str:
    """Describe a model in one sentence, and its training in another."""
    size = f", size {card.size}" if card.size else ""
    reads = "reads digits" if card.level == "digit" else f"{card.level} level"
    attention = "no" if card.mechanism == "none" else card.mechanism
    trained, reach = "", ""
    if TASKS[card.task].follows_words:
        reach = f", on texts of up to {card.trained_length:,} items"
    if card.trained_on:
        trained = f" Trained on {card.trained_on}{reach}, with code version {card.code_version}."
    start = get_start_run(card)
    if start:
        trained += f" The time does not include that of {start}, from whose weights it started."
    return (
        f"{card.name}: {reads}, {attention} attention{size}, {card.parameters:,} parameters."
        f"{trained}"
    )


def find_twin(card: Card, cards: Iterable[Card]) -> Card | None:
    """Return the model that differs from `card` only in its attention, None if there is none."""
    if not card.pair:
        return None
    for other in cards:
        is_pair = (other.task, other.pair) == (card.task, card.pair)
        if is_pair and other.mechanism != card.mechanism:
            return other
    return None


def compare_with_twin(card: Card, twin: Card) -> str:
    """Compare the main results of a model and its twin in one sentence."""
    ours, theirs = get_main_value(card), get_main_value(twin)
    if ours is None or theirs is None:
        return f"Its twin “{twin.title}” differs only in its attention."
    key = get_main_measure(card.task)
    is_share = key in TASKS[card.task].percent
    change = number_text((ours - theirs) * (100 if is_share else 1), "+.2f")
    unit = "points of " if is_share else ""
    return (
        f"{change} {unit}{TASKS[card.task].measures[key]} compared with its twin “{twin.title}”,"
        " one run each."
    )


def find_page_to_try(card: Card) -> tuple[str, Mapping[str, str]] | None:
    """Return the path and the URL parameters of the page that runs a model, None if none does."""
    if card.task not in TASK_PAGES:
        return None
    asked = {MODEL_PARAM: card.name}
    if card.task == "digits":
        pictures = PICTURE_KINDS.get(str(card.config.get("kind")))
        if pictures is None or card.mechanism == "none":
            return None
        # This page runs all models for the picture, so select this model among them.
        asked = {"picture": pictures.first, "reading": card.name}
    return f"pages/{TASK_PAGES[card.task]}.py", asked
