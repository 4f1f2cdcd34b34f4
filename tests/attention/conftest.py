"""The literal implementation for the tests of attention, and the tests of the C kernel.

The kernel's tests need a C compiler. Without one they are left out, and one line says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from areaviz.attention import area
from benchmarks.summed_table import table
from tests.attention.direct import direct

LEFT_OUT = pytest.StashKey[int]()
OF_THE_C_KERNEL = ("test_build", "test_cpu")


@pytest.fixture(scope="package", autouse=True)
def forms_to_compare_with() -> Iterator[None]:
    """Register the literal and the summed-area-table implementations with the others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(area, "AREA_FORMS", {**area.AREA_FORMS, "direct": direct, "table": table})
        yield


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the C kernel's tests without a compiler. In CI they stay, and fail."""
    mine = [item for item in items if item.path.stem in OF_THE_C_KERNEL]
    if mine and not area.has_cpu_kernel() and "CI" not in os.environ:
        config.stash[LEFT_OUT] = len(mine)
        config.hook.pytest_deselected(items=mine)
        items[:] = [item for item in items if item not in mine]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print one line about the tests that were left out."""
    if count := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(
            f"{count} tests of the C kernel were left out, no C compiler found: install gcc."
        )
