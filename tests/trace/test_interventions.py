"""Changes: what they apply to, what is rejected, and their text form for links and files."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.changes import (
    Change,
    Gate,
    Hide,
    Places,
    Share,
    Weigh,
    check_changes,
    compute_area_factors,
    format_changes,
    list_changes_by_site,
    mask_changed_areas,
    parse_changes,
)
from areaviz.trace.errors import MAX_CHANGED, MAX_CHANGES, InputError
from tests.trace.sentence import assert_one_sentence
from tests.trace.strategies import SOME, changes, grids

SITES = {
    "encoder self": ("source", "source"),
    "decoder self": ("target", "history"),
    "encoder-decoder": ("target", "source"),
}
PLACES = Places(SITES, 2, 4, {"source": 6}, {"source": AreaGrid(1, 6, 1, 3)})


@settings(deadline=None)
@given(changes())
def test_change_text_reads_back(made: tuple[Change, ...]) -> None:
    assert parse_changes(format_changes(made)) == made


def test_change_text_counts_from_1() -> None:
    made = (
        Weigh("encoder-decoder", (2, 3), (Area(0, 4, 1, 2),), 0.5, 1, 0, 6, True),
        Gate("encoder self", head=2),
    )
    weigh = "weigh:encoder-decoder:items=3-4:areas=1.5.1.2:factor=0.5:layer=2:head=1:query=7:rest=1"
    assert format_changes(made) == f"{weigh};gate:encoder self:head=3"


def test_normalisation_survives_round_trip_as_text() -> None:
    made = (Share("encoder-decoder", 2.0, True, 20), Share("encoder-decoder"))
    text = "share:encoder-decoder:factor=2.0:smooth=1:window=20;share:encoder-decoder"
    assert format_changes(made) == text and parse_changes(text) == made
    PLACES.check(made)
    assert list_changes_by_site(made, SITES) == []


@pytest.mark.parametrize(
    "text",
    [
        "share:encoder-decoder:factor=0.0",
        "share:encoder-decoder:factor=101.0",
        "share:encoder-decoder:window=x",
        "share:encoder-decoder:layer=1",
    ],
)
def test_switches_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_changes(text)
    assert_one_sentence(caught.value)


@SOME
@given(grids(), st.data())
def test_items_touch_all_areas_containing_them(grid: AreaGrid, data: st.DataObject) -> None:
    items = data.draw(st.lists(st.integers(0, grid.items - 1), min_size=1, max_size=4))
    found = mask_changed_areas(Weigh("s", tuple(items)), grid.table(), grid.width)
    for index, holds in enumerate(found):
        area = grid.area(index)
        held = {
            row * grid.width + column
            for row in range(area.top, area.top + area.height)
            for column in range(area.left, area.left + area.width)
        }
        assert holds == bool(held & set(items))
    others = mask_changed_areas(Weigh("s", tuple(items), rest=True), grid.table(), grid.width)
    assert np.array_equal(others, ~found)


def test_named_area_touches_only_itself() -> None:
    grid = AreaGrid(2, 3, 2, 2)
    for index in range(grid.count):
        found = mask_changed_areas(Weigh("s", areas=(grid.area(index),)), grid.table(), grid.width)
        assert np.flatnonzero(found).tolist() == [index]


def test_factors_of_overlapping_changes_multiply() -> None:
    grid = AreaGrid(1, 3, 1, 1)
    weighs = [
        Weigh("s", (0,), factor=0.5),
        Weigh("s", (0, 1), factor=3, head=1),
        Weigh("s", (2,), query=1),
    ]
    factors = compute_area_factors(weighs, grid.table(), 3, 2, 2)
    assert factors.tolist() == [[[0.5, 1, 1], [0.5, 1, 0]], [[1.5, 3, 1], [1.5, 3, 0]]]
    assert compute_area_factors(weighs[:2], grid.table(), 3, 2, 9).shape == (2, 1, 3)


def test_too_large_product_of_factors_is_refused() -> None:
    grid = AreaGrid(1, 3, 1, 1)
    factors = compute_area_factors([Weigh("s", (0,), factor=100)] * 6, grid.table(), 3, 1, 1)
    assert factors.max() == pytest.approx(1e12)
    with pytest.raises(
        InputError, match=r"multiply one weight or head by 1e\+14, but the limit is"
    ):
        compute_area_factors([Weigh("s", (0,), factor=100)] * 7, grid.table(), 3, 1, 1)
    banned = [Weigh("s", (0,), factor=0), *[Weigh("s", (0,), factor=100)] * 9]
    assert np.isfinite(compute_area_factors(banned, grid.table(), 3, 1, 1)).all()


def test_touched_areas_are_found_quickly() -> None:
    """Comparing every named area with the whole table once took half a minute of CPU time."""
    grid = AreaGrid(1, 1000, 1, 5)
    areas = tuple(grid.area(index % grid.count) for index in range(MAX_CHANGED))
    began = time.process_time()
    assert mask_changed_areas(Weigh("s", areas=areas), grid.table(), grid.width).all()
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Weigh("s", (0,), factor="5"), 'the factor "5"'),  # type: ignore[arg-type]
        (Gate("s", factor=None), 'the factor "None"'),  # type: ignore[arg-type]
        (Gate("s", factor=10**400), 'the factor "1000'),
        (Weigh("s", (1.5,)), 'the item "1.5"'),  # type: ignore[arg-type]
        (Hide("source", (float("nan"),)), 'the item "nan"'),  # type: ignore[arg-type]
    ],
)
def test_values_of_other_types_are_refused(change: Change, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_changes([change])


def test_hiding_bans_items_at_every_site() -> None:
    assert list_changes_by_site([Hide("source", (1, 2)), Gate("encoder self")], SITES) == [
        Weigh("encoder self", (1, 2)),
        Weigh("encoder-decoder", (1, 2)),
        Gate("encoder self"),
    ]


@pytest.mark.parametrize(
    ("made", "parts"),
    [
        ([Weigh("encoder-decoder", (0,), factor=-1)], ["-1", "0 to 100"]),
        ([Gate("encoder-decoder", factor=float("nan"))], ["nan", "0 to 100"]),
        ([Weigh("encoder-decoder")], ["no item", "Choose"]),
        ([Hide("source", ())], ["no item", "Choose"]),
        ([Hide("source", (-1,))], ["outside 1"]),
        ([Gate("encoder-decoder")] * (MAX_CHANGES + 1), [f"{MAX_CHANGES:,}", "Remove"]),
        ([Hide("source", tuple(range(60_000)))] * 3, [f"{MAX_CHANGED:,}", "Remove"]),
    ],
)
def test_impossible_changes_are_refused(made: list[Change], parts: list[str]) -> None:
    with pytest.raises(InputError) as refusal:
        check_changes(made)
    assert all(part in str(refusal.value) for part in parts)
    assert_one_sentence(refusal.value)


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (Gate("glimpses"), ["glimpses", "encoder self, decoder self, encoder-decoder"]),
        (Gate("encoder self", layer=2), ["layer 3", "2 layers"]),
        (Gate("encoder self", head=4), ["head 5", "4 heads"]),
        (Weigh("encoder self", (6,)), ["item 7", "6 items"]),
        (Weigh("encoder self", areas=(Area(0, 0, 1, 4),)), ["1x4", "source"]),
        (Weigh("encoder self", (0,), query=6), ["query 7", "6 queries"]),
        (Weigh("encoder-decoder", (0,), query=0), ["output", "given"]),
        (Hide("target", (0,)), ["target", "Choose items of: source"]),
        (Hide("source", (6,)), ["item 7", "6 items"]),
    ],
)
def test_error_names_missing_part_of_model(change: Change, parts: list[str]) -> None:
    with pytest.raises(InputError) as refusal:
        PLACES.check([Gate("encoder self"), change])
    assert all(part in str(refusal.value) for part in parts)
    assert_one_sentence(refusal.value)


def test_changes_within_the_model_pass() -> None:
    weigh = Weigh("encoder self", (5,), (Area(0, 3, 1, 3),), 2, 1, 3, 5)
    PLACES.check([weigh, Hide("source", (0,)), Gate("decoder self", 1)])
    Places({}, 0, 1, {}, {}).check([])


def test_model_without_attention_refuses_changes() -> None:
    with pytest.raises(InputError, match="has no attention to change"):
        Places({}, 0, 1, {"picture": 4}, {}).check([Hide("picture", (0,))])


@pytest.mark.parametrize(
    "text",
    [
        "ban:encoder-decoder:items=1",
        "weigh",
        "weigh:<b>:items=1",
        "weigh:encoder-decoder:items=1:colour=red",
        "weigh:encoder-decoder:items=1:items",
        "gate:encoder-decoder:items=1",
        "weigh:encoder-decoder:items=0",
        "weigh:encoder-decoder:items=1:factor=inf",
        "weigh:encoder-decoder:items=1:factor=1_0",
        "weigh:encoder-decoder:items=1:factor=101",
        "weigh:encoder-decoder:items=1:layer=0",
        "weigh:encoder-decoder:items=1:layer=99999",
        "weigh:encoder-decoder:areas=1.2.3",
        "weigh:encoder-decoder:areas=0.1.1.1",
        ";".join(["hide:source:items=1-65536"] * 1000),
        "gate:encoder self;" * 2000,
        "x" * 10**6,
    ],
)
def test_invalid_text_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(InputError) as refusal:
        parse_changes(text)
    assert_one_sentence(refusal.value)


@settings(deadline=None)
@given(st.text(alphabet="weighatd:;=.,-0123456789 sourcif", max_size=80) | st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        made = parse_changes(text)
    except InputError:
        return
    assert parse_changes(format_changes(made)) == made
