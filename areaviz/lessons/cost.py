"""What areas cost: additions to build them, multiplications to attend to them."""

from __future__ import annotations

from areaviz.trace.areas import AreaGrid

DEPTH = 64
"""Numbers in a key or a value: one attention head of the Base Transformer."""


def operations(grid: AreaGrid) -> dict[str, int]:
    """Operations to build all areas and to attend to them, by the names of their curves.

    Building counts the additions for one number of the item vectors: one by one, with the table,
    and where every area grows from a smaller one.

    Attending counts the multiplications and additions of one head where queries Q = items M; each
    product of a query and a key or of a weight and a value counts 2 D. The factored form pays for
    the items and then one addition an area for the logits and for the coverage.
    """
    # Cumulative sums along the rows, then down the columns.
    making_table = grid.height * (grid.width - 1) + grid.width * (grid.height - 1)
    queries = grid.items
    products = 4 * DEPTH
    regular = queries * grid.items * products
    return {
        "areas": grid.count,
        "one by one": int(grid.sizes().sum()) - grid.count,
        "table": making_table + 3 * grid.count,
        "recurrence": grid.count - grid.items,
        "regular": regular,
        "built areas": queries * grid.count * products,
        "factored": regular + queries * 2 * grid.count,
    }
