"""A small corpus in the format of bAbI, made of our own sentences."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

NAMES, PLACES = ("Ann", "Bob", "Cleo"), ("attic", "barn", "cellar", "den")


def write_corpus(data: Path, stories: int = 40, tasks: range = range(1, 21)) -> None:
    """Write stories of three walks and one question each, identical for every task."""
    folder = data / "babi" / "en"
    folder.mkdir(parents=True, exist_ok=True)
    for part, seed in (("train", 0), ("test", 1)):
        rng, lines = np.random.default_rng(seed), []
        for _ in range(stories):
            names, places = rng.permutation(NAMES), rng.choice(PLACES, 3)
            for number, (name, place) in enumerate(zip(names, places, strict=True), start=1):
                lines.append(f"{number} {name} went to the {place}.")
            asked = int(rng.integers(3))
            lines.append(f"4 Where is {names[asked]}? \t{places[asked]}\t{asked + 1}")
        content = gzip.compress("\n".join([*lines, ""]).encode())
        for task in tasks:
            (folder / f"qa{task}_small_{part}.txt.gz").write_bytes(content)
