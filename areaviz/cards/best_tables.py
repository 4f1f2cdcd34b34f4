"""Tables of best alignments in Markdown, written from the cards for docs/findings.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from areaviz.cards.card import Card
from areaviz.cards.result_tables import format_markdown_row
from areaviz.trace.derived import BestAlignment, describe_heads

LINKS, ALIGNMENT = "word links", "best alignment"
"""Entries of `Card.attention` of translators."""
OTHERS = {
    "aer_aligner": "a statistical aligner, trained on the same corpus",
    "aer_diagonal": "the diagonal",
}
"""Labels of table rows that are not about a model, by metric."""
POINTING = ("pointing", "hit", "peak")
"""The pointing metrics, one of which a card has."""


def format_alignment_table(cards: Sequence[Card]) -> Iterator[str]:
    """Yield the table of translators: alignment errors in per cent, lowest first."""
    rows = []
    for card in cards:
        found = card.attention.get(ALIGNMENT)
        for best in card.bests.values():
            if found is not None:
                rows.append((found["best"], _format_alignment_row(card, best, found)))
    yield from _format_table(
        ["Model", "Heads", "Validation", "Test, 95 %", "Best head or mean of a layer, test"],
        ["Untrained set", "Position only"],
        [row for _, row in sorted(rows)],
    )
    links = next((card.attention[LINKS] for card in cards if LINKS in card.attention), None)
    if links is not None:
        for key, name in OTHERS.items():
            yield format_markdown_row([name, "", "", _format_percent(links[key]), "", "", ""])


def format_pointing_table(cards: Sequence[Card]) -> Iterator[str]:
    """Yield the table of models that look at places: shares of right words on test, in per cent."""
    rows = []
    for card in cards:
        for site, best in card.bests.items():
            found = card.attention.get(f"{site}, test", {})
            measure = next((one for one in POINTING if f"best_{one}" in found), None)
            if measure is not None:
                rows.append(_format_pointing_row(card, best, found, measure))
    yield from _format_table(
        ["Model", "Heads", "Validation", "Test, 95 %", "Best single head, test"],
        ["Untrained set", "Position only", "Middle or equal distances"],
        rows,
    )


def _format_alignment_row(card: Card, best: BestAlignment, found: Mapping[str, float]) -> list[str]:
    return [
        f"`{card.name}`",
        _format_heads(best),
        _format_percent(best.error),
        _format_interval(found, "best"),
        _format_percent(card.attention[LINKS]["aer"]),
        _format_percent(found["best_untrained"]),
        _format_percent(found["best_position"]),
    ]


def _format_pointing_row(
    card: Card, best: BestAlignment, found: Mapping[str, float], measure: str
) -> list[str]:
    key = f"best_{measure}"
    middle = found.get(f"{key}_middle", found.get(f"{key}_diagonal"))
    return [
        f"`{card.name}`",
        _format_heads(best),
        _format_percent(1 - best.error),
        _format_interval(found, key),
        _format_percent(found[measure]),
        _format_percent(found[f"{key}_untrained"]),
        _format_percent(found[f"{key}_position"]),
        _format_percent(middle),
    ]


def _format_table(
    heads: Sequence[str], beside: Sequence[str], rows: Sequence[Sequence[str]]
) -> Iterator[str]:
    yield format_markdown_row([*heads, *beside])
    yield format_markdown_row(["---", "---", *["--:"] * (len(heads) + len(beside) - 2)])
    yield from map(format_markdown_row, rows)


def _format_heads(best: BestAlignment) -> str:
    return describe_heads(best.heads).removeprefix("Heads ").removeprefix("Head ")


def _format_interval(found: Mapping[str, float], key: str) -> str:
    low, high = _format_percent(found[f"{key}_low"]), _format_percent(found[f"{key}_high"])
    return f"{_format_percent(found[key])} ({low} to {high})"


def _format_percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"
