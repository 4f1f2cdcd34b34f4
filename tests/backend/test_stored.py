"""Stored traces: recorded in a folder, and answered from it unless the model has changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from areaviz.backend.backend import OWN_WORK, Caller, RecordingBackend, StoredBackend, find_path
from areaviz.cards.card import Card
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request
from tests import fakes
from tests.pages import folder


class Counting(fakes.FakeBackend):
    """A backend that answers with made-up traces and counts them."""

    def __init__(self, card: Card) -> None:
        super().__init__({card.name: card})
        self.asked = 0

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        self.asked += 1
        return folder.trace(request)


def change(backend: Counting, **changes: Any) -> None:
    """Replace the only card."""
    [card] = backend.cards.values()
    backend.cards[card.name] = replace(card, **changes)


REQUEST = Request("char-area", folder.TEXT)


@pytest.fixture
def inner() -> Counting:
    return Counting(folder.card("char-area", "area"))


def test_recorded_request_is_answered_without_the_model(inner: Counting, tmp_path: Path) -> None:
    recording = RecordingBackend(inner, tmp_path)
    first = recording.trace(REQUEST)
    assert recording.written == [find_path(tmp_path, REQUEST, inner.models())]
    again = StoredBackend(inner, tmp_path).trace(REQUEST)
    assert inner.asked == 1 and again.request == REQUEST
    assert again.fields["target"].raw == first.fields["target"].raw


def test_unstored_requests_and_retrained_models_run(inner: Counting, tmp_path: Path) -> None:
    RecordingBackend(inner, tmp_path).trace(REQUEST)
    stored = StoredBackend(inner, tmp_path)
    stored.trace(replace(REQUEST, area_size=1))
    change(inner, code_version="newer")
    stored.trace(REQUEST)
    assert inner.asked == 3


def test_new_weights_run_and_new_figures_do_not(inner: Counting, tmp_path: Path) -> None:
    change(inner, files={"model.safetensors": "1" * 64})
    RecordingBackend(inner, tmp_path).trace(REQUEST)
    stored = StoredBackend(inner, tmp_path)
    change(inner, figures={"test": {"bleu": 1.0}})
    stored.trace(REQUEST)
    assert inner.asked == 1
    change(inner, files={"model.safetensors": "2" * 64})
    stored.trace(REQUEST)
    assert inner.asked == 2


def test_damaged_file_is_skipped_and_logged(
    inner: Counting, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = find_path(tmp_path, REQUEST, inner.models())
    path.write_bytes(b"damaged")
    assert StoredBackend(inner, tmp_path).trace(REQUEST).request == REQUEST
    assert inner.asked == 1 and path.name in caplog.text
