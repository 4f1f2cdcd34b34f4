"""The data folder is a setting."""

from __future__ import annotations

from pathlib import Path

import pytest

from areaviz.data.settings import VARIABLE, data_folder


@pytest.mark.parametrize(
    ("value", "folder"),
    [("/corpora", Path("/corpora")), ("~/corpora", Path.home() / "corpora"), ("", Path("data")), (None, Path("data"))],
)
def test_the_environment_decides(value: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    assert data_folder() == folder
