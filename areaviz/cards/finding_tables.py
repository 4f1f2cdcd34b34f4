"""Tables of docs/findings.md about single heads with their baselines, written from the cards.

Next to every share is the share of the untrained network and that of a baseline of positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from areaviz.cards.best_tables import format_alignment_table, format_pointing_table
from areaviz.cards.card import ATTENDING_SITE, Card
from areaviz.cards.result_tables import format_markdown_row

Lines = Callable[[Sequence[Card]], Iterator[str]]
TEST = "test"
POINTING_COLUMNS = {
    "pointing": "Points at the named thing",
    "pointing_untrained": "Untrained: points at it",
    "pointing_middle": "Middle of the picture",
    "pointing_position": "Position only",
}
"""Figures of a captioner's best head, with the baselines of its heaviest cell."""
AREA_COLUMNS = {
    "multi_words": "Heaviest area has several cells",
    "multi_words_untrained": "Untrained: several cells",
    "area_hit": "Middle of the heaviest area is on the thing",
    "area_hit_untrained": "Untrained: middle on the thing",
    "area_hit_fixed": "Areas of the same sizes at the best fixed place",
}
"""Figures of the heaviest areas of that head."""
SPAN_COLUMNS = {
    "span": "Top areas of several items that contain the linked word",
    "span_untrained": "Untrained: contain it",
    "span_diagonal": "Areas of the same sizes on the diagonal",
    "span_random": "Areas of the same sizes anywhere",
    "linked_span_share": "Linked words with several items on top",
    "linked_span_share_untrained": "Untrained: several items on top",
    "single": "Single items on top that contain the linked word",
    "best_pair": "Heaviest item and its heavier neighbour contain it, best head",
}
"""Figures of a translator's head chosen for spans, on captions with words linked by hand."""


def format_photo_table(cards: Sequence[Card]) -> Iterator[str]:
    """Yield the table of captioners of photos: caption scores, and where the best head points."""
    found = [
        card
        for card in _select_captioners(cards, "photos")
        if "pointing" in _get_pointing_figures(card)
    ]
    measures = {"cider_d": ("CIDEr-D", "{:.3f}")}
    yield from _format_pointing_table(found, measures)


def format_scene_table(cards: Sequence[Card]) -> Iterator[str]:
    """Yield the table of captioners of shape scenes."""
    found = [
        card
        for card in _select_captioners(cards, "scenes")
        if "pointing" in _get_pointing_figures(card)
    ]
    measures = {
        "true": ("True captions", "{:.1f} %"),
        "true_tie": ("with either relation near a tie", "{:.1f} %"),
    }
    yield from _format_pointing_table(found, measures)


def format_span_table(cards: Sequence[Card]) -> Iterator[str]:
    """Yield the table of translators with a head whose top areas have several items."""
    yield from _format_header(["Model", "Layer.head", "Areas"], SPAN_COLUMNS.values())
    for card in cards:
        found = card.attention.get("linked words", {})
        if "span" in found:
            place = f"{int(found['layer']) + 1}.{int(found['head']) + 1}"
            cells = [f"`{card.name}`", place, f"{int(found['spans']):,}"]
            yield format_markdown_row(
                [*cells, *(_format_share(found.get(key)) for key in SPAN_COLUMNS)]
            )


def format_character_table(cards: Sequence[Card]) -> Iterator[str]:
    """Yield the table of character translators: quality, alignment and spans of single heads."""
    heads = ["Model", "BLEU, validation", "Test 2016", "Test 2017", "AER, test"]
    beside = ["AER of the untrained network", "AER of the diagonal"]
    spans = ["encoder self: spans on top (before training)", "a word, times chance (before)"]
    spans += ["encoder-decoder: spans on top (before training)", "a word, times chance (before)"]
    yield from _format_header(heads, [*beside, *spans])
    for card in cards:
        if card.level == "character" and "word links" in card.attention:
            yield format_markdown_row([f"`{card.name}`", *_format_character_cells(card)])


def _format_character_cells(card: Card) -> Iterator[str]:
    for split in ("val", "test_2016_flickr", "test_2017_flickr"):
        yield f"{card.figures[split]['bleu']:.1f}"
    links = card.attention["word links"]
    for key in ("aer", "aer_untrained", "aer_diagonal"):
        yield _format_share(links[key])
    for site in ("encoder self", ATTENDING_SITE):
        found = card.attention[f"{site}, spans"]
        if found["multi_share"]:
            yield _format_with_baseline(found, "multi_share", _format_share)
            yield _format_with_baseline(found, "long_exact_lift", "{:.1f}".format)
        else:
            yield "–"
            yield "–"


def _select_captioners(cards: Sequence[Card], pictures: str) -> list[Card]:
    return [card for card in cards if card.task == "caption" and card.pictures == pictures]


def _get_pointing_figures(card: Card) -> Mapping[str, float]:
    return card.attention.get(f"{ATTENDING_SITE}, {TEST}", {})


def _format_pointing_table(
    cards: Sequence[Card], measures: Mapping[str, tuple[str, str]]
) -> Iterator[str]:
    columns = POINTING_COLUMNS | AREA_COLUMNS
    titles = [title for title, _ in measures.values()]
    yield from _format_header(["Model"], [*titles, *columns.values()])
    for card in cards:
        looks, figures = _get_pointing_figures(card), card.figures[TEST]
        cells = [f"`{card.name}`" + (", told" if card.told_head else "")]
        for key, (_, pattern) in measures.items():
            cells.append(pattern.format(figures[key]) if key in figures else "–")
        yield format_markdown_row([*cells, *(_format_share(looks.get(key)) for key in columns)])


def _format_header(first: Sequence[str], rest: Iterable[str]) -> Iterator[str]:
    titles = [*first, *rest]
    yield format_markdown_row(titles)
    yield format_markdown_row(["---", *["--:"] * (len(titles) - 1)])


def _format_with_baseline(
    found: Mapping[str, float], key: str, shown: Callable[[float], str]
) -> str:
    before = found.get(f"{key}_untrained")
    return shown(found[key]) + ("" if before is None else f" ({shown(before)})")


def _format_share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


FINDING_TABLES: Mapping[str, Lines] = {
    "best alignment": format_alignment_table,
    "best pointing": format_pointing_table,
    "letters": format_character_table,
    "photos": format_photo_table,
    "scenes": format_scene_table,
    "spans": format_span_table,
}
"""Each table by the name in its markers in docs/findings.md."""
