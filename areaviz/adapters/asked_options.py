"""Checks of those options of `areaviz.attend` that need no model."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from areaviz.trace.errors import InputError
from areaviz.trace.limits import check_range, described

# Far above the number of examples in any real batch.
MAX_EXAMPLE = 10**6


def check_whole(name: str, value: Any, limits: tuple[int, int]) -> None:
    """Check that an option is a whole number between two limits.

    Raises:
        InputError: It is not.
    """
    check_range(name, value, limits)
    if not isinstance(value, Integral):
        raise InputError(f'"{name}" is {value} but must be a whole number; give one.')


def check_chosen(name: str, chosen: Any, kind: type) -> None:
    """Check a choice of a model's layers, heads or sites. None chooses all.

    Raises:
        InputError: The choice is empty, or its items are not numbers or names.
    """
    if chosen is None:
        return
    what = "whole numbers" if kind is int else "names"
    if isinstance(chosen, str) or not isinstance(chosen, Sequence | range):
        raise InputError(f"The option {name}= must list {what} but is {described(chosen)}.")
    if not len(chosen):
        raise InputError(f"No layer, head or site is left by {name}=; choose at least one.")
    for one in chosen:
        is_right = isinstance(one, Integral) and not isinstance(one, bool)
        if not (is_right if kind is int else isinstance(one, str)):
            raise InputError(f"The option {name}= must list {what} but has {described(one)}.")


def check_reader(name: str, reader: Any) -> None:
    """Check that a tokenizer or processor can be used. None means that there is none.

    Raises:
        InputError: It cannot be called and does not belong to the library `tokenizers`.
    """
    if reader is None or callable(reader) or type(reader).__module__.startswith("tokenizers"):
        return
    raise InputError(
        f"The {name} is of type {type(reader).__name__}, which reads nothing; give the model's own"
        f" {name}."
    )
