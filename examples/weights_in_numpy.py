"""Read the weights of a stored trace as NumPy arrays, without PyTorch.

python examples/weights_in_numpy.py [TRACE]            for example one saved by the app or by
`areaviz trace`
"""

from __future__ import annotations

import sys
from pathlib import Path

from areaviz.data.places import ASSETS
from areaviz.trace import codec
from areaviz.trace.query import coverage, top_areas

STORED = ASSETS / "home.npz"


def main(file: Path = STORED) -> None:
    """Print what the weights of a site look like, and the heaviest areas of one query."""
    trace = codec.load(file)
    site, attention = next(
        (name, one) for name, one in trace.maps.items() if name.startswith("encoder-decoder")
    )
    layers, heads, queries, areas = attention.weights.shape
    print(
        f"{site}: {layers} layers, {heads} heads, {queries} queries, {areas} areas; a row sums to 1"
    )
    print(f"the mean weight of the heaviest area: {attention.weights.max(-1).mean():.3f}")
    query = queries // 2
    memory = trace.fields[attention.memory]
    print(
        f"query {query} is {trace.fields[attention.query].labels[query]!r}; in the last layer head"
        " 1 attends to"
    )
    for found in top_areas(attention, layers - 1, 0, query):
        first, last = found.area.left, found.area.left + found.area.width
        print(
            f"  {''.join(memory.labels[first:last])!r:12} {found.weight:.3f}   index"
            f" {attention.grid.index(found.area)}"
        )
    received = coverage(attention, layers - 1, 0)[query]
    print(
        "the item that receives most, by all areas that hold it:"
        f" {memory.labels[received.argmax()]!r}"
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
