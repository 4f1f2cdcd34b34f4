"""Multi30k: 29,000 image captions in English and German (Elliott et al. 2016)."""

from __future__ import annotations

import gzip
from pathlib import Path

Pair = tuple[str, str]


def read_split(folder: Path, split: str, source: str = "en", target: str = "de") -> list[Pair]:
    """The sentence pairs of "train", "val", "test_2016_flickr" or "test_2017_flickr".

    Raises:
        FileNotFoundError: when the corpus is not in `folder`, with the command that fetches it.
    """
    return list(
        zip(*(_read_lines(folder, split, language) for language in (source, target)), strict=True)
    )


def _read_lines(folder: Path, split: str, language: str) -> list[str]:
    path = folder / "multi30k" / "text" / f"{split}.{language}.gz"
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing; fetch the corpus with: python -m areaviz data get multi30k"
        )
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [" ".join(line.split()) for line in lines]
