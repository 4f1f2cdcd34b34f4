"""Four ways to look: one picture, four models, glimpse by glimpse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app import result
from areaviz.app.four_ways import MECHANISMS, PICTURE_KINDS, WHAT_DIFFERS, list_digit_models
from areaviz.app.page import COSTS, KINDS, VIEW
from areaviz.backend.backend import Backend
from areaviz.samples.own_media import list_picture_names
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from tests import fakes
from tests.messages import header_of
from tests.models.test_digit_reader import reader
from tests.pages.conftest import Open, shown, with_tab
from tests.pages.pictured import Pictured

Use = Callable[[Backend], None]


def looks_sent(app: AppTest) -> list[dict[str, Any]]:
    """Return the data that the pictures of the page got."""
    found = app.get("bidi_component")
    return [
        header_of(one.proto.bytes) for one in found if one.proto.component_name.endswith("looks")
    ]


class PairReaders(fakes.FakeBackend):
    """A backend of two untrained networks: glimpses, and a spatial transformer of two glimpses."""

    def __init__(self, path: Path) -> None:
        self.runs = {}
        mechanisms = {"dram": "location-wise hard", "rnn-stn": "location-wise soft"}
        for name, mechanism in mechanisms.items():
            (path / name).mkdir()
            run = reader(name, path / name)
            card = replace(run.card, mechanism=mechanism, name=name)
            self.runs[name] = replace(run, card=card)
        super().__init__({name: run.card for name, run in self.runs.items()})

    def trace(self, request: Request, *_: object, **__: object) -> Trace:
        return self.runs[request.model].trace([request])[0]


@pytest.mark.long
def test_glimpses_and_transformer_read_pairs_step_by_step(
    open_page: Open, use_backend: Use, tmp_path: Path
) -> None:
    use_backend(PairReaders(tmp_path))
    app = open_page("four_ways", reading="location-wise soft")
    assert not app.exception and not app.error
    (sent,) = looks_sent(app)
    assert [len(reader["answer"]) for reader in sent["readers"]] == [2, 2]
    assert "A frame is what was read" in shown(app) and "soft attention read" not in shown(app)
    assert sent["items"] == [0] and "cut out, look 1 of 2" in shown(app)
    app = open_page("four_ways", reading="location-wise soft", look="2", picture="pair-27")
    assert not app.exception and not app.error
    assert looks_sent(app)[0]["items"] == [1] and "cut out, look 2 of 2" in shown(app)


def test_translated_digits_have_their_own_samples() -> None:
    assert PICTURE_KINDS["translated"].first in list_picture_names(
        PICTURE_KINDS["translated"].samples
    )


def test_all_mechanisms_read_one_picture(open_page: Open, use_backend: Use) -> None:
    backend = Pictured()
    use_backend(backend)
    app = open_page("four_ways")
    assert not app.exception and not app.error
    assert [request.model for request in backend.asked] == [
        way.mechanism.replace(" ", "-") for way in MECHANISMS
    ]
    assert len({request.picture for request in backend.asked}) == 1
    assert [reader["title"] for reader in looks_sent(app)[0]["readers"]] == [
        way.title for way in MECHANISMS
    ]
    assert "Bright is what soft attention read. A frame is" in shown(app)
    assert not app.table, "tabs are drawn when they are opened"
    with_tab(app, COSTS)
    assert not app.exception and not app.error
    assert "4.56%" in list(app.table[0].value["Error on held-out pictures"])


def test_page_opens_at_the_first_look(open_page: Open, use_backend: Use) -> None:
    use_backend(Pictured())
    (sent,) = looks_sent(open_page("four_ways"))
    assert sent["items"] == [0] and sent["digits"] == "3"
    assert [len(reader["pictures"]) for reader in sent["readers"]] == [3, 3, 3, 1]
    assert sent["readers"][0]["labels"] == ["3", "3", "8"]
    (last,) = looks_sent(open_page("four_ways", look="9"))
    assert last["items"] == [2]


def test_average_of_all_looks_can_be_subtracted(open_page: Open, use_backend: Use) -> None:
    use_backend(Pictured())
    app = open_page("four_ways")
    before = looks_sent(app)[0]
    app.toggle(key="four_ways_is_against").set_value(True).run()
    after = looks_sent(app)[0]
    assert not app.exception and before["id"] != after["id"]
    changed = [
        one["pictures"] != other["pictures"]
        for one, other in zip(before["readers"], after["readers"], strict=True)
    ]
    assert changed == [True, True, False, False]


@pytest.mark.long
def test_random_choices_run_only_hard_models(open_page: Open, use_backend: Use) -> None:
    backend = Pictured()
    use_backend(backend)
    app = open_page("four_ways")
    again = next(button for button in app.button if button.label == "Try another random run")
    assert again.disabled and not any(request.sample for request in backend.asked)
    backend.asked.clear()
    app.toggle(key="four_ways_sample").set_value(True).run()
    hard = [way.mechanism.replace(" ", "-") for way in MECHANISMS if way.is_hard]
    assert [(one.model, one.sample) for one in backend.asked] == [(name, True) for name in hard]
    assert app.query_params["sample"] in ("1", ["1"])
    first = backend.asked[-1]
    next(button for button in app.button if button.label == "Try another random run").click().run()
    assert [one.seed for one in backend.asked] == [0, 0, first.seed + 1, first.seed + 1]
    assert app.query_params["seed"] == str(first.seed + 1)
    again_opened = open_page("four_ways", **dict(app.query_params))
    assert again_opened.toggle(key="four_ways_sample").value
    assert again_opened.query_params == app.query_params


def test_picture_kind_can_be_chosen_if_models_exist(open_page: Open, use_backend: Use) -> None:
    backend = Pictured()
    backend.cards["pairs"] = replace(
        backend.cards["location-wise-hard"], name="pairs", config={"kind": "pairs"}
    )
    use_backend(backend)
    app = open_page("four_ways")
    assert "A digit alone" not in app.selectbox(key="four_ways_kind").options
    app.selectbox(key="four_ways_kind").set_value("pairs").run()
    assert not app.exception and not app.error
    assert backend.asked[-1].model == "pairs" and app.query_params["picture"] == "pair-27"


def test_link_to_pair_opens_models_of_pairs(open_page: Open, use_backend: Use) -> None:
    backend = Pictured()
    backend.cards["pairs"] = replace(
        backend.cards["location-wise-hard"], name="pairs", config={"kind": "pairs"}
    )
    use_backend(backend)
    app = open_page("four_ways", model="pairs", picture="pair-60")
    assert not app.exception and not app.error
    assert [(one.model, one.picture.name) for one in backend.asked if one.picture] == [
        ("pairs", "pair-60")
    ]


def test_mechanism_without_model_is_reported(open_page: Open, use_backend: Use) -> None:
    backend = Pictured()
    del backend.cards["item-wise-hard"]
    use_backend(backend)
    app = open_page("four_ways")
    assert not app.exception and "by these ways: item-wise hard." in shown(app)
    readers = list_digit_models(backend.models(), "cluttered")
    assert [one.way for one in readers] == [
        way for way in MECHANISMS if way.mechanism != "item-wise hard"
    ]


def test_models_of_one_mechanism_have_own_titles(open_page: Open, use_backend: Use) -> None:
    backend = Pictured()
    card = backend.cards["location-wise-hard"]
    backend.cards["other"] = replace(card, name="other", title="Glimpses, one layer")
    backend.cards["twin"] = replace(card, name="twin", title="Glimpses, one layer")
    use_backend(backend)
    app = open_page("four_ways", reading="other")
    assert not app.exception and not app.error
    titles = [
        card.title,
        "Glimpses, one layer",
        "Glimpses, one layer (2)",
        "Cut out and straighten",
    ]
    assert {*titles} <= {reader["title"] for reader in looks_sent(app)[0]["readers"]}
    assert app.segmented_control(key="four_ways_reading").value == "other"
    with_tab(app, COSTS)
    assert len(app.table[0].value) == len(MECHANISMS) + 2


def test_link_restores_look_reading_and_sample(open_page: Open, use_backend: Use) -> None:
    use_backend(Pictured())
    params = {
        "picture": "digit-5",
        "look": "2",
        "reading": "location-wise soft",
        "row": "2",
        "column": "999",
    }
    app = open_page("four_ways", **params)
    assert not app.exception and not app.error
    assert (
        looks_sent(app)[0]["items"] == [1]
        and app.segmented_control(key="four_ways_reading").value == "location-wise-soft"
    )
    assert (
        app.slider(key="four_ways_row").value == 2
        and app.slider(key="four_ways_column").value == app.slider(key="four_ways_column").max
    )
    app.slider(key="four_ways_row").set_value(1).run()
    assert [app.query_params[name] for name in ("look", "reading", "row")] == [
        "2",
        "location-wise-soft",
        "1",
    ]


@pytest.mark.parametrize("site", ["glimpses", "transformer"])
def test_stored_trace_of_glimpses_can_be_opened(
    site: str, open_page: Open, use_backend: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_backend(Pictured())
    trace = fakes.gaze_trace(site, steps=1, scales=1)
    monkeypatch.setattr(result, "open_stored_trace", lambda: trace)
    app = open_page("four_ways")
    assert not app.exception and not app.error
    assert f"Stored trace of {trace.request.model}" in shown(app) and app.get("plotly_chart")


def test_four_kinds_are_a_tab(open_page: Open, use_backend: Use) -> None:
    use_backend(Pictured())
    app = open_page("four_ways")
    assert WHAT_DIFFERS not in shown(app)
    with_tab(app, KINDS)
    assert not app.exception and WHAT_DIFFERS in shown(app)


def test_link_names_the_reading_while_its_tab_is_open(open_page: Open, use_backend: Use) -> None:
    use_backend(Pictured())
    app = open_page("four_ways")
    assert "reading" not in app.query_params and app.query_params["look"] in ("1", ["1"])
    with_tab(app, VIEW)
    assert app.query_params["reading"] in ("item-wise-soft", ["item-wise-soft"])
