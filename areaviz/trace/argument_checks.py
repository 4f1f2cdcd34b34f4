"""Checks of the arguments of public functions, which give clear errors."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from areaviz.trace.errors import InputError
from areaviz.trace.limits import describe_value, shorten
from areaviz.trace.record import AttentionMap, Trace

# Limits of Linux. Other systems have these limits or lower ones.
MAX_NAME_BYTES, MAX_PATH_BYTES = 255, 4095

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
# Numeric arguments other than positions in the map, with the minimum of each.
_COUNTS, _SHARES = {"k": 0, "min_size": 1}, ("mass", "max_overlap")


def check_arguments(ask: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Return a function that checks its arguments before it calls `ask`.

    Args:
        ask: Function whose first argument is a map. It may also take a layer, head, query and
            numbers.

    Raises:
        InputError: On a call, if the attention is not a map, or an argument is outside the map or
            not a number.
    """
    signature = inspect.signature(ask)

    @wraps(ask)
    def asked(*given: _Given.args, **named: _Given.kwargs) -> _Result:
        _check_values(signature.bind(*given, **named).arguments)
        return ask(*given, **named)

    return asked


def _check_values(arguments: dict[str, Any]) -> None:
    attention = arguments["attention"]
    if not isinstance(attention, AttentionMap):
        raise InputError(
            "The attention must be a map of a trace but is of type"
            f' {type(attention).__name__}. Give one, such as trace.maps["encoder self"].'
        )
    layers, heads, queries, _ = attention.weights.shape
    counts = {"layer": layers, "head": heads, "query": queries, "item": attention.grid.items}
    for name, value in arguments.items():
        if name in counts and not (name == "head" and value is None):
            _check_place(name, value, counts[name])
        if name in _COUNTS and not (isinstance(value, Integral) and int(value) >= _COUNTS[name]):
            raise InputError(
                f'"{name}" must be a whole number from {_COUNTS[name]} but is'
                f" {describe_value(value)}. Give one."
            )
        if name in _SHARES and not (isinstance(value, Real) and 0 <= float(value) <= 1):
            raise InputError(
                f'"{name}" must be between 0 and 1 but is {describe_value(value)}. Give a share.'
            )
    chosen = arguments.get("layers")
    if chosen is not None and not isinstance(chosen, Iterable):
        raise InputError(
            f"The layers must be a list of whole numbers but are {describe_value(chosen)}. Give a"
            " list."
        )
    if chosen is not None and not list(chosen):
        raise InputError("No layer is chosen. Choose at least one, or leave layers out.")
    for layer in () if chosen is None else chosen:
        _check_place("layer", layer, layers)


def _check_place(name: str, value: Any, count: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(
            f"The {name} must be a whole number but is {describe_value(value)}. Count from 0."
        )
    # Negative numbers count from the end, as usual in Python.
    if not -count <= int(value) < count:
        raise InputError(
            f"The map has {count:,} of its {name} but {value} was requested. Count from 0."
        )


def check_trace(trace: object) -> None:
    """Check that an object is a trace.

    Raises:
        InputError: The object has another type.
    """
    if not isinstance(trace, Trace):
        raise InputError(
            f"A trace is needed but this is of type {type(trace).__name__}. Give what"
            " areaviz.attend, from_arrays or load returns."
        )


def expand_path(given: object) -> Path:
    """Return a path with "~" expanded to the home folder.

    Raises:
        InputError: The argument is not a valid path.
    """
    if not isinstance(given, str | Path) or not str(given) or "\0" in str(given):
        raise InputError(
            f"A path is needed but this is {describe_value(given)}. Give a file's path."
        )
    try:
        path = Path(given).expanduser()
    except RuntimeError as error:
        raise InputError(
            f"There is no home folder for {shorten(str(given))}. Give the whole path."
        ) from error
    longest = max(len(os.fsencode(part)) for part in (path.name, *path.parts))
    if longest > MAX_NAME_BYTES or len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise InputError(
            f"The path {shorten(str(given))} is longer than a file system allows. Check it,"
            " or choose a shorter one."
        )
    return path


def find_file(given: object) -> Path:
    """Return the path of a file that exists, with "~" expanded to the home folder.

    Raises:
        InputError: The argument is not a valid path, or there is no file at it that can be read.
    """
    path = expand_path(given)
    if path.is_dir():
        raise InputError(f'"{path}" is a folder. Give the files in it.')
    if not path.is_file():
        raise InputError(f'File "{path}" does not exist. Check the path.')
    if not os.access(path, os.R_OK):
        raise InputError(f'You may not read the file "{path}". Change its permissions.')
    return path
