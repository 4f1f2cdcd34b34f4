"""How much a file that is shown may take, by what it says of itself, before any of it
is unpacked.
"""

from __future__ import annotations

from dataclasses import dataclass

from areaviz.trace.archive import check_size
from areaviz.trace.errors import InputError

MEBI = 2**20
Shape = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Room:
    """What a file may take at the most.

    weights: bytes of all weights, which lie on disk. layer: bytes of the weights of one layer,
    which are read at once.
    rows: heads times queries of a layer. areas: of a memory, each of which is a line of a table.
    beside: bytes of all else, which is held in memory. items: of a field. maps: how many maps there
    may be.
    """

    weights: int
    layer: int
    rows: int
    areas: int
    beside: int
    items: int
    maps: int

    @property
    def file(self) -> int:
        """Bytes of the file itself."""
        return self.weights + self.beside

    def check_map(self, site: str, shape_LHQA: Shape) -> None:
        """Refuse a map that has too large layers, with an InputError."""
        _, heads, queries, areas = shape_LHQA
        size = 4 * heads * queries * areas
        if size > self.layer:
            raise InputError(
                f'A layer of "{site}" takes {size / MEBI:,.1f} MiB but at most'
                f" {self.layer // MEBI:,} MiB can be shown; take fewer heads, fewer items or"
                " smaller areas."
            )
        if areas > self.areas:
            raise InputError(
                f'The memory of "{site}" has {areas:,} areas but at most {self.areas:,} can be'
                " shown; take fewer items or smaller areas."
            )
        if heads * queries > self.rows:
            raise InputError(
                f'A layer of "{site}" has {heads:,} heads of {queries:,} queries,'
                f" {heads * queries:,} rows, but at most {self.rows:,} can be shown; take fewer"
                " heads or queries."
            )

    def check_maps(self, shapes: list[Shape]) -> None:
        """Refuse maps that are too many, or too large together, with an InputError."""
        if len(shapes) > self.maps:
            raise InputError(
                f"The trace has {len(shapes):,} maps but at most {self.maps} can be shown; save"
                " fewer of them."
            )
        total = sum(
            4 * layers * heads * queries * areas for layers, heads, queries, areas in shapes
        )
        check_size(total, self.weights, "The attention")

    def check_items(self, field: str, items: int) -> None:
        """Refuse a field of too many items with an InputError."""
        if items > self.items:
            raise InputError(
                f'The field "{field}" has {items:,} items but at most {self.items:,} can be shown; '
                "make a trace of a shorter text."
            )


UPLOADED = Room(
    weights=512 * MEBI,
    layer=64 * MEBI,
    rows=2**18,
    areas=2**18,
    beside=16 * MEBI,
    items=2**14,
    maps=32,
)
"""Of a file that a reader uploads."""
OPERATOR = Room(
    weights=4096 * MEBI,
    layer=512 * MEBI,
    rows=2**20,
    areas=2**20,
    beside=256 * MEBI,
    items=2**16,
    maps=256,
)
"""Of the file that the app was started with (`serve --trace`)."""
