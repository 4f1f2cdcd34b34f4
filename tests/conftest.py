"""Settings and fixtures for the whole test suite."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

# One thread per worker, because the workers already use every core. PyTorch reads it on import.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Set no deadline: a slow machine does not make an example fail. CI tries identical examples in
# every run.
settings.register_profile("areaviz", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("areaviz")


@dataclass(slots=True)
class Lengths:
    """Numbers of long and of quick tests of a file."""

    long: int = 0
    quick: int = 0


LENGTHS = pytest.StashKey[Mapping[str, Lengths]]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Count the long and the quick tests of each file, before any are left out."""
    counted: dict[str, Lengths] = {}
    for item in items:
        found = counted.setdefault(item.path.relative_to(config.rootpath).as_posix(), Lengths())
        if item.get_closest_marker("long"):
            found.long += 1
        else:
            found.quick += 1
    config.stash[LENGTHS] = counted


@pytest.fixture(scope="session", autouse=True)
def _packages_are_scanned_once() -> Iterator[None]:
    """Search the installed packages for Streamlit's components once, not for each `AppTest`."""
    patch = pytest.MonkeyPatch()
    # Tests that do not use Streamlit do not wait for its import.
    if "streamlit" in sys.modules:
        from streamlit.components.v2 import manifest_scanner

        scan = cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
    yield
    patch.undo()


@pytest.fixture(scope="session")
def marian_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small `transformers` translator, trained once per session."""
    # Import it here, so that tests that do not need torch do not wait for it.
    from tests import marian

    return marian.folder(tmp_path_factory.mktemp("models") / "small-marian")
