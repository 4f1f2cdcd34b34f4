"""What a focus picks out, in words."""

from __future__ import annotations

import pytest

from areaviz.drawing.base import caption
from areaviz.drawing.select import quote, select
from areaviz.trace.request import Focus
from tests import fakes


def test_letters_run_together_and_blanks_are_seen() -> None:
    assert quote(fakes.text_field("source", "a b"), (0, 1, 2)) == "“a␣b”"


def test_words_have_the_blank_between_them_that_is_no_item() -> None:
    target = fakes.caption_trace("ein roter Stern").fields["target"]
    assert quote(target, (1, 2)) == "“roter Stern”"
    assert quote(target, (0, 2, 3)) == "“ein Stern⟨end⟩”"


def test_quotations_are_cut() -> None:
    assert len(quote(fakes.text_field("source", "ab" * 100), range(200), 10)) == 12


def test_the_subject_names_words_apart() -> None:
    chosen = select(fakes.doubly_trace(), Focus("encoder-decoder", items=(1, 2)))
    assert chosen.subject == "Output items 2-3 “roter Stern”"


@pytest.mark.parametrize(("size", "said"), [(1, "areas up to 1 item"), (3, "areas up to 3 items")])
def test_a_caption_counts_the_items_of_an_area(size: int, said: str) -> None:
    assert caption(fakes.trace(area_size=size), Focus("encoder-decoder")).endswith(said)
