"""The cost of areas: additions to build them, and operations to attend to them."""

from __future__ import annotations

from areaviz.trace.areas import AreaGrid

DEPTH = 64
"""Size D of a key or value, as in one attention head of the Base Transformer."""


def count_operations(grid: AreaGrid) -> dict[str, int]:
    """Return the number of operations to build all areas and to attend to them, by method.

    The methods to build areas are "one by one", "table" (the summed area table) and "recurrence",
    which computes every area from a smaller one. Only the additions for one feature of the items
    are counted.

    The methods to attend are "regular" (single items), "built areas" and "factored". The
    multiplications and additions of one head with as many queries as items are counted. The product
    of a query and a key, or of a weight and a value, counts 2 D. The factored form attends to items
    and needs one more addition per area for the logits, and one for the coverage.
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
