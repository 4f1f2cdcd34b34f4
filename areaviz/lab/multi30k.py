"""The corpus Multi30k, and sentence pairs with gold links between their words."""

from __future__ import annotations

import gzip
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from areaviz.samples.dataset import Dataset, Example, Links, read_links
from areaviz.samples.paths import fetch_files
from areaviz.trace.request import Progress

# Multi30k: 29,000 image captions in English and German (Elliott et al. 2016).
#
# The French translations and the split test_2017_flickr followed in 2017. The corpus is published
# without a licence, for non-commercial research and education. It is therefore not part of this
# repository. Users who train a model fetch it, and the SHA-256 of each file is checked.


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


# Sentence pairs with gold links between their words, and the links of other alignment systems.
#
# The links of Multi30k's captions were made for this project and are part of it. The captions are
# in the data folder. The other datasets are published, with one gzip file each. The columns of a
# line are pair id, English words, words of the other language and links, separated by tabs. In a
# link, the English word comes first, counted from 0: "3-4" is sure and "3p4" is possible. Each
# other system has one file of links, with one line per pair.


LINKS_FILE = Path(__file__).with_name("multi30k_links.toml")
FOLDER = "word_align"


def read_linked(data: Path, split: str) -> Dataset:
    """Read the caption pairs of "val" or "test_2016_flickr" that have gold links.

    English is the source, and German the reference.

    Raises:
        FileNotFoundError: The corpus is not in `data`.
    """
    links: dict[str, str] = tomllib.loads(LINKS_FILE.read_text(encoding="utf-8"))[split]
    pairs = read_split(data, split)
    examples = []
    for number, (line, marks) in enumerate(links.items(), 1):
        text, target = pairs[int(line)]
        found = read_links(f"The links of line {line}", marks)
        examples.append(_make_example(str(number), text, target, found))
    return Dataset("source", tuple(examples), {})


def read_gold(data: Path, name: str) -> Dataset:
    """Read the pairs of a published dataset, for example "hansards_en_fr", with their gold links.

    Raises:
        FileNotFoundError: The dataset is not in `data`.
        InputError: A line has something other than links, or the file is not UTF-8 text.
    """
    examples = []
    for number, line in enumerate(_iterate_lines(data / FOLDER / f"{name}.tsv.gz"), 1):
        title, text, target, marks = line.split("\t")
        found = read_links(f"Line {number:,} of {name}", marks)
        examples.append(_make_example(title, text, target, found))
    return Dataset(f"{name}.tsv", tuple(examples), {})


def _make_example(name: str, text: str, target: str, links: tuple[Links, Links]) -> Example:
    references = (target,) if target.strip() else ()
    return Example(name, text, references, "", *links)


def read_system(data: Path, name: str) -> list[Links]:
    """Read the links of one system: for each sentence pair, a set of (English word, other word).

    Raises:
        FileNotFoundError: The links are not in `data`.
    """
    found = []
    for line in _iterate_lines(data / FOLDER / f"{name}.talp.gz"):
        pairs = [link.split("-") for link in line.split()]
        found.append(frozenset((int(one), int(other)) for one, other in pairs))
    return found


def _iterate_lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")
