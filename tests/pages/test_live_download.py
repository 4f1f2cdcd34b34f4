"""Download offers a live page of a model that the engine runs, and says why where it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from areaviz.app.files import CHANGED_REFUSAL, build_live_html, explain_live_refusal
from areaviz.samples.paths import HERO, OPENINGS
from areaviz.trace import file
from areaviz.trace.changes import Weigh
from areaviz.trace.record import Trace
from areaviz.views.message import choose_first_focus


def named(name: str) -> Trace:
    trace = file.load(HERO)
    return replace(trace, request=replace(trace.request, model=name))


def test_live_html_contains_model_and_opens_with_run() -> None:
    trace = file.load(HERO)
    assert explain_live_refusal(trace) == ""
    html = build_live_html(trace, choose_first_focus(trace)).decode()
    assert 'id="weights"' in html and trace.request.text in html


@pytest.mark.parametrize("name", ["", "nobody", "../checkpoints/token-boundary"])
def test_live_refusal_reports_missing_files(name: str) -> None:
    assert "does not have the files" in explain_live_refusal(named(name))


def test_live_refusal_names_unsupported_parts_and_changed_runs() -> None:
    assert "cannot run in a page" in explain_live_refusal(named("speech-hybrid"))
    trace = file.load(HERO)
    changes = (Weigh("encoder-decoder", (1,)),)
    assert (
        explain_live_refusal(replace(trace, request=replace(trace.request, changes=changes)))
        == CHANGED_REFUSAL
    )


def test_every_stored_opening_has_a_live_page_or_a_reason() -> None:
    reasons = {explain_live_refusal(file.load(path)) == "" for path in OPENINGS.glob("*.npz")}
    assert reasons == {True, False}
