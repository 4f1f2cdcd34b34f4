"""The rest of areaviz works without the rooms `lab` and `sets`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.core_alone import ROOMS, ROOT


@pytest.mark.parametrize("room", ROOMS)
def test_room_has_modules(room: str) -> None:
    assert list(ROOT.joinpath(*room.split(".")).glob("*.py"))


@pytest.mark.parametrize("part", ["modules", "pages"])
def test_part_works_without_the_rooms(part: str) -> None:
    command = [sys.executable, "-m", "tests.core_alone", part]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
