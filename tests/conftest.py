"""What the whole suite shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A slow machine makes no example wrong; CI tries the same examples every time.
settings.register_profile("areaviz", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("areaviz")


@pytest.fixture(scope="session")
def marian_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small translator as a folder of `transformers`; it is trained once a session."""
    # Here, so that nobody else waits for torch.
    from tests import marian

    return marian.folder(tmp_path_factory.mktemp("models") / "small-marian")
