"""The app's settings are known to the pinned Streamlit, closed by default, and readable.

Packages are pinned exactly.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit import config

from areaviz.app import files
from areaviz.media import pictures
from areaviz.sets import text_files
from areaviz.sets.notes import exchange
from areaviz.trace.errors import MAX_UPLOAD_MEGABYTES

ROOT = Path(__file__).parents[1]
SETTINGS: dict[str, Any] = tomllib.loads(
    (ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8")
)
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RUN_TIME = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
SECONDARY = 0.6
"""The opacity with which Streamlit draws captions."""


def options(table: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in table.items():
        yield from (
            options(value, f"{prefix}{name}.") if isinstance(value, dict) else [prefix + name]
        )


def luminance(colour: tuple[float, ...]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def rgb(code: str) -> tuple[float, ...]:
    return tuple(int(code[i : i + 2], 16) / 255 for i in (1, 3, 5))


def contrast(text: str, background: str, opacity: float = 1.0) -> float:
    """Return the contrast ratio of WCAG 2.2, from 1 to 21."""
    paper = rgb(background)
    ink = tuple(opacity * t + (1 - opacity) * p for t, p in zip(rgb(text), paper, strict=True))
    dark, light = sorted((luminance(ink), luminance(paper)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", list(options(SETTINGS)))
def test_streamlit_knows_the_option(name: str) -> None:
    assert name in config.get_config_options()


def test_garbage_collector_stays_off_between_reruns() -> None:
    assert SETTINGS["runner"]["postScriptGC"] is False
    assert config.get_config_options()["runner.postScriptGC"].type is bool


def test_closed_by_default() -> None:
    server = SETTINGS["server"]
    assert server["address"] == "127.0.0.1"
    assert set(server["allowedHosts"]) <= {"localhost", "127.0.0.1", "::1"}
    assert server["enableCORS"] and server["enableXsrfProtection"]
    assert SETTINGS["browser"]["gatherUsageStats"] is False
    assert SETTINGS["client"]["showErrorDetails"] == "none"


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_is_readable(mode: str) -> None:
    theme = SETTINGS["theme"][mode]
    for paper in (theme["backgroundColor"], theme["secondaryBackgroundColor"]):
        assert contrast(theme["textColor"], paper) >= 7
        assert contrast(theme["textColor"], paper, SECONDARY) >= 4.5, "captions"
        assert contrast(theme["linkColor"], paper) >= 4.5
        assert contrast(theme["primaryColor"], paper) >= 3, "borders and marks"
    assert contrast("#FFFFFF", theme["primaryColor"]) >= 4.5, "the text of a primary button"


def test_everything_is_pinned_exactly() -> None:
    """This covers all that `make run` and `make test` install. The extras of a wheel are ranges."""
    pins = [line for line in RUN_TIME if line and not line.startswith("#")]
    pins += PROJECT["dependency-groups"]["dev"]
    pins += PROJECT["build-system"]["requires"]
    assert [
        pin for pin in pins if not re.fullmatch(r"[a-z0-9-]+(\[[a-z,]+\])?==[0-9.]+", pin)
    ] == []
    assert "torch==2.13.0" in pins


def test_upload_limit_is_equal_everywhere() -> None:
    """The uploader and the server must have one limit, because the page shows no error otherwise.

    Streamlit answers 413 to a larger upload, and the page says nothing.
    """
    assert SETTINGS["server"]["maxUploadSize"] == MAX_UPLOAD_MEGABYTES == text_files.MAX_MEGABYTES
    assert (
        max(pictures.MAX_PICTURE_MEGABYTES, exchange.MAX_MEGABYTES, files.MAX_MEGABYTES)
        <= MAX_UPLOAD_MEGABYTES
    )
