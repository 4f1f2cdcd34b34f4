"""The table of shares: its rows, its settings, and its copy in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from areaviz.shares import (
    ADDRESS_FACTOR,
    TABLE,
    UPLOADS_AT_ONCE,
    Limit,
    Scope,
    list_limits,
    render_limits_table,
)
from areaviz.trace.errors import InputError

DOCUMENT = Path(__file__).parents[2] / "docs" / "reliability.md"


@pytest.mark.parametrize("limit", TABLE, ids=lambda limit: limit.name)
def test_row_states_its_limit_and_ends_its_sentences(limit: Limit) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", limit.name)
    assert limit.default > 0
    assert "{limit}" in limit.sentence
    assert limit.sentence.endswith(".")
    assert limit.advice.endswith(".")


def test_table_has_no_name_twice() -> None:
    assert len({limit.name for limit in TABLE}) == len(TABLE)


def test_table_has_every_limit_of_its_module() -> None:
    from areaviz import shares as limits

    assert set(TABLE) == {row for row in vars(limits).values() if isinstance(row, Limit)}


def test_limits_table_is_in_the_documentation() -> None:
    """On failure, put the output of `render_limits_table` into docs/reliability.md."""
    assert render_limits_table() in DOCUMENT.read_text(encoding="utf-8")


def test_setting_overrides_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert UPLOADS_AT_ONCE.value() == UPLOADS_AT_ONCE.default
    monkeypatch.setenv("AREAVIZ_LIMIT_UPLOADS_AT_ONCE", "2.5")
    assert UPLOADS_AT_ONCE.value() == 2.5
    assert list_limits()["uploads_at_once"] == 2.5
    assert "2.5 files" in UPLOADS_AT_ONCE.said()


@pytest.mark.parametrize("given", ["0", "-1", "many", "nan", "inf"])
def test_setting_that_is_not_positive_is_refused(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv(ADDRESS_FACTOR.setting, given)
    with pytest.raises(InputError, match=f'AREAVIZ_LIMIT_ADDRESS_FACTOR is "{given}"'):
        list_limits()


def test_sentence_writes_numbers_in_full() -> None:
    limit = Limit("texts", 1_500_000, Scope.EACH, "A text has {limit} characters.")
    assert limit.said() == "A text has 1,500,000 characters."
