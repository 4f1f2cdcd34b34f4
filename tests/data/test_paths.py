"""One module knows every location, all locations exist, and the corpora's folder is a setting."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from areaviz.samples import paths
from areaviz.samples.paths import (
    CHECKPOINTS,
    CHECKPOINTS_SETTING,
    DATA_SETTING,
    ROOT,
    find_checkpoints_folder,
    find_data_folder,
)


@pytest.mark.parametrize(
    ("value", "folder"),
    [
        ("/corpora", Path("/corpora")),
        ("~/corpora", Path.home() / "corpora"),
        ("", Path("data")),
        (None, Path("data")),
    ],
)
def test_environment_sets_the_data_folder(
    value: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DATA_SETTING, raising=False)
    if value is not None:
        monkeypatch.setenv(DATA_SETTING, value)
    assert find_data_folder() == folder


def test_environment_sets_the_models_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, folder in (
        ("/models", Path("/models")),
        ("~/models", Path.home() / "models"),
        ("", CHECKPOINTS),
    ):
        monkeypatch.setenv(CHECKPOINTS_SETTING, value)
        assert find_checkpoints_folder() == folder


def test_every_place_exists() -> None:
    named = {name: place for name, place in vars(paths).items() if isinstance(place, Path)}
    assert {"ROOT", "APP", "PAGES", "CONFIGURATION", "CHECKPOINTS", "ASSETS"} <= named.keys()
    of_a_wheel = {"BUNDLE", "MODEL_DIGESTS"}
    assert {name for name, place in named.items() if not place.exists()} == of_a_wheel


def test_no_other_module_leaves_the_package_folder() -> None:
    climbs = re.compile(r"__file__.*(\.parents\[|\.parent\.parent)")
    sources = [
        *(ROOT / "areaviz").rglob("*.py"),
        *(ROOT / "examples").glob("*.py"),
        *(ROOT / "pages").glob("*.py"),
    ]
    found = [
        str(path.relative_to(ROOT)) for path in sources if climbs.search(path.read_text("utf-8"))
    ]
    # Entry points of a clone are in its pyproject.toml.
    assert found == ["areaviz/extensions.py", "areaviz/samples/paths.py"]
