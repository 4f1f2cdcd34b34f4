"""Read the weights of a stored trace as NumPy arrays, without PyTorch.

python examples/weights_in_numpy.py [TRACE]    # such as one that the app saved
"""

from __future__ import annotations

import sys
from pathlib import Path

from areaviz.samples.paths import ASSETS
from areaviz.trace import file as codec
from areaviz.trace.query import coverage, top_areas

STORED = ASSETS / "home.npz"


def main(file: Path = STORED) -> None:
    """Print the shape of the weights of one site, and the heaviest areas of one query."""
    trace = codec.load(file)
    site = next(name for name in trace.maps if name.startswith("encoder-decoder"))
    attention = trace.maps[site]
    layers, heads, queries, areas = attention.weights.shape
    print(f"{site}: {layers} layers, {heads} heads, {queries} queries, {areas} areas")
    heaviest = attention.weights.max(-1).mean()
    print(f"a row sums to 1; the mean weight of the heaviest area: {heaviest:.3f}")
    query = queries // 2
    items = trace.fields[attention.memory].labels
    print(f"in the last layer head 1 of {trace.fields[attention.query].labels[query]!r} attends to")
    for found in top_areas(attention, layers - 1, 0, query):
        text = "".join(items[found.area.left : found.area.left + found.area.width])
        index = attention.grid.index(found.area)
        print(f"  {text!r:12} {found.weight:.3f}   index {index}")
    received = coverage(attention, layers - 1, 0)[query]
    print(f"the item that receives most, by all areas that hold it: {items[received.argmax()]!r}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
