"""Settings and fixtures for the whole test suite."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# One thread per worker, because the workers already use every core. PyTorch reads it on import.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Set no limits of time, so that an example fails on no busy machine. CI tries identical examples in
# every run.
settings.register_profile(
    "areaviz",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("areaviz")


@dataclass(slots=True)
class Lengths:
    """Numbers of long and of quick tests of a file."""

    long: int = 0
    quick: int = 0


LENGTHS = pytest.StashKey[Mapping[str, Lengths]]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Seed the global random numbers, which otherwise depend on the tests before."""
    random.seed(0)
    # Tests that do not need these libraries do not wait for their import.
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that shuffles the tests."""
    text = "run the files, and the tests of each file, in a random order"
    parser.addoption("--shuffle", type=int, metavar="SEED", help=text)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Return a line with the seed, so that an order can be repeated."""
    seed = config.getoption("shuffle")
    return [] if seed is None else [f"tests are shuffled: --shuffle {seed}"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count the tests of each file, before any are left out, and shuffle them if asked to."""
    count_lengths(config, items)
    seed = config.getoption("shuffle")
    if seed is not None:
        shuffle(items, seed)


def shuffle(items: list[pytest.Item], seed: int) -> None:
    """Shuffle the files and the tests of each file.

    The tests of a file stay together, because they share servers and other costly fixtures.
    """
    chance, files = random.Random(seed), dict[Path, list[pytest.Item]]()
    for item in items:
        files.setdefault(item.path, []).append(item)
    groups = list(files.values())
    chance.shuffle(groups)
    for group in groups:
        chance.shuffle(group)
    items[:] = [item for group in groups for item in group]


def count_lengths(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Count the long and the quick tests of each file."""
    counted: dict[str, Lengths] = {}
    for item in items:
        found = counted.setdefault(item.path.relative_to(config.rootpath).as_posix(), Lengths())
        if item.get_closest_marker("long"):
            found.long += 1
        else:
            found.quick += 1
    config.stash[LENGTHS] = counted


@pytest.fixture(scope="session", autouse=True)
def _app_tests_are_quick_and_patient() -> Iterator[None]:
    """Search the installed packages for Streamlit's components once, not for each `AppTest`.

    An `AppTest` waits for the end of its script, without a limit of its own, which a busy machine
    would exceed.
    """
    patch = pytest.MonkeyPatch()
    # Tests that do not use Streamlit do not wait for its import.
    if "streamlit" in sys.modules:
        from streamlit.components.v2 import manifest_scanner
        from streamlit.testing.v1 import local_script_runner

        scan = cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
        # This function watches the time. What calls it then joins the script's thread.
        patch.setattr(local_script_runner, "require_widgets_deltas", lambda runner, timeout: None)
    yield
    patch.undo()


@pytest.fixture(scope="session")
def marian_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small `transformers` translator, trained once per session."""
    # Import it here, so that tests that do not need torch do not wait for it.
    from tests import marian

    return marian.folder(tmp_path_factory.mktemp("models") / "small-marian")
