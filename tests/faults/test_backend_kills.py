"""A short run of the kills of the model's thread."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.faults.backend_kills import KINDS, backend_kills
from tests.tiny import checkpoint


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_every_kill_has_a_name_and_the_next_request_works(tmp_path: Path) -> None:
    checkpoint(tmp_path)
    # Other programs of the machine delay an answer, but use no processor time of this process.
    found = backend_kills(tmp_path, "tiny-area", len(KINDS), time.process_time, patience=None)
    assert (found.unnamed, found.wrong, found.stuck) == (0, 0, 0), str(found)
    assert found.named == len(KINDS) - 1 and found.slowest < 2, str(found)
