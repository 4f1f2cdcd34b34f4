"""Shared parts of the tests of Analyse: the page's table of examples, and opened examples."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pandas as pd
from streamlit.testing.v1 import AppTest

from areaviz.backend.backend import OWN_WORK, Caller
from areaviz.sets.app.examples import TABLE_KEY
from areaviz.sets.app.runs import get_jobs
from areaviz.sets.app.state import AnalyseState
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request
from tests import fakes
from tests.pages import folder


class Translating(fakes.FakeBackend):
    """A backend that returns made-up translations, after a call of `before` on each request."""

    def __init__(self, before: Callable[[Request], None] = lambda _: None) -> None:
        super().__init__(
            {name: folder.card(name, name.partition("-")[2]) for name in folder.GERMAN}
        )
        self.before, self.asked = before, 0

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        self.asked += 1
        self.before(request)
        return folder.trace(request)


def tables(app: AppTest) -> dict[str, dict[str, Any]]:
    """Return the data of the page's tables of rows, by their keys."""
    found = {}
    for one in app.get("bidi_component"):
        if one.proto.component_name == "areaviz.rows":
            found[one.proto.id.split("-", 2)[-1]] = json.loads(one.proto.json)
    return found


def listed(app: AppTest) -> pd.DataFrame:
    """Return the visible table of examples, indexed by place in the set, or an empty table."""
    sent = tables(app).get(TABLE_KEY)
    if sent is None:
        return pd.DataFrame()
    heads = [column["title"] for column in sent["columns"]]
    return pd.DataFrame(sent["rows"], columns=heads, index=sent["ids"], dtype=object)


def state_of(app: AppTest) -> AnalyseState:
    state: AnalyseState = app.session_state["analyse"]
    return state


def hold(app: AppTest, **fields: Any) -> AppTest:
    """Set values of the page's state, and run the page."""
    app.session_state["analyse"] = replace(state_of(app), **fields)
    return app.run()


def opened_first(app: AppTest) -> AppTest:
    return hold(app, example=int(listed(app).index[0]))


def uploading(app: AppTest) -> AppTest:
    """Open the page with its uploader."""
    return app.button_group(key="analyse_source").set_value("Upload").run()


def button(app: AppTest, beginning: str) -> Any:
    return next(one for one in app.button if one.label.startswith(beginning))


def worked(app: AppTest) -> AppTest:
    """Wait until all analyses have ended, and run the page."""
    for job in list(get_jobs()._jobs.values()):
        job.wait()
    return app.run()


def ran(app: AppTest) -> AppTest:
    """Press the page's button, wait until the work has ended, and run the page."""
    button(app, "Run").click().run()
    return worked(app)


def keyed(elements: Iterable[Any], beginning: str) -> Any:
    return next(one for one in elements if str(one.key).startswith(beginning))


def write(app: AppTest, tag: str, text: str) -> AppTest:
    """Write a note on the open example, and return the page."""
    keyed(app.selectbox, "note_form_tag").set_value(tag)
    keyed(app.text_area, "note_form_text").set_value(text)
    return (
        next(one for one in app.button if one.label in ("Save the note", "Save the change"))
        .click()
        .run()
    )
