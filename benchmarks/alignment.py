"""Compute the alignment error rate of four published systems from their links.

    python -m benchmarks.alignment DATA

The exit status is 1 if a figure, rounded to one decimal, differs from the published one.
"""

from __future__ import annotations

import sys
from functools import reduce
from operator import add
from pathlib import Path

from areaviz.lab.multi30k import read_gold, read_system
from areaviz.measures.alignment import count_links

GOLD = "hansards_en_fr"
PUBLISHED = {
    "hansards_fastalign": 16.4,
    "hansards_fastalign_grow-diagonal": 10.5,
    "hansards_giza": 8.0,
    "hansards_giza_grow-diagonal": 5.9,
}
"""Error rates in per cent, as the package alignment-scripts reports them for its links.

Zenkel et al. 2019.
"""


def error_rates(data: Path) -> dict[str, float]:
    """Return the error rate of each system in per cent.

    Raises:
        FileNotFoundError: The links are not in `data`.
    """
    examples = read_gold(data, GOLD).examples
    rates = {}
    for name in PUBLISHED:
        pairs = zip(read_system(data, name), examples, strict=True)
        rates[name] = (
            100
            * reduce(
                add, (count_links(made, one.sure, one.possible) for made, one in pairs)
            ).error_rate
        )
    return rates


def main(data: Path) -> int:
    """Print the computed and the published rate of each system; return 1 if any differ, else 0."""
    found = error_rates(data)
    for name, rate in found.items():
        print(f"{name}: {rate:.1f} % (published {PUBLISHED[name]:.1f} %)")
    return int(any(round(rate, 1) != PUBLISHED[name] for name, rate in found.items()))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "data")))
