"""Checks of those options of `areaviz.attend` that do not depend on the model."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from areaviz.trace.errors import InputError, check_range

# A limit far above the number of examples in any real batch.
MAX_EXAMPLE = 10**6


def check_whole(name: str, value: Any, limits: tuple[int, int]) -> None:
    """Check that an option is a whole number between two limits.

    Raises:
        InputError: The option is not a whole number or is out of range.
    """
    check_range(name, value, limits)
    if not isinstance(value, Integral):
        raise InputError(f'"{name}" is {value} but must be a whole number.')


def check_reader(name: str, reader: Any) -> None:
    """Check that a tokenizer or processor can be used. None is always accepted.

    Raises:
        InputError: It cannot be called and does not belong to the library `tokenizers`.
    """
    if reader is None or callable(reader) or type(reader).__module__.startswith("tokenizers"):
        return
    raise InputError(
        f"The {name} is of type {type(reader).__name__}, which cannot read an input. Give the"
        f" model's own {name}."
    )
