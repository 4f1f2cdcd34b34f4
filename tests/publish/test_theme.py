"""The colours of a page, and its message where its script does not run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import areaviz
from areaviz.draw.labels import escape_markup
from areaviz.page.body import NO_SCRIPT
from areaviz.page.content import PageOptions, draw_page_substitute
from areaviz.page.page import make_page
from areaviz.trace.errors import InputError
from areaviz.trace.request import Focus
from tests import fakes
from tests.sampled import sampled


@pytest.mark.parametrize(
    ("theme", "rule", "scheme"),
    sampled(
        [
            ("auto", "@media (prefers-color-scheme: dark)", "color-scheme: light dark"),
            ("light", "@media not all", "color-scheme: light;"),
            ("dark", "@media all", "color-scheme: dark;"),
        ],
        ("dark", "@media all", "color-scheme: dark;"),
        many=True,
    ),
)
def test_page_has_requested_colours(theme: Any, rule: str, scheme: str, tmp_path: Path) -> None:
    trace = fakes.trace(layers=1, heads=1)
    file = areaviz.export(trace, tmp_path / "a.html", theme=theme)
    for found in (file.read_text(encoding="utf-8"), areaviz.show(trace, theme=theme).html):
        assert rule in found and scheme in found
        assert ("prefers-color-scheme" in found) == (theme == "auto")
    assert PageOptions(theme=theme).checked().theme == theme


def test_unknown_theme_is_refused() -> None:
    wrong: Any = "sepia"
    with pytest.raises(
        InputError, match='Theme "sepia" does not exist. Choose one of auto, light, dark'
    ):
        make_page(fakes.trace(layers=1, heads=1), options=PageOptions(theme=wrong))


def test_page_states_requirements_until_its_script_runs() -> None:
    """Check the message without `noscript`, which a policy that forbids scripts does not show."""
    found = make_page(fakes.trace(layers=1, heads=1))
    body = found[found.index("<body") :]
    assert escape_markup(NO_SCRIPT) in body and "noscript" not in found
    assert (
        body.index(escape_markup(NO_SCRIPT)) < body.index("<svg") < body.index("'without-script'")
    )


def test_large_picture_is_left_out_of_a_small_page() -> None:
    trace = fakes.trace(layers=1, heads=1)
    focus = Focus("encoder-decoder", items=(1,))
    drawn = draw_page_substitute(trace, focus, 2**20)
    assert drawn.startswith("<svg") and drawn == draw_page_substitute(trace, focus, 8 * len(drawn))
    assert not draw_page_substitute(trace, focus, 8 * len(drawn) - 1)
