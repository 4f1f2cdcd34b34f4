"""The sentence of a printed ribbon."""

from __future__ import annotations

from dataclasses import replace

import pytest

from areaviz.trace.request import Focus
from areaviz.views.ribbon.table import Span, has_sentence, make_sentence
from tests import fakes

TRACE = fakes.trace("A dog ran.", "Ein Hund.")
FOCUS = Focus("encoder-decoder", items=(0,))


def spans_at(places: list[int], length: int = 1) -> list[Span]:
    """Return the top span of each head, and a lighter span of the first one."""
    found = [Span((0,), head, start, length, 0.9) for head, start in enumerate(places)]
    return [*found, Span((0,), 0, 8, 1, 0.1)]


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ([2, 2, 2, 2], "all four heads attend most to “d” (90 %)."),
        ([2, 2, 2, 0], "three heads attend most to “d” (90 %). Head 4 attends most to “A”."),
        ([2, 3, 4, 0], "head 1 attends most to “d” (90 %). The other three heads attend most to"),
        ([2], "head 1 attends most to “d” (90 %)"),
    ],
)
def test_sentence_names_attended_areas_of_heads(places: list[int], said: str) -> None:
    assert make_sentence(TRACE, FOCUS, spans_at(places)).startswith(f"To write “E”, {said}")


def test_sentence_begins_with_the_strongest_head() -> None:
    """Two heads that agree have more weight together, but the third one has the largest share."""
    weights = [(0, 2, 0.58), (1, 2, 0.31), (2, 4, 0.77)]
    spans = [Span((0,), head, start, 1, weight) for head, start, weight in weights]
    assert make_sentence(TRACE, FOCUS, spans) == (
        "To write “E”, head 3 attends most to “g” (77 %). Two heads attend most to “d”."
    )
    agreed = make_sentence(TRACE, FOCUS, spans[:2])
    assert agreed == "To write “E”, both heads attend most to “d” (31–58 %)."


def test_sentence_says_that_items_were_joined() -> None:
    assert "“dog”, taken as one (90 %)." in make_sentence(TRACE, FOCUS, spans_at([2], 3))
    assert make_sentence(TRACE, FOCUS, []) == "“E” attends to nothing here."


def test_sentence_equals_that_of_the_page_in_german() -> None:
    said = make_sentence(TRACE, FOCUS, spans_at([2, 2, 2, 0]), "de")
    assert said == (
        "Um „E“ zu schreiben, achten drei Köpfe am meisten auf „d“ (90 %). Kopf 4 achtet am meisten"
        " auf „A“."
    )
    said = make_sentence(TRACE, FOCUS, spans_at([2], 3), "de")
    assert said == "Um „E“ zu schreiben, achtet Kopf 1 am meisten auf „dog“ als Ganzes (90 %)."


def test_only_a_single_attending_item_has_a_sentence() -> None:
    assert has_sentence(TRACE, FOCUS)
    for change in ({"items": (0, 1)}, {"side": "memory"}, {"reading": "coverage"}):
        assert not has_sentence(TRACE, replace(FOCUS, **change))
