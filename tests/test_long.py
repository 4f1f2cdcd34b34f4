"""`make test` leaves out the tests marked `long`, but runs a sample of what they check."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import LENGTHS, Lengths
from tests.sampled import sampled

ROOT = Path(__file__).parents[1]
SAMPLE_OF: Mapping[str, str] = {
    "tests/adapters/test_architectures.py": "tests/adapters/test_encoders.py",
    "tests/analysis/test_on_ray.py": "tests/analysis/test_on_processes.py",
    "tests/browser/test_base_path.py": "tests/gateway/test_base_path.py",
    "tests/browser/test_notebook_apps.py": "tests/browser/test_widget.py",
    "tests/browser/test_remote.py": "tests/backend/test_remote.py",
    "tests/browser/test_restart.py": "tests/ui/app/test_restart_recovery.py",
    "tests/browser/test_what_if.py": "tests/pages/test_what_if.py",
    "tests/faults/test_analyses.py": "tests/faults/test_load.py",
    "tests/faults/test_full_disk.py": "tests/notes/test_store.py",
    "tests/gateway/test_by_hand.py": "tests/gateway/test_gateway.py",
    "tests/server/test_folders_on_ray.py": "tests/server/test_api.py",
    "tests/server/test_interrupt.py": "tests/server/test_api.py",
    "tests/server/test_on_ray.py": "tests/server/test_api.py",
}
"""Files whose tests are all long, and the file with quick tests of the same thing."""


def without_sample(lengths: Mapping[str, Lengths]) -> list[str]:
    """Return the files with long tests for which there is no quick test."""
    found = []
    for path, count in sorted(lengths.items()):
        sample = lengths.get(SAMPLE_OF.get(path, path))
        if count.long and sample is not None and not sample.quick:
            found.append(path)
    return found


def test_every_file_with_long_tests_has_quick_tests(pytestconfig: pytest.Config) -> None:
    """Check the collected files: all of them in a run of all tests."""
    assert without_sample(pytestconfig.stash[LENGTHS]) == []


def test_file_without_quick_tests_is_found() -> None:
    ray, other = "tests/server/test_interrupt.py", "tests/test_other.py"
    assert without_sample({other: Lengths(long=2, quick=1)}) == []
    assert without_sample({other: Lengths(long=2, quick=0)}) == [other]
    elsewhere = Lengths(long=0, quick=3)
    assert without_sample({ray: Lengths(1, 0), SAMPLE_OF[ray]: elsewhere}) == []
    assert without_sample({ray: Lengths(1, 0), SAMPLE_OF[ray]: Lengths(1, 0)}) == [
        SAMPLE_OF[ray],
        ray,
    ]


@pytest.mark.parametrize("files", SAMPLE_OF.items(), ids=SAMPLE_OF)
def test_files_of_the_table_exist(files: tuple[str, str]) -> None:
    assert all((ROOT / name).is_file() for name in files)


def test_sampled_value_is_quick_and_rest_are_long() -> None:
    quick, other = sampled(["light", "dark"], "light")
    assert quick == "light"
    assert other == pytest.param("dark", marks=pytest.mark.long)
    with pytest.raises(ValueError, match="'blue', which is not a case"):
        sampled(["light", "dark"], "blue")
