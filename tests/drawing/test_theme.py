import numpy as np
import pytest

from areaviz.draw import theme
from areaviz.draw.theme import Drawing


def luminance(colour: str) -> float:
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("page", ["#FDFCF9", "#0F1519"])
@pytest.mark.parametrize("head", range(4))
def test_first_heads_contrast_with_light_and_dark_pages(head: int, page: str) -> None:
    assert contrast(theme.get_head_colour(head), page) >= 2.9


def test_heads_repeat_colours_only_after_eight() -> None:
    assert len({theme.get_head_colour(head) for head in range(8)}) == 8
    assert theme.get_head_colour(8) == theme.get_head_colour(0)


@pytest.mark.parametrize(
    ("value", "top"),
    [
        (0.03, 0.05),
        (0.2, 0.2),
        (0.21, 0.5),
        (0.0, 1.0),
        (1.0, 1.0),
        (7.0, 10.0),
        (float("nan"), 1.0),
    ],
)
def test_scales_end_at_round_numbers(value: float, top: float) -> None:
    assert theme.round_up_scale(value) == pytest.approx(top)


@pytest.mark.parametrize(("step", "places"), [(0.1, 0), (0.025, 1), (0.004, 1), (0.0004, 2)])
def test_scale_ticks_have_distinct_labels(step: float, places: int) -> None:
    assert theme.count_decimals(step) == places


def test_long_title_is_wrapped_and_escaped() -> None:
    figure = theme.screen_figure(Drawing("word " * 40 + "<b>", "", "a caption"), 100)
    assert "<br>" in figure.layout.title.text and "&lt;b&gt;" in figure.layout.title.text
    assert figure.layout.height > theme.screen_figure(Drawing("short", "", ""), 100).layout.height


def test_print_note_stays_on_the_paper() -> None:
    note = "each cell is one area, centred over the items it spans; " * 3
    figure, _ = theme.print_figure(Drawing("a title", note, "a caption"), 1)
    figure.canvas.draw()
    edge = figure.bbox.width
    assert all(text.get_window_extent().x1 <= edge for text in figure.texts)
    title, below = (text.get_window_extent() for text in figure.texts[:2])
    # Its two lines are below the title.
    assert "\n" in figure.texts[1].get_text() and below.y1 < title.y0
