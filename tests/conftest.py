"""Settings and fixtures for the whole test suite."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# One thread a worker, because the workers already use every core. PyTorch reads it when imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Set no deadline: a slow machine does not make an example fail. CI tries identical examples in
# every run.
settings.register_profile("areaviz", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("areaviz")


@pytest.fixture(scope="session")
def marian_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small `transformers` translator, trained once per session."""
    # Import it here, so that tests that do not need torch do not wait for it.
    from tests import marian

    return marian.folder(tmp_path_factory.mktemp("models") / "small-marian")
