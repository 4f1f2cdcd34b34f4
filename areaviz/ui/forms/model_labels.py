"""Short names of models, which fit into select boxes."""

from __future__ import annotations

from collections.abc import Mapping

from areaviz.cards.card import Card

MAX_LABEL_CHARACTERS = 45
"""Number of characters that a select box of a page shows."""
_ABBREVIATIONS = (
    (" (Tiny)", ""),
    (" (256 cells, 4 heads)", ""),
    ("Captions of shape scenes", "Scenes"),
    ("Shape scenes", "Scenes"),
    ("Captions of photos", "Photos"),
    ("Spoken digits, GRU, attention", "Attention"),
    (" with boundary keys", ""),
)
"""Parts of titles, and their replacements in a short name."""


def shorten_titles(cards: Mapping[str, Card]) -> dict[str, str]:
    """Return short names of models, by the names of their checkpoints.

    A part of a title stays if two models would have equal names without it.
    """
    titles = {name: card.title for name, card in cards.items()}
    for part, shorter in _ABBREVIATIONS:
        for name, title in list(titles.items()):
            short = title.replace(part, shorter)
            others = {other for one, other in titles.items() if one != name}
            if short not in others:
                titles[name] = short
    return titles
