"""The film played: one large frame at a time, with the sentence below, a scrubber, and buttons to play and to pause."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from plotly.graph_objects import Figure, Frame, Scatter

from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views import pictures, theme
from areaviz.views.base import View
from areaviz.views.film import paper, table
from areaviz.views.film_frames import Film, film, film_fits
from areaviz.views.film_gif import MILLISECONDS, film_gif
from areaviz.views.labels import escape

_LONGEST = 420
_PICTURE_PX, _SENTENCE_PX, _CONTROLS_PX = 340, 58, 74
_ACROSS = 64
"""Characters of the sentence in a line."""


def figure(trace: Trace, focus: Focus) -> Figure:
    """The first frame; the others are played in the browser, without a round trip."""
    drawn = film(trace, focus)
    height = _PICTURE_PX + _SENTENCE_PX
    picture = theme.screen(drawn.title, drawn.note, drawn.caption, height, above=8, below=_CONTROLS_PX)
    frames = [_frame(drawn, number) for number in range(len(drawn.frames))]
    picture.update_layout(images=frames[0].layout.images)
    picture.add_traces(frames[0].data)
    picture.frames = frames
    picture.update_xaxes(visible=False, range=[-1, 1], fixedrange=True)
    picture.update_yaxes(visible=False, range=[height, 0], fixedrange=True)
    if len(frames) > 1:
        picture.update_layout(sliders=[_scrubber(drawn)], updatemenus=[_buttons()])
    return picture


def _frame(drawn: Film, number: int) -> Frame:
    """One word: its picture, and the sentence with the word marked."""
    still = drawn.still(drawn.frames[number], _LONGEST)
    image = {
        "source": pictures.uri(still),
        "xref": "x",
        "yref": "y",
        "x": 0,
        "y": _PICTURE_PX,
        "sizex": 2,
        "sizey": _PICTURE_PX,
        "xanchor": "center",
        "yanchor": "bottom",
        "sizing": "contain",
        "layer": "below",
    }
    words = Scatter(
        x=[0],
        y=[_PICTURE_PX + 8],
        mode="text",
        text=[sentence([frame.label for frame in drawn.frames], number)],
        textposition="bottom center",
        textfont={"size": theme.SCREEN_FONT + 3},
        hoverinfo="skip",
        cliponaxis=False,
        showlegend=False,
    )
    return Frame(name=str(number), data=[words], layout={"images": [image]})


def sentence(words: Sequence[str], current: int) -> str:
    """The words in lines, with the one of the moment bold and underlined; markup in words stays text."""
    blanks = [word.replace(" ", "\u00a0") for word in words]
    lines = wrap(" ".join(blanks), _ACROSS, break_long_words=False, break_on_hyphens=False)
    number, shown = 0, []
    for line in lines:
        parts = []
        for word in line.split(" "):
            parts.append(f"<b><u>{escape(word)}</u></b>" if number == current else escape(word))
            number += 1
        shown.append(" ".join(parts))
    return "<br>".join(shown)


def _scrubber(drawn: Film) -> dict[str, Any]:
    """A slider with a stop for every word."""
    steps = [
        {
            "label": escape(frame.label),
            "method": "animate",
            "args": [[str(number)], _how(0)],
        }
        for number, frame in enumerate(drawn.frames)
    ]
    return {
        "active": 0,
        "steps": steps,
        "x": 0.2,
        "len": 0.8,
        "xanchor": "left",
        "y": 0,
        "yanchor": "top",
        "pad": {"t": 14, "b": 0},
        "currentvalue": {"visible": False},
        "font": {"size": theme.SCREEN_FONT - 1},
        "ticklen": 3,
        "minorticklen": 0,
    }


def _buttons() -> dict[str, Any]:
    """Play from the beginning, and pause."""
    play = {"label": "Play", "method": "animate", "args": [None, _how(MILLISECONDS)]}
    pause = {"label": "Pause", "method": "animate", "args": [[None], _how(0)]}
    return {
        "type": "buttons",
        "direction": "left",
        "buttons": [play, pause],
        "showactive": False,
        "x": 0,
        "xanchor": "left",
        "y": 0,
        "yanchor": "top",
        "pad": {"t": 14},
    }


def _how(milliseconds: int) -> dict[str, Any]:
    """How long a frame stays; pictures change at once, as a blend would show what no word attends to."""
    return {
        "mode": "immediate",
        "fromcurrent": milliseconds > 0,
        "frame": {"duration": milliseconds, "redraw": True},
        "transition": {"duration": 0},
    }


VIEW = View(
    name="playback",
    title="Playback",
    question="Where does the model look while it writes, word by word?",
    fits=film_fits,
    figure=figure,
    table=table,
    print=paper,
    movie=film_gif,
)
