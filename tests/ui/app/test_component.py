"""Arguments that Streamlit gets for a component."""

from __future__ import annotations

from typing import Any

import pytest
import streamlit as st

from areaviz.app import components
from areaviz.views.parts import read_parts


def test_component_module_exports_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, Any] = {}
    monkeypatch.setattr(
        st.components.v2, "component", lambda name, **given: told.update(given, name=name)
    )
    components.register_component.__wrapped__("grid", "en")
    made = read_parts("grid")
    assert told == {"name": "areaviz.grid", "html": made.html, "css": made.css, "js": told["js"]}
    assert told["js"].startswith(made.js) and told["js"].rstrip().endswith("export default mount;")
