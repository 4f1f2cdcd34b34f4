"""Playback: the frames of the film strip, one at a time, with the word of the moment marked."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from areaviz.drawing import pictures
from areaviz.drawing.film_frames import film
from areaviz.trace.request import Focus
from areaviz.views import VIEWS
from areaviz.views.playback import LEAST, LONGEST, played
from tests import fakes

VIEW = VIEWS["playback"]
FOCUS = Focus("encoder-decoder", 1, 2)


def test_every_word_has_a_picture_of_its_own() -> None:
    trace = fakes.caption_trace("a small red circle")
    shown, drawn = played(trace, FOCUS), film(trace, FOCUS)
    assert shown.words == ("a", "small", "red", "circle")
    assert shown.pictures == tuple(
        pictures.uri(drawn.stills(LONGEST).of(frame)) for frame in drawn.frames
    )
    assert len(set(shown.pictures)) == len(shown.pictures)
    assert (shown.title, shown.note, shown.caption) == (drawn.title, drawn.note, drawn.caption)


def test_a_chosen_word_is_all_there_is_to_play() -> None:
    shown = played(fakes.caption_trace("a b c"), Focus("encoder-decoder", items=(1,)))
    assert shown.words == ("b",) and len(shown.pictures) == 1


def test_what_cannot_be_seen_is_named_and_markup_stays_as_it_is() -> None:
    shown = played(fakes.caption_trace("a \u202e <b>"), FOCUS)
    assert shown.words == ("a", "⟨U+202E⟩", "<b>")


def test_standing_still_it_is_the_film_strip() -> None:
    trace = fakes.caption_trace("a small red circle")
    assert VIEW.played is played
    assert VIEW.figure(trace, FOCUS) == VIEWS["film"].figure(trace, FOCUS)


@pytest.mark.parametrize(("width", "height"), [(1, 640), (640, 1)])
def test_a_thin_picture_is_played_wide_enough_to_be_seen(width: int, height: int) -> None:
    shown = played(
        fakes.caption_trace("a b", seen=fakes.picture(width=width, height=height)), FOCUS
    )
    for source in shown.pictures:
        still = Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2])))
        assert min(still.size) >= LEAST and max(still.size) <= LONGEST


@pytest.mark.parametrize("words", [1, 30])
def test_frames_stay_small(words: int) -> None:
    shown = played(fakes.caption_trace(" ".join(["word"] * words), grid=8), FOCUS)
    assert sum(map(len, shown.pictures)) < 45_000 * (words + 2)
