"""Code of a model's folder ends after its time, however it is written."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from areaviz.adapters import folder_sight
from areaviz.adapters.folder_sight import _prompt
from areaviz.adapters.time_limit import run_within
from areaviz.trace.errors import InputError

LOOPS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


def limited_threads() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "areaviz-limited"]


def endless() -> None:
    while True:
        try:
            pass
        except Exception:  # as a parser may do
            continue


def test_run_within_returns_results_and_raises_errors() -> None:
    assert run_within(5, "The work", lambda: 7) == 7
    with pytest.raises(KeyError, match="x"):
        run_within(5, "The work", lambda: dict[str, int]()["x"])


def test_run_within_ends_endless_work() -> None:
    with pytest.raises(InputError, match="The work takes longer than 0.05 seconds"):
        run_within(0.05, "The work", endless)
    for thread in limited_threads():
        thread.join(10)
    assert limited_threads() == []


def test_chat_template_with_endless_loops_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_sight, "TEMPLATE_SECONDS", 0.05)
    template = ImmutableSandboxedEnvironment().from_string(LOOPS)
    processor = SimpleNamespace(
        chat_template=LOOPS, apply_chat_template=lambda talk, **_: template.render(messages=talk)
    )
    with pytest.raises(InputError, match="chat template takes longer"):
        _prompt(processor, "What is this?")


def test_chat_template_with_an_endless_text_is_refused() -> None:
    processor = SimpleNamespace(
        chat_template="long", apply_chat_template=lambda talk, **_: "x" * 200_000
    )
    with pytest.raises(InputError, match="has 200,000 characters"):
        _prompt(processor, "What is this?")
