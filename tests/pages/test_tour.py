"""The guided tour on the pages: the step that an address opens, and the data of its bar."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app.examples import SAMPLES
from areaviz.learn.tour import (
    LAST_STEP,
    MISSING_STEP,
    NEXT_LINKS,
    build_addresses,
    build_area_step,
    build_opening_step,
)
from areaviz.samples.paths import HERO
from areaviz.trace import file
from tests.pages import folder
from tests.pages.conftest import Open
from tests.sampled import sampled
from tests.ui.tour.test_steps import stored


def bar(app: AppTest) -> dict[str, Any] | None:
    """Return the data of the tour's bar, None without a bar."""
    for one in app.get("bidi_component"):
        if one.proto.component_name == "areaviz.tour":
            sent: dict[str, Any] = json.loads(one.proto.json)
            return sent
    return None


def test_first_step_is_on_home_and_leads_to_second(open_page: Open) -> None:
    app = open_page("home", tour="1")
    assert not app.exception and not app.error
    sent, trace = bar(app), file.load(HERO)
    assert sent is not None and sent["says"] == build_opening_step(trace).says
    assert (sent["number"], sent["count"], sent["back"]) == (1, 5, "")
    assert sent["next"] == build_addresses(trace)[1] and sent["act"] is None


def test_step_describes_the_shown_sentence(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AREAVIZ_BACKEND", "local")
    app = open_page("translate", text=SAMPLES[0], tour="2")
    assert not app.exception and not app.error
    sent = bar(app)
    assert (
        sent is not None and sent["says"] == build_area_step(stored("token-boundary", "dog")).says
    )
    assert app.query_params["tour"] == "2"


def test_step_that_does_not_fit_input_can_be_skipped(open_page: Open) -> None:
    sent = bar(open_page("translate", text=folder.TEXT, tour="2"))
    assert sent is not None and sent["says"] == MISSING_STEP.says and sent["next"]


@pytest.mark.parametrize(
    ("page", "step"),
    sampled([("translate", "4"), ("home", "5"), ("models", "2")], ("translate", "4"), many=True),
)
def test_step_without_model_can_be_skipped(open_page: Open, page: str, step: str) -> None:
    sent = bar(open_page(page, tour=step))
    assert sent is not None and sent["says"] == MISSING_STEP.says and sent["next"]


def test_end_offers_three_links(open_page: Open) -> None:
    sent = bar(open_page("home", tour="end"))
    assert sent is not None and sent["says"] == LAST_STEP.says and sent["next"] == ""
    assert sent["ways"] == [list(way) for way in NEXT_LINKS] and len(NEXT_LINKS) == 3


@pytest.mark.parametrize("value", sampled(["", "0", "6", "x", "1 "], "0", "6"))
def test_invalid_step_opens_no_tour(open_page: Open, value: str) -> None:
    app = open_page("home", tour=value)
    assert not app.exception and bar(app) is None


@pytest.mark.long
def test_every_page_links_to_the_tour(open_page: Open) -> None:
    for page in ("home", "translate", "models", "analyse"):
        links = {one.proto.label: one.proto for one in open_page(page).get("page_link")}
        assert links["90-second tour"].query_string == "tour=1"
