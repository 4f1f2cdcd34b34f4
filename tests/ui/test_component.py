"""Every file of the browser side: which component it belongs to, and what none of them may do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from areaviz.ui import component
from areaviz.ui.grid import component as grid
from areaviz.ui.player import component as player
from areaviz.ui.ribbon import component as ribbon
from areaviz.ui.thumbnails import component as thumbnails
from areaviz.ui.window import component as window

FOLDER = Path(component.__file__).parent
COMPONENTS = (grid.FILES, player.FILES, ribbon.FILES, thumbnails.PASTE, thumbnails.THUMBNAILS, window.FILES)
THERE = sorted(str(path.relative_to(FOLDER)) for kind in ("html", "css", "js") for path in FOLDER.rglob(f"*.{kind}"))


def test_every_file_belongs_to_a_component() -> None:
    assert {"component.css", *(path for files in COMPONENTS for path in files)} == set(THERE)


@pytest.mark.parametrize("path", THERE)
def test_the_browser_side_sets_text_and_never_markup(path: str) -> None:
    text = (FOLDER / path).read_text("utf-8")
    assert text
    assert not any(word in text for word in ("innerHTML", "insertAdjacentHTML", "document.write", "http:", "https:"))


def test_files_of_one_kind_are_joined_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, Any] = {}
    monkeypatch.setattr(st.components.v2, "component", lambda name, **given: told.update(given, name=name))
    component.component.__wrapped__("grid", *grid.FILES)
    read = {path: (FOLDER / path).read_text("utf-8") for path in ("component.css", *grid.FILES)}
    assert told == {
        "name": "areaviz.grid",
        "html": read["grid/grid.html"],
        "css": "\n".join(read[path] for path in ("component.css", "ribbon/ribbon.css", "grid/grid.css")),
        "js": "\n".join(text for path, text in read.items() if path.endswith(".js")),
    }
