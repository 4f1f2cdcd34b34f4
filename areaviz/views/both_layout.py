"""Where the parts of the view of text and picture stand, on the screen and on paper.

Across a panel: the picture as the word sees it, the word on a line to it, and lines on to the
source's words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from areaviz.trace.record import FloatArray
from areaviz.views.both_panels import Panel, Panels, Tie

SEEN, LEAVES, _ARRIVES, READ = 0.32, 0.55, 0.69, 0.7
"""In shares of the width: where the picture ends, lines to the source begin and end, and its words
begin.
"""
WORD = (SEEN + LEAVES) / 2
_LINE, _GAP, WIDEST = 14.0, 16.0, 14.0
"""px: from one source word to the next, between panels, and a line that stands for all attention.
"""
CUT = 14
"""A word is cut to so many characters, for which there is room on half a page."""
_STEPS = np.linspace(0, 1, 25)


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """A panel's place in px: its top, and its height, which its picture and its source
    words share.
    """

    panel: Panel
    top: float
    height: float

    @property
    def middle(self) -> float:
        """Where the picture's middle and the word stand."""
        return self.top + self.height / 2

    def ties(self) -> Iterator[tuple[Tie, float]]:
        """Every source word and where it stands."""
        first = self.middle - (len(self.panel.ties) - 1) * _LINE / 2
        return ((tie, first + k * _LINE) for k, tie in enumerate(self.panel.ties))


def laid_out(drawn: Panels) -> list[Laid]:
    """The panels one below the other; few of them get larger pictures."""
    height = max({1: 220.0, 2: 170.0, 3: 140.0}.get(len(drawn.panels), 112.0), _LINE * drawn.rows)
    return [Laid(panel, k * (height + _GAP), height) for k, panel in enumerate(drawn.panels)]


def curve(start: float, end: float) -> tuple[FloatArray, FloatArray]:
    """A line's way from its word to a source word `end` px down: x in shares of the width and y,
    float32 [25].
    """
    ease = 3 * _STEPS**2 - 2 * _STEPS**3
    x = LEAVES + (_ARRIVES - LEAVES) * _STEPS
    return x.astype(np.float32), (start + (end - start) * ease).astype(np.float32)
