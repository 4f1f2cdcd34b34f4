"""Analyse: running a set, stopping it, what is shown of it, and opening an example."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.backend.base import Backend, Progress
from areaviz.trace.card import Card
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui import analyse
from areaviz.ui.analysis_filter import SEARCH
from areaviz.ui.analysis_table import OPENED, ORDERED
from areaviz.ui.jobs import jobs
from tests.pages import folder
from tests.pages.conftest import Open, shown

Use = Callable[[Backend], None]
COUNT = 24
"""Sentences of the first sample set."""


class Translating:
    """Answers with made-up translations; does what `before` does with each request first."""

    def __init__(self, before: Callable[[Request], None] = lambda _: None) -> None:
        self.before, self.asked = before, 0

    def models(self) -> dict[str, Card]:
        return {name: folder.card(name, name.partition("-")[2]) for name in folder.GERMAN}

    def problems(self) -> tuple[str, ...]:
        return ()

    def device(self) -> str:
        return "nowhere"

    def trace(self, request: Request, progress: Progress | None = None) -> Trace:
        self.asked += 1
        self.before(request)
        return folder.trace(request)


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(analyse.SETTING, str(tmp_path / "rows"))
    return tmp_path / "rows"


def button(app: AppTest, beginning: str) -> object:
    return next(one for one in app.button if one.label.startswith(beginning))


def ran(app: AppTest) -> AppTest:
    """The page after its button was pressed and the work has ended."""
    button(app, "Run").click().run()
    for job in list(jobs()._jobs.values()):
        job.wait(60)
    return app.run()


def test_a_set_is_run_and_shown(open_page: Open, use_backend: Use, rows: Path) -> None:
    use_backend(Translating())
    app = open_page("analyse")
    assert not app.exception and f"{COUNT} examples, {COUNT} with references" in shown(app)
    assert not app.dataframe and not rows.exists()
    ran(app)
    assert not app.exception and not app.error
    assert len(app.dataframe[0].value) == COUNT and len(list(rows.glob("*.jsonl"))) == 1
    assert {"Source", "Output", "Reference", "BLEU", "Confidence"} <= set(app.dataframe[0].value.columns)
    assert not any(one.label.startswith(("Run", "Go on")) for one in app.button)


def test_rows_of_another_version_are_left_alone(
    open_page: Open, use_backend: Use, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_backend(Translating())
    ran(open_page("analyse"))
    (older,) = rows.glob("*.jsonl")
    monkeypatch.setattr(analyse, "VERSION", 999)
    app = open_page("analyse")
    assert not app.exception and not app.error and any(one.label == f"Run {COUNT} examples" for one in app.button)
    assert list(rows.glob("*.jsonl")) == [older]


def test_two_models_stand_side_by_side(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = open_page("analyse")
    app.selectbox(key="analyse_compare").set_value("char-regular").run()
    ran(app)
    assert not app.exception and not app.error
    columns = set(app.dataframe[0].value.columns)
    assert {"Output (1)", "Output (2)", "BLEU (1)", "BLEU (2)", "BLEU, change"} <= columns


def test_a_model_that_runs_already_is_told_and_not_run_twice(open_page: Open, use_backend: Use, rows: Path) -> None:
    gate = threading.Event()

    def hold(_: Request) -> None:
        gate.wait(60)

    backend = Translating(hold)
    use_backend(backend)
    alone, pair = open_page("analyse"), open_page("analyse")
    button(alone, "Run").click().run()
    pair.selectbox(key="analyse_compare").set_value("char-regular").run()
    button(pair, "Run").click().run()
    for job in list(jobs()._jobs.values())[1:]:
        job.wait(60)
    assert "This analysis is running already" in pair.run().error[0].value
    gate.set()
    for job in list(jobs()._jobs.values()):
        job.wait(60)
    assert backend.asked == COUNT
    button(pair.run(), f"Go on with the other {COUNT}").click().run()
    for job in list(jobs()._jobs.values()):
        job.wait(60)
    assert backend.asked == 2 * COUNT and not pair.run().error
    assert all(len(path.read_text().splitlines()) == 1 + COUNT for path in rows.glob("*.jsonl"))


def test_stopped_it_goes_on_where_it_was(open_page: Open, use_backend: Use) -> None:
    gate = threading.Event()

    def hold(request: Request) -> None:
        if "dog runs" not in request.text:
            gate.wait(60)

    backend = Translating(hold)
    use_backend(backend)
    app = open_page("analyse")
    button(app, "Run").click().run()
    stop = button(app, "Stop")
    threading.Timer(0.2, gate.set).start()
    stop.click().run()
    for job in list(jobs()._jobs.values()):
        job.wait(60)
    app.run()
    done = backend.asked
    assert 0 < done < COUNT
    button(app, "Go on with the other").click().run()
    for job in list(jobs()._jobs.values()):
        job.wait(60)
    app.run()
    assert len(app.dataframe[0].value) == COUNT and backend.asked == COUNT


def test_a_model_that_fails_is_told_and_rows_are_kept(open_page: Open, use_backend: Use) -> None:
    def fail(request: Request) -> None:
        if request.text.startswith("A brown horse"):
            raise BackendError("The device is gone; try again.")

    use_backend(Translating(fail))
    app = ran(open_page("analyse"))
    assert not app.exception and "The device is gone" in app.error[0].value
    assert any(one.label.startswith("Go on") for one in app.button)


def test_an_example_that_cannot_be_run_has_its_reason_in_the_table(open_page: Open, use_backend: Use) -> None:
    def refuse(request: Request) -> None:
        if "beach" in request.text:
            raise InputError("Too long; shorten it.")

    use_backend(Translating(refuse))
    app = ran(open_page("analyse"))
    assert list(app.dataframe[0].value["Not run"]).count("Too long; shorten it.") == 1


def test_a_search_leaves_what_it_finds(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = ran(open_page("analyse"))
    app.text_input(key=SEARCH).set_value("BEACH").run()
    assert len(app.dataframe[0].value) == 1
    app.text_input(key=SEARCH).set_value("[").run()
    assert not app.exception and "0 examples" in shown(app)


def test_an_example_is_opened_and_left_for_the_next(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = ran(open_page("analyse"))
    order = app.session_state[ORDERED]
    app.session_state[OPENED] = order[0]
    app.run()
    assert not app.exception and f"1 of {COUNT}" in shown(app) and "Reference: " in shown(app)
    assert button(app, "Previous").disabled
    button(app, "Next").click().run()
    assert app.session_state[OPENED] == order[1] and f"2 of {COUNT}" in shown(app)
