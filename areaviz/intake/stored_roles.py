"""The stored form of the roles that a user chose for the files of a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from areaviz.intake.columns import CORPUS, IGNORE, LINKS_FROM_0, OUTPUT, REFERENCE, SCORE, SOURCE
from areaviz.intake.joined_columns import Chosen

_COLUMNS = "columns"


def format_roles(chosen: Chosen) -> dict[str, Any]:
    """Return chosen roles as values for JSON."""
    return {_COLUMNS: dict(chosen)}


def parse_roles(values: Mapping[str, Any], files: Mapping[str, object]) -> dict[str, str]:
    """Return the chosen roles from values of `format_roles` or of an older version.

    Older versions had roles for whole files, and used only one table.

    Args:
        values: the stored values.
        files: the names of the stored files.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the values have another form.
    """
    found = dict(values[_COLUMNS]) if _COLUMNS in values else _parse_roles_of_files(values, files)
    if not all(isinstance(text, str) for item in found.items() for text in item):
        raise ValueError("A chosen role is not a text.")
    return found


def _parse_roles_of_files(values: Mapping[str, Any], files: Mapping[str, object]) -> dict[str, str]:
    table = values["table"]
    if table:
        return {name: IGNORE for name in files if name != table}
    found = {values["source"]: SOURCE, values["links"]: LINKS_FROM_0}
    # Files stored before scores and corpora were supported have none.
    found[values.get("corpus", "")] = CORPUS
    several = {"references": REFERENCE, "outputs": OUTPUT, "scores": SCORE}
    for key, role in several.items():
        found |= dict.fromkeys(values.get(key, ()), role)
    found.pop("", None)
    return found
