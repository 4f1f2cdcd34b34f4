"""Tables of where models look, next to uninformed baselines, for docs/results.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from areaviz.cards.card import Card
from areaviz.cards.tasks import LOOK_MEASURES

ON_TEST = ", test"
"""Suffix of the entries of `Card.attention` that were measured on the test set."""


def look_lines(task: str, cards: Sequence[Card]) -> Iterator[str]:
    """Yield a question, a table with a row per model and metric, and an explanation of it.

    Args:
        task: A key of `TASKS`. There are no lines for a task that only reads or writes text.
        cards: The cards of the task. Models that were not measured have no row.
    """
    looks = LOOK_MEASURES.get(task)
    rows = list(_iterate_rows(looks.shares, cards)) if looks else []
    if not looks or not rows:
        return
    endings = [end for end in looks.beside if any(key + end in found for _, key, found in rows)]
    titles = ["Model", "Share", "Measured", *(looks.beside[end] for end in endings)]
    yield from (f"**{looks.question}**", "", _format_row(titles))
    yield _format_row(["---", "---", *["--:"] * (len(titles) - 2)])
    for name, key, found in rows:
        values = [found.get(key + end) for end in ("", *endings)]
        yield _format_row([f"`{name}`", looks.shares[key], *map(_format_share, values)])
    yield from ("", looks.meaning, "")


def _iterate_rows(
    shares: Mapping[str, str], cards: Sequence[Card]
) -> Iterator[tuple[str, str, Mapping[str, float]]]:
    for card in cards:
        for place, found in card.attention.items():
            if place.endswith(ON_TEST):
                yield from ((card.name, key, found) for key in shares if key in found)


def _format_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _format_share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
