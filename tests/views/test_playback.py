"""Playback: the frames of the film strip, one at a time, with the word of the moment marked."""

from __future__ import annotations

import pytest

from areaviz.trace.request import Focus
from areaviz.views import VIEWS, pictures
from areaviz.views.film_frames import film
from areaviz.views.playback import sentence
from tests import fakes

VIEW = VIEWS["playback"]
FOCUS = Focus("encoder-decoder", 1, 2)


def test_every_word_has_a_frame_and_a_stop_of_the_scrubber() -> None:
    trace = fakes.caption_trace("a small red circle")
    figure, drawn = VIEW.figure(trace, FOCUS), film(trace, FOCUS)
    assert [frame.name for frame in figure.frames] == [str(n) for n in range(len(drawn.frames))]
    assert [step.label for step in figure.layout.sliders[0].steps] == [frame.label for frame in drawn.frames]
    assert [list(step.args[0]) for step in figure.layout.sliders[0].steps] == [[frame.name] for frame in figure.frames]
    sources = [frame.layout.images[0].source for frame in figure.frames]
    assert sources == [pictures.uri(drawn.still(frame, 420)) for frame in drawn.frames]
    assert len(set(sources)) == len(sources) and figure.layout.images[0].source == sources[0]


def test_one_word_needs_no_scrubber() -> None:
    figure = VIEW.figure(fakes.caption_trace("a b c"), Focus("encoder-decoder", items=(1,)))
    assert len(figure.frames) == 1 and not figure.layout.sliders and not figure.layout.updatemenus


def test_the_word_of_the_moment_is_marked_and_markup_stays_text() -> None:
    assert sentence(["a", "<b>", "star"], 1) == "a <b><u>&lt;b&gt;</u></b> star"
    long = sentence(["word"] * 30, 29)
    assert long.count("<br>") == 2 and long.endswith("<b><u>word</u></b>")
    assert sentence(["two words", "x"], 0).count("<b>") == 1


@pytest.mark.parametrize("words", [1, 30])
def test_frames_stay_small(words: int) -> None:
    figure = VIEW.figure(fakes.caption_trace(" ".join(["word"] * words), grid=8), FOCUS)
    assert len(figure.to_json()) < 45_000 * (words + 2)
