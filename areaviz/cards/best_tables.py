"""Tables of best alignments in Markdown, written from the cards for docs/findings.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from areaviz.cards.card import Card
from areaviz.cards.result_tables import markdown_row
from areaviz.trace.best import BestAlignment, names_of

LINKS, ALIGNMENT = "word links", "best alignment"
"""Entries of `Card.attention` of translators."""
OTHERS = {
    "aer_aligner": "a statistical aligner, trained on the same corpus",
    "aer_diagonal": "the diagonal",
}
"""Rows that belong to no model, by their metric."""
POINTING = ("pointing", "hit", "peak")
"""The metrics of models that look at places, one of which a card has."""


def alignment_lines(cards: Sequence[Card]) -> Iterator[str]:
    """Yield the table of translators: alignment errors in per cent, lowest first."""
    rows = []
    for card in cards:
        found = card.attention.get(ALIGNMENT)
        for best in card.bests.values():
            if found is not None:
                rows.append((found["best"], _aligned(card, best, found)))
    yield from _table(
        ["Model", "Heads", "Validation", "Test, 95 %", "Best head or mean of a layer, test"],
        ["Untrained set", "Position only"],
        [row for _, row in sorted(rows)],
    )
    links = next((card.attention[LINKS] for card in cards if LINKS in card.attention), None)
    if links is not None:
        for key, name in OTHERS.items():
            yield markdown_row([name, "", "", _percent(links[key]), "", "", ""])


def pointing_lines(cards: Sequence[Card]) -> Iterator[str]:
    """Yield the table of models that look at places: shares of right words on test, in per cent."""
    rows = []
    for card in cards:
        for site, best in card.bests.items():
            found = card.attention.get(f"{site}, test", {})
            measure = next((one for one in POINTING if f"best_{one}" in found), None)
            if measure is not None:
                rows.append(_pointed(card, best, found, measure))
    yield from _table(
        ["Model", "Heads", "Validation", "Test, 95 %", "Best single head, test"],
        ["Untrained set", "Position only", "Middle or equal distances"],
        rows,
    )


def _aligned(card: Card, best: BestAlignment, found: Mapping[str, float]) -> list[str]:
    return [
        f"`{card.name}`",
        _heads(best),
        _percent(best.error),
        _interval(found, "best"),
        _percent(card.attention[LINKS]["aer"]),
        _percent(found["best_untrained"]),
        _percent(found["best_position"]),
    ]


def _pointed(
    card: Card, best: BestAlignment, found: Mapping[str, float], measure: str
) -> list[str]:
    key = f"best_{measure}"
    middle = found.get(f"{key}_middle", found.get(f"{key}_diagonal"))
    return [
        f"`{card.name}`",
        _heads(best),
        _percent(1 - best.error),
        _interval(found, key),
        _percent(found[measure]),
        _percent(found[f"{key}_untrained"]),
        _percent(found[f"{key}_position"]),
        _percent(middle),
    ]


def _table(
    heads: Sequence[str], beside: Sequence[str], rows: Sequence[Sequence[str]]
) -> Iterator[str]:
    yield markdown_row([*heads, *beside])
    yield markdown_row(["---", "---", *["--:"] * (len(heads) + len(beside) - 2)])
    yield from map(markdown_row, rows)


def _heads(best: BestAlignment) -> str:
    return names_of(best.heads).removeprefix("Heads ").removeprefix("Head ")


def _interval(found: Mapping[str, float], key: str) -> str:
    low, high = _percent(found[f"{key}_low"]), _percent(found[f"{key}_high"])
    return f"{_percent(found[key])} ({low} to {high})"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"
