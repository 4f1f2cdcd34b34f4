"""The film strip: what is drawn, and its values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.draw.theme import HEAD_COLOURS
from areaviz.draw.view import figure_caption
from areaviz.models.recording import make_clip_field
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Focus, Request
from areaviz.views.strip.strip import GOLD_FRAMES, STRIP, FrameAttention, find_frame_attention
from areaviz.views.views import VIEWS
from tests import fakes

FOCUS, VIEW = Focus("encoder-decoder"), VIEWS["watching"]
WORDS = ("three", "<b>grows</b>", "⟨end⟩")


def trace(words: tuple[str, ...] = WORDS, items: int = 4, frames: int = 6) -> Trace:
    """Return a trace that watches the first, third, fourth and sixth of six frames.

    The first word attends only to one area, the second and third watched frames. The second word
    gives the weight 0.75 to the first watched frame, and 0.25 to one area, the third and fourth.
    The end symbol attends to no frame.
    """
    seen = fakes.clip(frames=frames)
    field = make_clip_field(seen, items)
    anchors = np.zeros((len(words), 2), np.int64)
    target = Field("target", "text", " ".join(words[:-1]), words, anchors)
    grid = AreaGrid(1, items, 1, 2)
    weights = np.zeros((1, 1, len(words), grid.count), np.float32)
    weights[0, 0, 0, grid.index(Area(0, 1, 1, 2))] = 1.0
    weights[0, 0, 1, grid.index(Area(0, 0, 1, 1))] = 0.75
    weights[0, 0, 1, grid.index(Area(0, 2, 1, 2))] = 0.25
    attention = AttentionMap("encoder-decoder", "target", "clip", grid, weights)
    likely = np.full(len(words), 0.5, np.float32)
    result = Output("target", likely, tuple(((word, 0.5),) for word in words))
    fields = {"clip": field, "target": target}
    return Trace(Request("eye", "", clip=seen), fields, result, {attention.site: attention})


def known(gold: str, items: int = 4, frames: int = 6) -> FrameAttention:
    return find_frame_attention(
        replace(trace(WORDS, items, frames), details={GOLD_FRAMES: gold}), FOCUS
    )


def test_watching_fits_only_clips_and_opens_first() -> None:
    assert [name for name, view in VIEWS.items() if view.fits(trace(), FOCUS)][0] == "watching"
    for other in (fakes.trace(), fakes.caption_trace(), fakes.sound_trace()):
        assert not VIEW.fits(other, FOCUS)
    for focus in (Focus("decoder self"), replace(FOCUS, layer=1), replace(FOCUS, items=(3,))):
        assert not VIEW.fits(trace(), focus)
    assert VIEW.fits(trace(), replace(FOCUS, side="memory", items=(3,)))


def test_row_is_a_word_over_watched_frames() -> None:
    made = trace()
    drawn = find_frame_attention(made, FOCUS)
    assert drawn.words == WORDS and drawn.numbers == (1, 3, 4, 6)
    assert np.array_equal(drawn.frames, fakes.clip().pixels[[0, 2, 3, 5]])
    # An area's weight counts for each of its frames, and each row is then normalised.
    wanted = np.array([[0, 0.5, 0.5, 0], [0.6, 0, 0.2, 0.2], [0, 0, 0, 0]])
    np.testing.assert_allclose(drawn.weights, wanted, atol=1e-6)
    assert drawn.spans == ((1, 3), (0, 1), (0, 0))
    assert drawn.shares == pytest.approx((1.0, 0.75, 0.0))
    assert drawn.actions == () and "dotted" not in drawn.note
    assert drawn.title == "Seen: three <b>grows</b>" and drawn.caption == figure_caption(
        made, FOCUS
    )


def test_highest_bars_of_all_words_are_equal() -> None:
    drawn = find_frame_attention(trace(), FOCUS)
    heights = [drawn.bars(row) for row in range(3)]
    assert heights[0].max() == heights[1].max() == pytest.approx(0.86)
    np.testing.assert_allclose(heights[1] / heights[1].max(), [1, 0, 1 / 3, 1 / 3], atol=1e-6)
    assert heights[2].tolist() == [0, 0, 0, 0]


def test_chosen_words_are_framed() -> None:
    assert find_frame_attention(trace(), replace(FOCUS, items=(1, 0, 1))).marked == (0, 1)
    assert find_frame_attention(trace(), replace(FOCUS, side="memory", items=(2,))).marked == ()
    # Every word that attends to a frame has a box. If words are chosen, only they can have one.
    for items, boxes in (((), 2), ((0,), 1), ((0, 1), 2), ((2,), 0)):
        focus = replace(FOCUS, items=items)
        shapes = VIEW.figure(trace(), focus).layout.shapes
        assert len(shapes) == boxes
        assert len(VIEW.print(trace(), focus).axes[0].patches) == boxes + 3 * 4
    box = VIEW.figure(trace(), replace(FOCUS, items=(0,))).layout.shapes[0]
    assert sorted((box.x0, box.x1)) == [0.5, 2.5] and -0.5 <= box.y0 < box.y1 <= 0.5


@pytest.mark.parametrize(
    ("gold", "actions"),
    [
        ("1 3 4 6", ((0, 2), (2, 4))),
        ("3 3", ((1, 2),)),
        ("2 4", ((1, 3),)),
        ("5 6", ((3, 4),)),
        # Frame 5 is not watched, so frame 4 is the last watched frame of the action.
        ("2 5", ((1, 3),)),
        ("1 2", ((0, 1),)),
        ("1 3 6", ((0, 2),)),
        ("4 200", ((2, 4),)),
        ("", ()),
        ("<b>", ()),
        ("1 -2", ()),
        ("1.5 2", ()),
    ],
)
def test_action_spans_its_first_to_last_frame(
    gold: str, actions: tuple[tuple[int, int], ...]
) -> None:
    assert known(gold).actions == actions


def test_oversized_frame_number_does_not_fail() -> None:
    """Check an untrusted trace with a number that has too many digits for Python to parse."""
    assert known(f"1 {'9' * 5000}").actions == ()


def test_action_covers_all_places_of_repeated_frame() -> None:
    assert known("1 1 2 2", items=6, frames=2).numbers == (1, 1, 1, 2, 2, 2)
    assert known("1 1 2 2", items=6, frames=2).actions == ((0, 3), (3, 6))


def test_action_bounds_are_lines_on_screen_and_paper() -> None:
    acted = replace(trace(), details={GOLD_FRAMES: "1 3 4 6"})
    assert "dotted: where an action begins and ends" in find_frame_attention(acted, FOCUS).note
    lines = [one for one in VIEW.figure(acted, FOCUS).layout.shapes if one.type == "line"]
    # The first action ends where the second begins, so two actions have three lines.
    assert [line.x0 for line in lines] == [line.x1 for line in lines] == [-0.5, 1.5, 3.5]
    plain, marked = (len(VIEW.print(one, FOCUS).axes[0].lines) for one in (trace(), acted))
    assert marked == plain + 3


def test_figure_has_a_bar_under_every_frame() -> None:
    figure = VIEW.figure(trace(), FOCUS)
    assert [image.x for image in figure.layout.images] == [0, 1, 2, 3]
    assert len({image.source for image in figure.layout.images}) == 4
    assert all(-0.5 - STRIP < image.y < -0.5 for image in figure.layout.images)
    assert list(figure.layout.xaxis.ticktext) == ["1", "3", "4", "6"]
    bars, hovers = figure.data[:-1], figure.data[-1]
    drawn = find_frame_attention(trace(), FOCUS)
    for row, bar in enumerate(bars):
        np.testing.assert_allclose(bar.y, -drawn.bars(row))
        assert all(base == row + 0.43 for base in bar.base)
    assert len(bars) == len({bar.marker.color for bar in bars}) == 3
    assert len(hovers.text) == 12


def test_markup_in_words_stays_text() -> None:
    figure = VIEW.figure(trace(), FOCUS)
    hovers = figure.data[-1].text
    assert hovers[4] == "&lt;b&gt;grows&lt;/b&gt; → frame 1<br>60.0%"
    assert hovers[6] == "&lt;b&gt;grows&lt;/b&gt; → frame 4<br>20.0%"
    assert figure.layout.yaxis.ticktext[1] == "&lt;b&gt;grows&lt;/b&gt;"
    assert "<b>" not in figure.layout.title.text
    paper = VIEW.print(trace(("$x$", "שלום", "⟨end⟩")), FOCUS)
    labels = [label.get_text() for label in paper.axes[0].get_yticklabels()]
    assert labels == ["$x$", "שלום", "⟨end⟩"]
    assert not any(label.get_parse_math() for label in paper.axes[0].get_yticklabels())


def test_table_has_heaviest_area_and_every_frame() -> None:
    table = VIEW.table(trace(), FOCUS)
    assert table.columns == (
        "item",
        "word",
        "heaviest area from frame",
        "to frame",
        "its weight",
        "frame 1",
        "frame 3",
        "frame 4",
        "frame 6",
    )
    assert table.rows[0] == (1, "three", 3, 4, 1.0, 0.0, 0.5, 0.5, 0.0)
    assert table.rows[1][:5] == (2, "<b>grows</b>", 1, 1, 0.75)
    assert table.rows[1][5:] == pytest.approx((0.6, 0.0, 0.2, 0.2))
    assert table.rows[2] == (3, "⟨end⟩", "", "", 0.0, 0.0, 0.0, 0.0, 0.0)


def test_print_has_frames_bars_and_words() -> None:
    axes = VIEW.print(trace(), FOCUS).axes[0]
    assert len(axes.images) == 4 and len(axes.containers) == 3
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "3", "4", "6"]
    found = np.asarray(axes.images[1].get_array())
    assert np.array_equal(found, fakes.clip().pixels[2])


@pytest.mark.parametrize("count", [1, 24])
def test_one_word_and_many_have_room(count: int) -> None:
    words = (*(f"word {number}" for number in range(count)), "⟨end⟩")
    made = trace(words)
    figure = VIEW.figure(made, FOCUS)
    assert 200 <= figure.layout.height <= 900 and len(figure.layout.yaxis.tickvals) == count + 1
    assert VIEW.print(made, FOCUS).get_size_inches()[1] < 7
    # Words take the colours in turn. The last colour, grey, is left out.
    colours = [find_frame_attention(made, FOCUS).colour(row) for row in range(count + 1)]
    assert len(set(colours)) == min(count + 1, len(HEAD_COLOURS) - 1)
    assert HEAD_COLOURS[-1] not in colours


def test_heads_are_shown_one_by_one_or_together() -> None:
    made = trace()
    attention = made.maps["encoder-decoder"]
    other = attention.weights[:, :, [1, 0, 2]]
    both = replace(attention, weights=np.concatenate([attention.weights, other], 1))
    two = replace(made, maps={"encoder-decoder": both})
    first, second, mean = (
        find_frame_attention(two, replace(FOCUS, head=head)) for head in (0, 1, None)
    )
    np.testing.assert_allclose(first.weights, find_frame_attention(made, FOCUS).weights)
    np.testing.assert_allclose(second.weights, first.weights[[1, 0, 2]])
    # Weights of areas are added over heads and then normalised: (0.75, 1, 1.25, 0.25) / 3.25.
    np.testing.assert_allclose(mean.weights[0], np.array([0.75, 1, 1.25, 0.25]) / 3.25, atol=1e-6)
    assert mean.spans[0] == (1, 3) and mean.shares[0] == pytest.approx(0.5)
