"""Multi30k: 29,000 image captions in English and German (Elliott et al. 2016).

The French translations and the split test_2017_flickr followed in 2017. The corpus is published
without a licence, for non-commercial research and education. It is therefore not part of this
repository. Users who train a model fetch it, and the SHA-256 of each file is checked.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

from areaviz.samples.paths import fetch_files
from areaviz.trace.request import Progress

Pair = tuple[str, str]

_COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
OFFICIAL = f"https://raw.githubusercontent.com/multi30k/dataset/{_COMMIT}/data/task1/raw/"
CHECKSUMS: Mapping[str, str] = {
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
    "test_2017_flickr.en.gz": "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074",
    "test_2017_flickr.de.gz": "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee",
    "test_2017_flickr.fr.gz": "3ba671ceb2299f3304ffafefea7a833d08632fbaf0ba18546f8a2ec2391af496",
}


def get_multi30k(
    folder: Path,
    base_url: str = OFFICIAL,
    checksums: Mapping[str, str] = CHECKSUMS,
    progress: Progress | None = None,
) -> list[Path]:
    """Fetch the corpus into `folder`/multi30k/text/SPLIT.LANGUAGE.gz, as `read_split` expects it.

    Complete files that already exist are not fetched again. A file appears only after its checksum
    was verified.

    Args:
        folder: Folder of the corpora.
        base_url: Address of the files.
        checksums: SHA-256 in hexadecimal by file name.
        progress: Called with the share done, 0..1, and the name of each finished file.

    Raises:
        BackendError: There is no network, a file is missing or unexpected, or the folder is not
            writable. The message says what to do.
    """
    text = folder / "multi30k" / "text"
    return fetch_files(text, base_url, checksums, room="3 MB", progress=progress)


def read_split(folder: Path, split: str, source: str = "en", target: str = "de") -> list[Pair]:
    """Read the sentence pairs of "train", "val", "test_2016_flickr" or "test_2017_flickr".

    Raises:
        FileNotFoundError: The corpus is not in `folder`. The message gives the command to fetch it.
    """
    sources, targets = _read_lines(folder, split, source), _read_lines(folder, split, target)
    return list(zip(sources, targets, strict=True))


def read_captions(folder: Path, split: str) -> list[str]:
    """Read the English captions of a split. Errors are those of `read_split`."""
    return _read_lines(folder, split, "en")


def _read_lines(folder: Path, split: str, language: str) -> list[str]:
    path = folder / "multi30k" / "text" / f"{split}.{language}.gz"
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing. Fetch the corpus with: python -m areaviz data get multi30k"
        )
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [" ".join(line.split()) for line in lines]
