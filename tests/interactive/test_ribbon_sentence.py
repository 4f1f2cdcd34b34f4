"""The sentence of a printed ribbon."""

from __future__ import annotations

from dataclasses import replace

import pytest

from areaviz.interactive.ribbon_sentence import has_sentence, make_sentence
from areaviz.interactive.ribbon_table import Span
from areaviz.trace.request import Focus
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
        ([2, 2, 2, 2], "all four heads attend most to “d”"),
        ([2, 2, 2, 0], "three heads attend most to “d”. Head 4 attends most to “A”"),
        ([2, 3, 4, 0], "head 1 attends most to “d”. The other three heads attend most to other"),
        ([2], "head 1 attends most to “d” (90 %)"),
    ],
)
def test_sentence_names_attended_areas_of_heads(places: list[int], said: str) -> None:
    assert make_sentence(TRACE, FOCUS, spans_at(places)).startswith(f"To write “E”, {said}")


def test_sentence_says_that_items_were_joined() -> None:
    assert "“dog”, taken as one (90 %)." in make_sentence(TRACE, FOCUS, spans_at([2], 3))
    assert make_sentence(TRACE, FOCUS, []) == "“E” attends to nothing here."


def test_sentence_equals_that_of_the_page_in_german() -> None:
    said = make_sentence(TRACE, FOCUS, spans_at([2, 2, 2, 0]), "de")
    assert said == (
        "Um „E“ zu schreiben, achten drei Köpfe am meisten auf „d“. Kopf 4 achtet am meisten auf"
        " „A“."
    )
    said = make_sentence(TRACE, FOCUS, spans_at([2], 3), "de")
    assert said == "Um „E“ zu schreiben, achtet Kopf 1 am meisten auf „dog“ als Ganzes (90 %)."


def test_only_a_single_attending_item_has_a_sentence() -> None:
    assert has_sentence(TRACE, FOCUS)
    for change in ({"items": (0, 1)}, {"side": "memory"}, {"reading": "coverage"}):
        assert not has_sentence(TRACE, replace(FOCUS, **change))
