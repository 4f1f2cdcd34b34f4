"""Readings that are sent and printed next to the heaviest areas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.draw.view import encode_figure
from areaviz.trace.query import MASSES, average_map, find_sinks, item_shares
from areaviz.trace.request import Focus
from areaviz.views.grid.grid import GRID_TAKEAWAY as GRID
from areaviz.views.grid.grid import make_grid_payload
from areaviz.views.ribbon import table as other_readings
from areaviz.views.ribbon.ribbon import RIBBON_TAKEAWAY as RIBBON
from areaviz.views.ribbon.ribbon import make_ribbon_payload
from tests import fakes

SITE = "encoder-decoder"
HOWS = [
    {"reading": "coverage"},
    {"reading": "densest", "mass": 70},
    {"against": "average"},
    {"reading": "densest", "unit": "word"},
    {"reading": "coverage", "unit": "word"},
]


def test_every_query_and_long_word_has_densest_areas() -> None:
    field = fakes.text_field("target", "a red dog", end="")
    assert other_readings.list_query_runs(field) == [
        *((n, n + 1) for n in range(9)),
        (2, 5),
        (6, 9),
    ]
    assert other_readings.choose_runs(field, (3, 7, 8), "word") == [(2, 5), (6, 9)]
    assert other_readings.choose_runs(field, (3, 7), "item") == [(3, 4), (7, 8)]


def test_long_texts_get_fewer_or_no_densest_areas() -> None:
    attention = fakes.trace().maps[SITE]
    places = attention.heads * attention.grid.items
    assert other_readings.choose_masses(attention, 10) == MASSES
    assert other_readings.choose_masses(attention, other_readings.MAX_WORK // places) == (50,)
    assert other_readings.choose_masses(attention, other_readings.MAX_WORK // places + 1) == ()


def test_averages_and_sinks_are_included() -> None:
    trace = fakes.trace()
    attention = trace.maps[SITE]
    weights = attention.weights * 0.1
    weights[:, 2, :, 5] += 0.9
    trace = replace(trace, maps={SITE: replace(attention, weights=weights)})
    sent = make_ribbon_payload(trace, Focus(SITE, 1))
    [[head, item, share]] = sent["header"]["sinks"]
    found = find_sinks(trace.maps[SITE], 1)[0]
    assert (head, item) == (2, 5) and share == pytest.approx(found.share, abs=1e-4)
    stored = (sent["arrays"]["average"] / 65535.0) ** 2
    expected = average_map(item_shares(trace.maps[SITE], 1, 2))
    np.testing.assert_allclose(stored[2], expected, atol=1e-4)


def test_browser_gets_all_shares_of_short_text() -> None:
    trace = fakes.trace()
    arrays = make_ribbon_payload(trace, Focus(SITE))["arrays"]
    shares = item_shares(trace.maps[SITE], 0, 3)
    for query in (0, 7):
        row = dict(
            zip(
                arrays["item"][3, query].tolist(),
                (arrays["item_weight"][3, query] / 65535.0) ** 2,
                strict=True,
            )
        )
        np.testing.assert_allclose(
            [row[n] for n in range(shares.shape[1])], shares[query], atol=1e-4
        )


@pytest.mark.parametrize("how", HOWS)
def test_every_reading_is_listed_and_printed(how: dict[str, object]) -> None:
    for takeaway, trace in ((RIBBON, fakes.trace()), (GRID, fakes.caption_trace())):
        focus = replace(Focus(SITE, 1, items=(2, 3)), **how)  # type: ignore[arg-type]
        table = takeaway.table(trace, focus)
        assert table.rows and "weight" not in table.columns
        printed = encode_figure(takeaway.print(trace, focus), "svg").decode()
        assert "heaviest" not in printed.split("</metadata>")[-1]


def test_densest_area_in_table_contains_requested_mass() -> None:
    rows = RIBBON.table(fakes.trace(), Focus(SITE, reading="densest", mass=70)).rows
    assert all(float(row[5]) >= 0.6999 for row in rows)
    wide = RIBBON.table(fakes.trace(), Focus(SITE, reading="densest", mass=90)).rows
    assert all(int(two[4]) >= int(one[4]) for one, two in zip(rows, wide, strict=True))
    assert make_grid_payload(fakes.caption_trace(), Focus(SITE))["header"]["masses"] == list(MASSES)
