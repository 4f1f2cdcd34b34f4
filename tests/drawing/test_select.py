"""Descriptions of a focus in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.draw.select import (
    find_counterparts,
    get_display_field,
    match_characters,
    name_field,
    quote_items,
    select,
)
from areaviz.draw.view import figure_caption
from areaviz.trace.record import Field
from areaviz.trace.request import Focus
from tests import fakes


def test_letters_are_joined_and_blanks_are_visible() -> None:
    assert quote_items(fakes.text_field("source", "a b"), (0, 1, 2)) == "“a␣b”"


def test_words_are_separated_by_a_blank() -> None:
    target = fakes.caption_trace("ein roter Stern").fields["target"]
    assert quote_items(target, (1, 2)) == "“roter Stern”"
    assert quote_items(target, (0, 2, 3)) == "“ein Stern⟨end⟩”"


def test_quotations_are_cut() -> None:
    assert len(quote_items(fakes.text_field("source", "ab" * 100), range(200), 10)) == 12


def test_subject_quotes_words_separately() -> None:
    chosen = select(fakes.doubly_trace(), Focus("encoder-decoder", items=(1, 2)))
    assert chosen.subject == "Output items 2-3 “roter Stern”"


@pytest.mark.parametrize(("size", "said"), [(1, "single items"), (3, "areas up to 3 items")])
def test_caption_counts_the_items_of_an_area(size: int, said: str) -> None:
    assert figure_caption(fakes.trace(area_size=size), Focus("encoder-decoder")).endswith(said)


def test_equal_letters_of_common_words_are_counterparts() -> None:
    one, other = fakes.text_field("target", "a red dog"), fakes.text_field("target", "the red dog")
    assert match_characters(one, other) == [(2, 5, 4), (6, 9, 8)]
    assert find_counterparts(one, other, (2, 6)) == (4, 8)
    assert find_counterparts(one, other, (0, 9)) == ()
    anchors = np.array([[0, 3], [3, 7], [7, 11]])
    word = Field("target", "text", "the red dog", ("the", " red", " dog"), anchors)
    assert find_counterparts(one, word, (3,)) == (1,) and find_counterparts(word, one, (1,)) == (
        2,
        3,
        4,
    )
    tokens = Field("target", "text", "red", ("r", "ed"), np.array([[0, 1], [1, 3]]))
    assert find_counterparts(one, tokens, (3, 4)) == (1,) and find_counterparts(
        tokens, one, (1,)
    ) == (3, 4)


def test_caption_omits_the_only_layer_and_head() -> None:
    said = figure_caption(fakes.trace(layers=1, heads=1), Focus("encoder-decoder"))
    assert "layer" not in said and "head" not in said
    several = figure_caption(fakes.trace(layers=3, heads=2), Focus("encoder-decoder", layer=1))
    assert "layer 2 of 3, all heads" in several


@pytest.mark.parametrize(
    ("query", "names"), [("target", ["text", "text so far"]), ("history", ["text", "text"])]
)
def test_language_model_has_one_text(query: str, names: list[str]) -> None:
    """Check texts of language models.

    Our models attend from each item to earlier items, external decoders within their text.
    """
    made = fakes.trace("A dog", "Ein Hund")
    attention = replace(made.maps["decoder self"], query=query)
    fields = {name: made.fields[name] for name in ("target", "history")}
    alone = replace(made, fields=fields, maps={"decoder self": attention})
    assert [name_field(get_display_field(alone, name)) for name in ("target", "history")] == names
    written = [
        name_field(get_display_field(made, name)) for name in ("source", "target", "history")
    ]
    assert written == ["source", "output", "output so far"]
