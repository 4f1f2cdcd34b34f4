"""The roles that a reader chose, as they are kept with the files of a set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from areaviz.intake.columns import CORPUS, IGNORE, LINKS_FROM_0, OUTPUT, REFERENCE, SCORE, SOURCE
from areaviz.intake.opened import Chosen

_COLUMNS = "columns"


def entries_of(chosen: Chosen) -> dict[str, Any]:
    """Return chosen roles as JSON can hold them."""
    return {_COLUMNS: dict(chosen)}


def chosen_of(values: Mapping[str, Any], files: Mapping[str, object]) -> dict[str, str]:
    """Return the chosen roles that `entries_of` gave, or those of a set kept by older versions.

    Older versions knew roles of whole files, and used one table alone.

    Args:
        values: what was kept.
        files: the names of the kept files.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the values are of another kind.
    """
    found = dict(values[_COLUMNS]) if _COLUMNS in values else _of_files(values, files)
    if not all(isinstance(text, str) for item in found.items() for text in item):
        raise ValueError("A chosen role is not a text.")
    return found


def _of_files(values: Mapping[str, Any], files: Mapping[str, object]) -> dict[str, str]:
    table = values["table"]
    if table:
        return {name: IGNORE for name in files if name != table}
    found = {values["source"]: SOURCE, values["links"]: LINKS_FROM_0}
    # Roles that were kept before there were scores and corpora have none.
    found[values.get("corpus", "")] = CORPUS
    several = {"references": REFERENCE, "outputs": OUTPUT, "scores": SCORE}
    for key, role in several.items():
        found |= dict.fromkeys(values.get(key, ()), role)
    found.pop("", None)
    return found
