"""Text and picture: what one word looks at in both, side by side (Arslan et al. 2018, figure 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plotly.graph_objects import Figure, Scatter

from areaviz.drawing import pictures, theme
from areaviz.drawing.base import Table, View
from areaviz.drawing.film_frames import Stills
from areaviz.drawing.labels import clip, escape, visible
from areaviz.drawing.two_memories import doubly_fits
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.both_layout import CUT, LEAVES, READ, SEEN, WIDEST, WORD, Laid, curve, laid_out
from areaviz.views.both_panels import DIM, Panel, Panels, Tie, panels
from areaviz.views.both_print import both_print

_SCREEN = 250
"""Longest side of a panel's picture in pixels."""
_TIED = {"color": theme.ACCENT, "width": 1.5}
_FAINT = 0.8
"""Opacity of source words whose share is not told."""


def figure(trace: Trace, focus: Focus) -> Figure:
    """A panel a word: picture, word, source words."""
    drawn = panels(trace, focus)
    places = laid_out(drawn)
    whole = places[-1].top + places[-1].height
    result = theme.screen(drawn.title, drawn.note, drawn.caption, whole, above=10, below=6)
    stills = drawn.film.stills(_SCREEN, DIM)
    for place in places:
        _lay(result, stills, place)
        result.add_shape(
            type="line", x0=SEEN, x1=LEAVES, y0=place.middle, y1=place.middle, line=_TIED
        )
        result.add_traces([_line(place, tie, y) for tie, y in place.ties()])
    result.add_traces(
        [_seen(drawn, places), _words(places), *(_sources(places, told) for told in (True, False))]
    )
    result.update_xaxes(visible=False, range=[0, 1])
    return result.update_yaxes(visible=False, range=[whole, 0])


def _lay(result: Figure, stills: Stills, place: Laid) -> None:
    source = pictures.uri(stills.of(place.panel.frame))
    room = {"x": SEEN, "y": place.middle, "sizex": SEEN, "sizey": place.height}
    anchors = {
        "xref": "x",
        "yref": "y",
        "xanchor": "right",
        "yanchor": "middle",
        "sizing": "contain",
    }
    result.add_layout_image(source=source, layer="below", **room, **anchors)


def _line(place: Laid, tie: Tie, y: float) -> Scatter:
    x, way = curve(place.middle, y)
    style = {
        "color": theme.ACCENT,
        "width": round(WIDEST * tie.share, 2),
        "dash": "dot" if tie.rest else "solid",
    }
    style["simplify"] = False  # plotly would take bends for straight
    text = (
        f"{escape(place.panel.frame.label)} → {escape(tie.label)}<br>{tie.share:.1%} of the"
        " attention to the source"
    )
    return Scatter(
        x=x,
        y=way,
        mode="lines",
        line=style,
        opacity=0.8,
        text=text,
        hovertemplate="%{text}<extra></extra>",
    )


def _seen(drawn: Panels, places: list[Laid]) -> Scatter:
    """An unseen point on every picture, to be pointed at."""
    texts = [_hover(drawn, place.panel) for place in places]
    marker = {"opacity": 0, "size": 0.7 * places[0].height}
    x, y = [0.7 * SEEN] * len(places), [place.middle for place in places]
    return Scatter(
        x=x, y=y, mode="markers", marker=marker, text=texts, hovertemplate="%{text}<extra></extra>"
    )


def _hover(drawn: Panels, panel: Panel) -> str:
    frame = panel.frame
    cell = visible(drawn.film.cells.labels[int(frame.shares.argmax())])
    likely = f"{frame.label} (item {frame.first + 1}), probability {frame.probability:.1%}"
    return (
        f"{escape(likely)}<br>most on {escape(cell)}: {frame.shares.max():.1%} of the attention to"
        " the picture"
    )


def _words(places: list[Laid]) -> Scatter:
    texts = [escape(clip(place.panel.frame.label, CUT)) for place in places]
    font = {"size": theme.SCREEN_FONT + 1, "weight": 600}
    return _texts(
        [WORD] * len(places), [place.middle for place in places], texts, "top center", font, 1
    )


def _sources(places: list[Laid], told: bool) -> Scatter:
    """The source's words, those whose share is told standing out."""
    found = [(y, tie) for place in places for tie, y in place.ties() if tie.told == told]
    font = {"size": theme.SCREEN_FONT, "weight": 600 if told else 400}
    x, y, texts = [READ] * len(found), [y for y, _ in found], [escape(tie.text) for _, tie in found]
    return _texts(x, y, texts, "middle right", font, 1 if told else _FAINT)


def _texts(
    x: list[float],
    y: list[float],
    texts: list[str],
    side: str,
    font: Mapping[str, object],
    opacity: float,
) -> Scatter:
    style: dict[str, Any] = {
        "textposition": side,
        "textfont": font,
        "opacity": opacity,
        "cliponaxis": False,
    }
    return Scatter(x=x, y=y, mode="text", text=texts, hoverinfo="skip", **style)


def table(trace: Trace, focus: Focus) -> Table:
    """One line a word and what it attends to: first the source's words, then the cells, all of
    them.
    """
    drawn = panels(trace, focus)
    rows: list[tuple[str | int | float, ...]] = []
    for panel in drawn.panels:
        own = (panel.frame.first + 1, panel.frame.label)
        read = zip(drawn.sources, panel.shares.tolist(), strict=True)
        rows += [(*own, "text", first + 1, label, share) for (first, label), share in read]
        seen = zip(
            map(visible, drawn.film.cells.labels), panel.frame.shares.ravel().tolist(), strict=True
        )
        rows += [
            (*own, "picture", cell, label, share) for cell, (label, share) in enumerate(seen, 1)
        ]
    return Table(("position", "item", "looks at", "its position", "word or cell", "share"), rows)


VIEW = View(
    name="both",
    title="Text and picture",
    question="Which source words and which part of the picture does each word look at?",
    fits=doubly_fits,
    figure=figure,
    table=table,
    print=both_print,
)
