"""A figure inside a page has no styles or URLs, and it looks like the same figure in a file."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.figure import Figure

from areaviz.draw.view import MOSAIC_CELLS, MOSAIC_COLOURS, convert_to_inline_svg, encode_figure


def figure_of(picture_HWC: np.ndarray | None = None, text: str = "A dog.") -> Figure:
    figure = Figure(figsize=(3, 2))
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="#d55e00", linewidth=2)
    axes.set_title(text)
    if picture_HWC is not None:
        axes.imshow(picture_HWC, extent=(0, 1, 0, 1))
    return figure


def test_styles_become_attributes() -> None:
    drawn = convert_to_inline_svg(figure_of(), "A line")
    assert not re.search(r"style|url\(|https?:|<metadata|clipPath", drawn)
    assert drawn.startswith("<svg") and drawn.endswith("</svg>")
    assert 'aria-label="A line"' in drawn and 'role="img"' in drawn
    assert 'stroke="#d55e00" stroke-width="2"' in drawn


def test_texts_stay_letters_in_a_matching_font() -> None:
    drawn = convert_to_inline_svg(figure_of(text="<A> dog."), "A line")
    found = re.search(r"<text ([^>]*)>&lt;A&gt; dog\.</text>", drawn)
    assert found is not None
    assert 'font-size="12px"' in found[1] and 'font-family="DejaVu Sans, ' in found[1]


def test_layout_is_kept() -> None:
    """Compare the figure with a file. Matplotlib lays the file out while it draws it."""
    corners = []
    draws: tuple[Callable[[Figure], str], ...] = (
        lambda one: encode_figure(one, "svg").decode(),
        lambda one: convert_to_inline_svg(one, ""),
    )
    for draw in draws:
        figure = Figure(figsize=(3, 2), layout="constrained")
        figure.subplots().set_facecolor("#123456")
        figure.axes[0].set_ylabel("A dog.")
        drawn = draw(figure).replace("fill: ", 'fill="')
        (corner,) = re.findall(r'<path d="M ([\d.]+) ([\d.]+)[^"]*"[^>]*fill="#123456', drawn)
        corners.append([*map(float, corner)])
    assert corners[0] == pytest.approx(corners[1], abs=1.0)
    assert 20 < corners[0][0] < 60


def test_hostile_text_stays_text() -> None:
    hostile = "--></svg><script>alert(1)</script>"
    drawn = convert_to_inline_svg(figure_of(text=hostile), hostile)
    assert "<script" not in drawn and "<!--" not in drawn and drawn.count("</svg>") == 1


def test_picture_becomes_a_mosaic_of_its_colours() -> None:
    picture_HWC = np.zeros((40, 80, 3), np.uint8)
    picture_HWC[:, :40, 0], picture_HWC[:, 40:, 2] = 255, 255
    drawn = convert_to_inline_svg(figure_of(picture_HWC), "Two halves")
    assert "<image" not in drawn and "data:" not in drawn
    red = re.findall(r'<path d="([^"]+)" fill="#f[ef]0000"', drawn)
    blue = re.findall(r'<path d="([^"]+)" fill="#0000f[ef]"', drawn)
    assert len(red) == len(blue) == 1
    # Each row of cells in a half has one colour, so it is one rectangle.
    columns, rows = MOSAIC_CELLS, red[0].count("M")
    assert blue[0].count("M") == rows and rows <= MOSAIC_CELLS
    assert red[0].startswith("M0 0h") and f"h{columns}v" not in red[0]


def test_noisy_picture_is_bounded() -> None:
    noise_HWC = np.random.default_rng(0).integers(0, 256, (300, 200, 3), dtype=np.uint8)
    plain, noisy = (
        convert_to_inline_svg(figure_of(), ""),
        convert_to_inline_svg(figure_of(noise_HWC), ""),
    )
    assert len(noisy) - len(plain) < 25 * MOSAIC_CELLS**2
    assert noisy.count("<path") - plain.count("<path") <= MOSAIC_COLOURS + 40
