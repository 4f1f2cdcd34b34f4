"""The choice, on validation, of the heads that together point best at boxes, moments or frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from areaviz.cards.card import Card, Opening
from areaviz.evaluation.measure import Place
from areaviz.measures.alignment import Chosen, choose_heads
from areaviz.measures.pointing import PointedWords, bootstrap_hit_interval
from areaviz.trace.derived import BestAlignment

HEADLESS = ("_uniform", "_middle")
"""Suffixes of the baselines for pictures that do not depend on the heads."""
MOMENTS = ("_uniform", "_diagonal", "_position")
"""Suffixes of the baselines for sounds and clips that do not depend on the heads."""


def choose_best(words: PointedWords, chosen_on: str, may_open: bool) -> BestAlignment | None:
    """Choose the heads that point right most often.

    Args:
        words: Words of validation examples.
        chosen_on: Description of the words, such as "words of validation photos".
        may_open: Whether pages may show the choice first. They do if it beats the best single head.

    Returns:
        The choice, or None if there is a single head and no later step helps.
    """
    found = _choose_heads(words)
    if words.shape == (1, 1) and found.heads == ((0, 0, 0),):
        return None
    error, single = round(found.error, 4), round(found.error_single, 4)
    opens = may_open and error < single
    return BestAlignment(found.heads, len(words), chosen_on, error, single, opens)


def choose_pointing_opening(
    card: Card, site: str, place: Place, words: PointedWords, split: str
) -> Opening:
    """Return how pages first show a captioner's picture. "val" chooses the pointing heads.

    Args:
        card: The card of the model.
        site: The site of the picture.
        place: The head that points best.
        words: The words with boxes of the split.
        split: "val" or "test".
    """
    first = card.opening.get(site, Opening("coverage", *place))
    if split != "val":
        return first
    best = choose_best(words, f"words of validation {card.pictures}", card.mechanism != "area")
    return replace(first, best=best, pointing_head=place)


def choose_moment_opening(
    card: Card, site: str, words: PointedWords, split: str, chosen_on: str
) -> dict[str, Opening]:
    """Return how pages first show a model for sounds or clips, by site. "val" chooses the heads.

    The result is empty if validation chose no heads and the card has no entry. Pages then use their
    usual default.
    """
    first = card.opening.get(site, Opening("heaviest", 0, None))
    if split == "val":
        first = replace(first, best=choose_best(words, chosen_on, may_open=True))
    return {site: first} if first.best is not None or site in card.opening else {}


def measure_best_pointing(
    measure: str,
    words: PointedWords,
    untrained: PointedWords,
    best: BestAlignment | None,
    single: Mapping[str, float],
    same: Sequence[str] = HEADLESS,
) -> dict[str, float]:
    """Return how often the chosen heads point right, with baselines. The keys begin with "best_".

    The suffixes _low and _high are the ends of a 95 % bootstrap interval over examples. For
    _position, every word has the mean map of all words. For _untrained, the untrained network is
    measured, with heads that are chosen in the same way. They are chosen on the reported words,
    which favours the untrained network.
    it.

    Args:
        measure: Key of the metric, such as "pointing".
        words: The words to report.
        untrained: The same words in the untrained network.
        best: The chosen heads. None gives an empty result.
        single: Figures of the best single head.
        same: Suffixes of the baselines in `single` that do not depend on the heads.
    """
    if best is None:
        return {}
    key = f"best_{measure}"
    hits_W = words.hits(best.heads)
    low, high = bootstrap_hit_interval(hits_W, words.examples)
    return {
        key: float(hits_W.mean()),
        f"{key}_low": low,
        f"{key}_high": high,
        f"{key}_position": words.blind(best.heads),
        f"{key}_untrained": 1.0 - _choose_heads(untrained).error,
        "best_heads": len(best.heads),
        **{f"{key}{one}": single[f"{measure}{one}"] for one in same if f"{measure}{one}" in single},
    }


def _choose_heads(words: PointedWords) -> Chosen:
    return choose_heads(*words.shape, words.error)
