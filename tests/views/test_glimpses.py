"""Views of glimpses: the path, the glimpses, and the predicted labels."""

from dataclasses import replace

import numpy as np
import pytest

from areaviz.draw.view import EXPORT_FORMATS, encode_figure
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.looks import glimpses, looks
from areaviz.views.looks import glimpses as glimpse_patches
from areaviz.views.looks.glimpses import label_probabilities
from areaviz.views.views import VIEWS
from tests import fakes

FOCUS = Focus("glimpses")
NAMES = ("glimpses", "retina", "labels")


@pytest.fixture(scope="module")
def trace() -> Trace:
    return fakes.gaze_trace()


@pytest.mark.parametrize("name", NAMES)
def test_figure_table_and_print_of_every_view(trace: Trace, name: str) -> None:
    view = VIEWS[name]
    assert view.fits(trace, FOCUS)
    figure, table, printed = (
        view.figure(trace, FOCUS),
        view.table(trace, FOCUS),
        view.print(trace, FOCUS),
    )
    told = figure.layout.meta["caption"]
    assert all(
        part in told
        for part in ("reader", "glimpses", "3 steps", "2 scales", "8×8", "most probable places")
    )
    assert told in [" ".join(text.get_text().split()) for text in printed.texts]
    assert len(set(table.columns)) == len(table.columns)
    assert table.rows and all(len(row) == len(table.columns) for row in table.rows)
    assert all(encode_figure(view.print(trace, FOCUS), kind) for kind in EXPORT_FORMATS)


@pytest.mark.parametrize("name", NAMES)
def test_glimpse_views_fit_existing_steps(trace: Trace, name: str) -> None:
    view = VIEWS[name]
    assert view.fits(trace, Focus("glimpses", items=(2,)))
    assert not view.fits(trace, Focus("glimpses", items=(3,))) and not view.fits(
        trace, Focus("encoder-decoder")
    )
    assert not view.fits(fakes.caption_trace(), Focus("encoder-decoder"))
    assert not view.fits(fakes.trace(), Focus("encoder-decoder"))


@pytest.mark.parametrize("name", NAMES)
def test_one_step_and_one_scale_are_enough(name: str) -> None:
    trace = fakes.gaze_trace(steps=1, scales=1, side=1)
    assert VIEWS[name].figure(trace, FOCUS).data and VIEWS[name].table(trace, FOCUS).rows


@pytest.mark.parametrize("name", NAMES)
def test_labels_stay_text(trace: Trace, name: str) -> None:
    hostile = replace(trace.fields["target"], labels=("<b>x</b>", "$5$ $6$", "\u202e"))
    trace = replace(trace, fields={**trace.fields, "target": hostile})
    spec = VIEWS[name].figure(trace, FOCUS).to_json()
    assert "<b>" not in spec and "$" not in spec and "\\u202e" not in spec
    assert encode_figure(VIEWS[name].print(trace, FOCUS), "svg").startswith(b"<?xml")


def test_every_other_view_draws_gazes_or_does_not_fit(trace: Trace) -> None:
    for view in (view for view in VIEWS.values() if view.fits(trace, FOCUS)):
        assert view.figure(trace, FOCUS).data, view.name
    assert VIEWS["probabilities"].fits(trace, FOCUS) and not VIEWS["overview"].fits(trace, FOCUS)


def test_caption_says_when_places_were_sampled(trace: Trace) -> None:
    drawn = replace(trace, request=replace(trace.request, sample=True, seed=7))
    assert "drawn by seed 7" in VIEWS["glimpses"].figure(drawn, FOCUS).layout.meta["caption"]


def test_path_connects_centres_in_order(trace: Trace) -> None:
    gaze = trace.gazes["glimpses"]
    middles = [gaze.corners[step, 0].mean(0) for step in range(3)]
    lines = [
        t
        for t in VIEWS["glimpses"].figure(trace, FOCUS).data
        if t.mode == "lines" and len(t.x) == 3
    ]
    assert lines
    for line in lines:
        np.testing.assert_allclose(np.column_stack([line.x, line.y]), middles, rtol=1e-6)
    rows = VIEWS["glimpses"].table(trace, FOCUS).rows
    assert [row[:2] for row in rows] == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)]
    assert [row[4] for row in rows[:2]] == pytest.approx([8, 16], rel=1e-5)


def test_focused_steps_are_more_opaque(trace: Trace) -> None:
    drawn = glimpses.find_path(trace, Focus("glimpses", items=(1,)))
    assert [drawn.opacity(step) for step in range(3)] == [glimpses._FAINT, 1, glimpses._FAINT]
    assert drawn.order[-1] == 1
    assert {glimpses.find_path(trace, FOCUS).opacity(step) for step in range(3)} == {1}


def test_numbers_of_close_glimpses_do_not_overlap(trace: Trace) -> None:
    gaze = trace.gazes["glimpses"]
    same = replace(gaze, corners=np.repeat(gaze.corners[:1], 3, 0))
    places = glimpses.number_places(same, 3.0)
    np.testing.assert_allclose(places[0], looks.compute_centres(same)[0])
    gaps = [np.hypot(*(places[i] - places[j])) for i in range(3) for j in range(i)]
    assert min(gaps) >= 3


def test_retina_shows_the_patches_read(trace: Trace) -> None:
    sheet = glimpse_patches.arrange_patches(trace, FOCUS)
    seen = trace.gazes["glimpses"].seen
    assert sheet.across == 3 and len(sheet.tiles) == 6 and len(sheet.rows) == 2
    frame, inner = glimpse_patches._FRAME, sheet.tiles[4].pixels  # second scale, second step
    factor = (inner.shape[0] - 2 * frame) // 8
    np.testing.assert_array_equal(
        inner[frame + factor // 2 : -frame : factor, frame + factor // 2 : -frame : factor, 0],
        seen[1, 1],
    )
    assert [tile.texts for tile in sheet.tiles[:4]] == [[], [], [], ["1: 3", "40%"]]
    assert glimpse_patches.arrange_patches(trace, Focus("glimpses", items=(2,))).across == 1


def test_labels_are_all_listed_alternatives(trace: Trace) -> None:
    names, found = label_probabilities(trace)
    assert names == ["3", "5", "8"]
    likely = trace.output.probabilities
    expected = np.stack(
        [np.append(likely[:2], np.nan), 1 - likely, np.append([np.nan] * 2, likely[2:])]
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    table = VIEWS["labels"].table(trace, FOCUS)
    assert table.columns == ("label", "glimpse 1", "glimpse 2", "glimpse 3")
    assert VIEWS["labels"].fits(fakes.gaze_trace("transformer", 1, 1), Focus("transformer"))


def test_step_colours_differ_and_read() -> None:
    colours = [looks.get_step_colour(step, 6) for step in range(6)]
    assert len(set(colours)) == 6 and looks.get_step_colour(0, 1) == colours[-1]
    assert looks.choose_ink("#000000") == "#FFFFFF" and looks.choose_ink("#ffff00") == "#111111"


def test_boxes_far_outside_are_cut_off() -> None:
    pixels = np.zeros((10, 20, 3), dtype=np.uint8)
    left, top, right, bottom = looks.compute_view_box(
        pixels, np.array([[-100, 2], [22, 11]], dtype=np.float32)
    )
    assert left == pytest.approx(-6.2) and top == pytest.approx(-0.2)
    assert right == pytest.approx(22.2) and bottom == pytest.approx(11.2)
