"""Attention next to attribution: the rows that are drawn, and the values of every head."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.draw.comparison import AGREEMENT_COLUMNS, compare_with_attribution, describe_agreement
from areaviz.draw.select import list_sites, name_site
from areaviz.draw.view import EXPORT_FORMATS, encode_figure
from areaviz.trace.derived import compare_attribution, make_gradient_map, make_rollout_maps, mean_of
from areaviz.trace.query import item_shares
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.views import VIEWS
from tests import fakes

VIEW, SITE = VIEWS["beside"], "encoder-decoder"


@pytest.fixture(scope="module")
def trace() -> Trace:
    plain = fakes.trace("A small dog", "Ein Hund")
    base = plain.maps[SITE]
    products = np.random.default_rng(0).normal(size=(base.weights.shape[2], base.grid.items))
    added = [*make_rollout_maps(plain.maps), make_gradient_map(base, products.astype(np.float32))]
    return replace(plain, maps={**plain.maps, **{one.site: one for one in added}})


def test_view_fits_traces_with_attribution(trace: Trace) -> None:
    assert VIEW.fits(trace, Focus(SITE, 1, 2, items=(0,)))
    assert not VIEW.fits(fakes.trace(), Focus(SITE))
    assert not VIEW.fits(trace, Focus(f"{SITE} rollout"))


def test_row_is_the_mean_over_focused_queries(trace: Trace) -> None:
    drawn = compare_with_attribution(trace, Focus(SITE, 1, 2, items=(0, 3))).drawn
    assert drawn.rows == ("attention", "rollout", "gradient × input")
    expected = item_shares(trace.maps[SITE], 1, 2)[[0, 3]].mean(0)
    np.testing.assert_allclose(drawn.values[0], expected, atol=1e-6)
    np.testing.assert_allclose(
        drawn.values[1], trace.maps[f"{SITE} rollout"].weights[1, 0, [0, 3]].mean(0), atol=1e-6
    )


def test_table_has_the_agreement_of_every_head(trace: Trace) -> None:
    table, base = VIEW.table(trace, Focus(SITE)), trace.maps[SITE]
    assert table.columns == AGREEMENT_COLUMNS
    assert len(table.rows) == base.layers * (base.heads + 1) * 2
    found = compare_attribution(base, 1, 0, trace.maps[f"{SITE} gradient"], 0)
    (row,) = [row for row in table.rows if row[:3] == (2, 1, "gradient × input")]
    assert row[3:5] == (mean_of(found.correlation), mean_of(found.common))


def test_words_state_the_agreement(trace: Trace) -> None:
    words = describe_agreement(trace, Focus(SITE, 1))
    assert "rollout: rank correlation " in words and "of the top 3 in common" in words
    short = fakes.trace("A", "E")
    maps = {**short.maps, **{one.site: one for one in make_rollout_maps(short.maps)}}
    assert "–" in describe_agreement(replace(short, maps=maps), Focus(SITE))


@pytest.mark.parametrize("form", EXPORT_FORMATS)
def test_view_can_be_printed(trace: Trace, form: str) -> None:
    assert encode_figure(VIEW.print(trace, Focus(SITE)), form)


def test_attributions_follow_their_site_under_own_names(trace: Trace) -> None:
    assert list_sites(trace)[:3] == [SITE, f"{SITE} rollout", f"{SITE} gradient"]
    assert name_site(trace, f"{SITE} rollout") == "Translation to source, by rollout"
    caption = VIEWS["alignment"].figure(trace, Focus(f"{SITE} gradient")).layout.meta["caption"]
    assert "attribution, not attention" in caption
