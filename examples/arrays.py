"""Make a trace of attention that was computed elsewhere. This needs only NumPy."""

import sys

import numpy as np

import areaviz
from areaviz.trace import file, query

TOKENS = ("attention", "looks", "at", "areas")


def main(path: str = "arrays.npz") -> None:
    """Make a trace of random weights, print a span, and save the trace for "Your own attention".

    The weights are [layer, head, query, memory].
    """
    scores = np.random.default_rng(0).normal(size=(2, 3, 4, 4))
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    trace = areaviz.from_arrays(weights, memory=TOKENS, area_size=2)
    best = query.top_areas(trace.maps["attention sums"], layer=0, head=0, query=3, k=1)[0]
    print(
        f"“{TOKENS[3]}” attends most to {TOKENS[best.area.left : best.area.left + best.area.width]}"
    )
    file.save(trace, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
