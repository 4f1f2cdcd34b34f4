"""Axes and colour bars, for the screen and for paper."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure as PrintFigure
from matplotlib.ticker import PercentFormatter

from areaviz.views import theme
from areaviz.views.labels import Ticks, for_print, for_screen


def screen_ticks(chosen: Ticks) -> dict[str, object]:
    """Tick settings of a plotly axis."""
    texts = [for_screen(text) for text in chosen.texts]
    return {"tickmode": "array", "tickvals": chosen.positions, "ticktext": texts, "tickangle": -chosen.angle}


def depth(chosen: Ticks) -> float:
    """How many px the labels of a horizontal screen axis take up, across it."""
    longest = max((len(text) for text in chosen.texts), default=1)
    return 20 if not chosen.angle else 12 + 0.45 * theme.SCREEN_FONT * longest


def print_ticks(axes: Axes, chosen: Ticks, top: bool = False) -> None:
    """Ticks along the horizontal axis of a matplotlib figure, under it or on top."""
    axes.set_xticks(chosen.positions, [for_print(text) for text in chosen.texts])
    if top:
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.tick_params(length=0)
    if chosen.angle:
        for text in axes.get_xticklabels():
            text.set(rotation=chosen.angle, rotation_mode="anchor", ha="left" if top else "right", va="center")


def print_scale(figure: PrintFigure, axes: Axes, mappable: ScalarMappable, unit: str) -> None:
    """The colour bar of a print figure, in per cent, with its unit."""
    bar = figure.colorbar(mappable, ax=axes, pad=0.015, aspect=28, fraction=0.04, format=PercentFormatter(1, 0))
    bar.outline.set_visible(False)  # type: ignore[operator]
    bar.ax.tick_params(length=0, labelsize=theme.PRINT_FONT)
    bar.set_label(unit, fontsize=theme.PRINT_FONT)
