"""A sample of the comparison of live pages with Python; benchmarks/live_pages.py has all of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from benchmarks.live_pages import Options, measured
from tests.sampled import sampled

pytestmark = pytest.mark.browser
LARGEST = 1e-5


@pytest.mark.parametrize(
    ("name", "inputs"),
    sampled(
        [
            ("pointer-tour", 10),
            ("scene-captions-boundary", 6),
            ("items-soft", 4),
            ("items-hard", 4),
            ("ram-pairs", 6),
            ("stn-cluttered", 6),
        ],
        ("pointer-tour", 10),
        many=True,
    ),
)
def test_live_pages_match_python_results(
    chromium: Browser, tmp_path: Path, name: str, inputs: int
) -> None:
    found = measured(name, chromium, tmp_path, Options(inputs))
    assert found.equal_traces == len(found.milliseconds) == inputs
    assert max(found.differences) <= LARGEST
    assert found.asked == 0
