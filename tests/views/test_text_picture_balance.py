"""The balance of text and picture, with lengths whose shares are known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.text import Text

from areaviz.draw.view import EXPORT_FORMATS, encode_figure, format_csv
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.text_and_picture import MEASURE_NOTE, average_over_heads, compute_balance
from areaviz.views.views import VIEWS
from tests import fakes

VIEW = VIEWS["balance"]
SITES = ("encoder-decoder", "encoder-decoder picture")
TEXT = [[3, 1, 0, 0], [1, 1, 5, 0]]
PICTURE = [[1, 1, 2, 0], [3, 0, 5, 0]]
SHARES = [[0.75, 0.5, 0, np.nan], [0.25, 1, 0.5, np.nan]]
"""Values by hand for two heads: the words "ein", "roter", "Stern", and the end without context."""


@pytest.fixture(scope="module")
def trace() -> Trace:
    """Return a trace with these lengths in layer 1, and text and picture exchanged in layer 2."""
    trace = fakes.doubly_trace(heads=2)
    text, picture = (
        np.array([one, other], np.float32) for one, other in ((TEXT, PICTURE), (PICTURE, TEXT))
    )
    maps = {
        site: replace(trace.maps[site], strength=s)
        for site, s in zip(SITES, (text, picture), strict=True)
    }
    return replace(trace, maps={**trace.maps, **maps})


@pytest.mark.parametrize("site", SITES)
def test_balance_shares_by_hand(trace: Trace, site: str) -> None:
    np.testing.assert_allclose(compute_balance(trace, Focus(site)).heads, SHARES)
    np.testing.assert_allclose(compute_balance(trace, Focus(site, 1)).heads, 1 - np.array(SHARES))
    np.testing.assert_allclose(compute_balance(trace, Focus(site, 0, 1)).drawn, SHARES[1])


def test_all_heads_average_shares_not_lengths(trace: Trace) -> None:
    drawn = compute_balance(trace, Focus("encoder-decoder"))
    np.testing.assert_allclose(drawn.drawn, [0.5, 0.75, 0.25, np.nan])
    assert drawn.title.endswith("mean of the shares of 2 heads") and drawn.note.startswith(
        MEASURE_NOTE
    )


def test_head_without_context_is_omitted_from_mean() -> None:
    np.testing.assert_allclose(
        average_over_heads(np.array([[0.2, np.nan], [np.nan, np.nan]], np.float32)), [0.2, np.nan]
    )


def test_text_and_picture_bars_fill_the_row(trace: Trace) -> None:
    text, picture = VIEW.figure(trace, Focus("encoder-decoder", 0, 0)).data[:2]
    np.testing.assert_allclose(text.x, [0.75, 0.5, 0, 0])
    base = np.array(picture.base, dtype=float)
    np.testing.assert_allclose(base, text.x)
    np.testing.assert_allclose(base + picture.x, [1, 1, 1, 0])


def test_every_head_has_a_dot_at_its_share(trace: Trace) -> None:
    drawn = compute_balance(trace, Focus("encoder-decoder"))
    share, down, heads = drawn.marks()
    np.testing.assert_allclose(share, np.ravel(SHARES))
    assert heads == [0] * 4 + [1] * 4
    np.testing.assert_array_equal(np.rint(down), [0, 1, 2, 3] * 2)
    assert (down[:4] < down[4:]).all() and np.abs(down - np.rint(down)).max() < 0.31
    assert "dots" in drawn.note and len(VIEW.figure(trace, Focus("encoder-decoder")).data[2].x) == 8


def test_single_head_has_no_dots(trace: Trace) -> None:
    drawn = compute_balance(trace, Focus("encoder-decoder", 0, 1))
    assert len(drawn.marks()[0]) == 0 and "dots" not in drawn.note and "head 2" in drawn.title


def test_focused_words_are_highlighted(trace: Trace) -> None:
    opacity = compute_balance(trace, Focus(SITES[1], items=(1, 2))).opacity
    assert opacity[1:3] == [1, 1] and opacity[0] == opacity[3] < 0.5
    assert compute_balance(trace, Focus(SITES[1], side="memory", items=(9,))).opacity == [1] * 4


def test_numbers_state_both_shares(trace: Trace) -> None:
    assert compute_balance(trace, Focus("encoder-decoder")).numbers() == [
        "50% · 50%",
        "75% · 25%",
        "25% · 75%",
        "–",
    ]


def test_table_has_every_head(trace: Trace) -> None:
    table = VIEW.table(trace, Focus("encoder-decoder", 0, 1))
    assert table.columns == ("position", "item", "text", "picture", "text, head 1", "text, head 2")
    assert table.rows[0] == (1, "ein", 0.25, 0.75, 0.75, 0.25) and len(table.rows) == 4
    assert format_csv(table).splitlines()[-1] == "4,⟨end⟩,,,,"


def test_word_of_several_items_is_their_mean(trace: Trace) -> None:
    target = replace(
        trace.fields["target"], raw="abc", anchors=np.array([[0, 1], [1, 3], [3, 3], [3, 3]])
    )
    joined = replace(trace, fields={**trace.fields, "target": target})
    drawn = compute_balance(joined, Focus("encoder-decoder", 0, 0, items=(1,), unit="word"))
    assert drawn.labels[0] == "einroter" and drawn.drawn[0] == pytest.approx((0.75 + 0.5) / 2)
    assert drawn.chosen == (True, False, False)


def test_caption_names_both_sites(trace: Trace) -> None:
    told = VIEW.figure(trace, Focus(SITES[1])).layout.meta["caption"]
    assert (
        "· encoder-decoder, layer 1 of 2" in told
        and "· encoder-decoder picture, layer 1 of 2" in told
    )


def test_many_words_stay_a_small_figure() -> None:
    trace = fakes.doubly_trace(target=" ".join(["Wort"] * 500), grid=2, layers=1)
    figure = VIEW.figure(trace, Focus("encoder-decoder"))
    assert len(figure.to_json()) < 300_000 and figure.layout.height < 1100
    assert len(figure.layout.yaxis.tickvals) < 100


@pytest.mark.parametrize("kind", EXPORT_FORMATS)
def test_balance_can_be_printed(trace: Trace, kind: str) -> None:
    printed = VIEW.print(trace, Focus("encoder-decoder", items=(0,)))
    assert MEASURE_NOTE in printed.texts[1].get_text() and len(encode_figure(printed, kind)) > 1000


def test_labels_stay_text(trace: Trace) -> None:
    target = replace(trace.fields["target"], labels=("<b>x</b>", "$5$ $6$", "\u202e", "\ud800"))
    trace = replace(trace, fields={**trace.fields, "target": target})
    spec = json.dumps(
        json.loads(VIEW.figure(trace, Focus("encoder-decoder")).to_json()), ensure_ascii=False
    )
    assert [active for active in ("<b>", "$", "\u202e") if active in spec] == []
    assert not any(
        text.get_parse_math() for text in VIEW.print(trace, Focus("encoder-decoder")).findobj(Text)
    )


def test_balance_fits_only_with_both_lengths(trace: Trace) -> None:
    assert all(VIEW.fits(trace, Focus(site, 1, 1, items=(3,))) for site in SITES)
    assert not VIEW.fits(trace, Focus("decoder self")) and not VIEW.fits(trace, Focus(SITES[0], 2))
    for site in SITES:
        without = {**trace.maps, site: replace(trace.maps[site], strength=None)}
        assert not VIEW.fits(replace(trace, maps=without), Focus("encoder-decoder"))
    assert not VIEW.fits(fakes.trace(), Focus("encoder-decoder"))
