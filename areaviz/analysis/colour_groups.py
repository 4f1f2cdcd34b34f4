"""Groups of examples that a plot distinguishes by colour, by the values of a metadata column."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from areaviz.analysis.buckets import bucket_by_metadata, sort_into
from areaviz.analysis.table import list_metadata_columns
from areaviz.draw.charts import OTHER

# Maximum number of groups with their own colour. More colours are hard to tell apart.
MAX_GROUPS = 7
BoolArray = npt.NDArray[np.bool_]


def colour_columns(table: pd.DataFrame) -> dict[str, str]:
    """Return the metadata columns that can be used as groups, with their titles."""
    titles = list_metadata_columns(table)
    return {name: title for name, title in titles.items() if bucket_by_metadata(table, name, title)}


def colour_groups(table: pd.DataFrame, column: str, title: str) -> dict[str, BoolArray]:
    """Return the examples of each group, by the name of the group.

    Args:
        table: the examples.
        column: the metadata column.
        title: the displayed name of the column.

    Returns:
        The `MAX_GROUPS` largest groups in the order of the column's values, then `OTHER` if some
        examples are in none of them. {} if the column has no groups.
    """
    how = bucket_by_metadata(table, column, title)
    if how is None:
        return {}
    names = sort_into(table, how)
    counts = names.value_counts().nlargest(MAX_GROUPS)
    largest = set(counts[counts > 0].index)
    groups = {}
    for name in names.cat.categories:
        if name in largest:
            groups[str(name)] = (names == name).to_numpy(bool)
    rest = ~np.any(list(groups.values()), axis=0)
    return {**groups, OTHER: rest} if rest.any() else groups
