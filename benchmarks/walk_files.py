"""Files for the walk through an error analysis: a made-up set with one planted failure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

PERSONS = (
    *(("man", "Ein Mann"), ("woman", "Eine Frau"), ("dog", "Ein Hund")),
    *(("child", "Ein Kind"), ("girl", "Ein Mädchen"), ("boy", "Ein Junge")),
)
COLOURS = (
    *(("red", "roten"), ("blue", "blauen"), ("green", "grünen")),
    *(("black", "schwarzen"), ("white", "weißen")),
)
ACTIONS = (
    ("stands in front of the {} door", "steht vor der {} Tür"),
    ("sits on a {} bench", "sitzt auf einer {} Bank"),
    ("lies under a {} lamp", "liegt unter einer {} Lampe"),
    ("looks at the {} wall and laughs", "lacht vor der {} Wand"),
    ("walks past a {} wall", "geht an einer {} Mauer vorbei"),
    ("runs along the {} street", "läuft auf der {} Straße"),
    ("waits near a {} gate", "wartet an einer {} Pforte"),
    ("plays with a {} flower", "spielt mit einer {} Blume"),
)
EXAMPLES = len(PERSONS) * len(COLOURS) * len(ACTIONS)
SEED = 4


def write_files(folder: Path, copies: int = 1) -> list[Path]:
    """Write a set of two systems, and return its files.

    The second system leaves out the colour where the source has "woman". The files are a source, a
    reference, two outputs, scores of the second system, and a table of metadata.

    Args:
        folder: Folder to write to.
        copies: Number of repetitions of the set.
    """
    rng = random.Random(SEED)
    rows = []
    for english, german in PERSONS:
        for colour, farbe in COLOURS:
            for action, does in ACTIONS:
                source = f"A {english} {action.format(colour)}."
                rows.append((source, f"{german} {does.format(farbe)}.", english, farbe))
    rows *= copies
    rng.shuffle(rows)
    columns: dict[str, list[str]] = {
        name: [] for name in ("test.en", "test.de", "alpha.de", "beta.de", "beta.comet")
    }
    metadata = ["domain,year"]
    for source, reference, person, colour in rows:
        is_worse = person == "woman"
        first = _changed(reference, " einer ", " der ", rng)
        second = _changed(reference, " der ", " einer ", rng)
        if is_worse:
            second = second.replace(f"{colour} ", "")
        score = 0.9 - 0.3 * is_worse + rng.gauss(0, 0.05)
        cells = (source, reference, first, second, f"{score:.4f}")
        for column, cell in zip(columns.values(), cells, strict=True):
            column.append(cell)
        domain = rng.choice(("street", "sport", "home"))
        metadata.append(f"{domain},{rng.choice(('2019', '2020', '2021'))}")
    columns["meta.csv"] = metadata
    return [_write(folder / name, lines) for name, lines in columns.items()]


def _changed(text: str, old: str, new: str, rng: random.Random) -> str:
    return text.replace(old, new) if rng.random() < 0.15 else text


def _write(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path
