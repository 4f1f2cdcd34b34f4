"""Conversion of columns with outputs and scores to one entry per system."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from areaviz.data.metadata import is_missing, number_of
from areaviz.intake.columns import Column
from areaviz.trace.errors import InputError, shorten

Outputs = Mapping[str, tuple[str | None, ...]]
Scores = Mapping[str, Mapping[str, tuple[float, ...]]]


def list_outputs(columns: Sequence[Column]) -> dict[str, tuple[str | None, ...]]:
    """Return the outputs of each system, one per example. None means a missing output.

    Raises:
        InputError: two columns are outputs of one system.
    """
    found: dict[str, tuple[str | None, ...]] = {}
    for column in columns:
        system = column.system or column.name
        if system in found:
            raise InputError(
                f'Two columns are outputs of the system "{shorten(system)}". Give the column'
                f' "{shorten(column.name)}" a system of its own, with a role such as "output:NAME".'
            )
        found[system] = tuple(None if one is None else _get_first_text(one) for one in column.cells)
    return found


def _get_first_text(cell: str | tuple[str, ...]) -> str:
    return cell if isinstance(cell, str) else " ".join(cell)


def list_scores(
    columns: Sequence[Column], systems: Sequence[str]
) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return the scores of each system by metric, one per example. NaN means a missing score.

    Raises:
        InputError: a score belongs to none of the systems, or is not a number.
    """
    if columns and not systems:
        raise InputError(
            f'"{shorten(columns[0].name)}" has scores, but there are no outputs. Choose the file'
            ' with the outputs, too, or set the role "metadata".'
        )
    found: dict[str, dict[str, tuple[float, ...]]] = {}
    for column in columns:
        if column.system not in systems:
            known = ", ".join(map(shorten, systems))
            raise InputError(
                f'It is not clear which system "{shorten(column.name)}" scores. Set the role'
                f' "score:NAME" with one of these systems: {known}.'
            )
        of_system = found.setdefault(column.system, {})
        metric = column.metric or column.name
        if metric in of_system:
            metric = column.name
        of_system[metric] = tuple(
            _parse_number(column, place, text) for place, text in enumerate(column.texts)
        )
    return found


def _parse_number(column: Column, place: int, text: str) -> float:
    value = number_of(text)
    if value is None and not is_missing(text):
        raise InputError(
            f'{column.where(place)} has "{shorten(text.strip())}" as its'
            f" {shorten(column.metric or column.name)}, which is not a number. Correct it or leave"
            " it empty."
        )
    return math.nan if value is None else value
