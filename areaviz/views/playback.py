"""The film played: one large frame at a time, with the sentence below and the word of the moment
marked.
"""

from __future__ import annotations

from areaviz.drawing import pictures
from areaviz.drawing.base import Played, View
from areaviz.drawing.film_frames import film, film_fits
from areaviz.drawing.film_gif import MILLISECONDS, film_gif
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.film import figure, paper, table

LONGEST, LEAST = 420, 32
"""Pixels: how long the sides of a frame are at the most and at the least."""


def played(trace: Trace, focus: Focus) -> Played:
    """The frames of the film strip, larger; they are played in the browser, without a
    round trip.
    """
    drawn = film(trace, focus)
    words = tuple(frame.label for frame in drawn.frames)
    stills = drawn.stills(LONGEST)
    shown = (pictures.widened(stills.of(frame), LEAST) for frame in drawn.frames)
    return Played(
        drawn.title, drawn.note, drawn.caption, words, tuple(map(pictures.uri, shown)), MILLISECONDS
    )


VIEW = View(
    name="playback",
    title="Playback",
    question="Where does the model look while it writes, word by word?",
    fits=film_fits,
    figure=figure,
    table=table,
    print=paper,
    movie=film_gif,
    played=played,
)
