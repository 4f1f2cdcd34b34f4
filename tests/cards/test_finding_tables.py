"""Tables of single heads: shares stand beside those of the untrained network and of places."""

from __future__ import annotations

from dataclasses import replace

from areaviz.cards.card import Card
from areaviz.lab.tables import (
    format_character_table,
    format_photo_table,
    format_scene_table,
    format_span_table,
)
from tests.pages import folder

AREA = folder.card("a", "area")
LOOKS = {
    "pointing": 0.5,
    "pointing_untrained": 0.2,
    "pointing_middle": 0.4,
    "pointing_position": 0.3,
    "multi_words": 0.75,
    "multi_words_untrained": 0.9,
    "area_hit": 0.6,
    "area_hit_untrained": 0.25,
    "area_hit_fixed": 0.45,
}


def captioner(pictures: str, **options: object) -> Card:
    return replace(
        AREA,
        task="caption",
        recipe={"pictures": pictures, **options},
        figures={"test": {"cider_d": 0.4931, "true": 98.1}},
        attention={"encoder-decoder, test": LOOKS},
    )


def test_captioners_of_one_kind_are_listed_with_baselines() -> None:
    told = captioner("photos", told=0.3, told_head=[1, 0])
    cells = {key: value for key, value in LOOKS.items() if key.startswith("pointing")}
    regular = replace(captioner("photos"), attention={"encoder-decoder, test": cells})
    cards = [told, regular, captioner("scenes")]
    assert list(format_photo_table(cards))[2:] == [
        "| `a`, told | 0.493 | 50.0 % | 20.0 % | 40.0 % | 30.0 % | 75.0 % | 90.0 % | 60.0 %"
        " | 25.0 % | 45.0 % |",
        "| `a` | 0.493 | 50.0 % | 20.0 % | 40.0 % | 30.0 % | – | – | – | – | – |",
    ]
    (row,) = list(format_scene_table(cards))[2:]
    assert row.startswith("| `a` | 98.1 % | – | 50.0 % |")


def test_models_that_were_not_measured_have_no_row() -> None:
    blank = replace(captioner("photos"), attention={})
    for lines in (
        format_photo_table,
        format_scene_table,
        format_span_table,
        format_character_table,
    ):
        assert len(list(lines([blank]))) == 2


def test_areas_with_linked_word_are_compared_with_other_areas() -> None:
    found = {"span": 0.8, "span_diagonal": 0.7, "layer": 1, "head": 2, "spans": 1268.0}
    card = replace(AREA, attention={"linked words": found})
    (row,) = list(format_span_table([card]))[2:]
    assert row == "| `a` | 2.3 | 1,268 | 80.0 % | – | 70.0 % | – | – | – | – | – |"


def test_spans_of_letters_have_their_share_before_training_in_brackets() -> None:
    spans = {"multi_share": 0.6, "multi_share_untrained": 0.9, "long_exact_lift": 0.84}
    attention = {
        "word links": {"aer": 0.4, "aer_untrained": 0.88, "aer_diagonal": 0.475},
        "encoder self, spans": spans,
        "encoder-decoder, spans": {"multi_share": 0.0},
    }
    figures = {name: {"bleu": 30.0} for name in ("val", "test_2016_flickr", "test_2017_flickr")}
    card = replace(AREA, level="character", figures=figures, attention=attention)
    (row,) = list(format_character_table([card]))[2:]
    assert row == (
        "| `a` | 30.0 | 30.0 | 30.0 | 40.0 % | 88.0 % | 47.5 % | 60.0 % (90.0 %) | 0.8 | – | – |"
    )
