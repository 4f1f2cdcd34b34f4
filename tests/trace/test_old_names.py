"""Names that extensions import keep working for one release after a rename."""

from __future__ import annotations

import pytest

from areaviz.draw import view
from areaviz.old_names import old_names


def test_old_name_warns_and_gives_the_new_object() -> None:
    name = "caption"
    with pytest.warns(DeprecationWarning, match="is now called figure_caption"):
        assert getattr(view, name) is view.figure_caption


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'captain'"):
        old_names("areaviz.draw.view", {"caption": "figure_caption"})("captain")
