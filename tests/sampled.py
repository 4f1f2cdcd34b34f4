"""The choice of a test's cases that `make test` runs. The other cases are marked as long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], *quick: Any, many: bool = False) -> list[Any]:
    """Mark all values as `long` except those that `make test` runs.

    Use it in `pytest.mark.parametrize`. If a test has several parameters, a case is quick only if
    all its values are.

    Args:
        values: the values of the parameter.
        quick: the values that `make test` runs.
        many: whether a value is a tuple with one value for each of several parameters.

    Raises:
        ValueError: A quick value is not one of the values.
    """
    cases = list(values)
    for value in quick:
        if value not in cases:
            raise ValueError(f"The sample has {value!r}, which is not a case.")
    made = []
    for case in cases:
        arguments = case if many else (case,)
        made.append(case if case in quick else pytest.param(*arguments, marks=pytest.mark.long))
    return made
