"""Sentences for training: Multi30k, gold word links, and what tasks with sentences share.

The corpora come first. Losses and word labels follow, and pairs that a model made come last.
"""

from __future__ import annotations

import gzip
import shutil
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import Tensor
from torch.nn import functional as F

from areaviz.measures.pointing import Floats, is_pointing_right
from areaviz.models.base import TOKENIZER
from areaviz.models.tokenizer import END, PAD, IdPair, Segmented, Tokenizer
from areaviz.samples.dataset import FUNCTION_WORDS, Boxes, Dataset, Example, Links, read_links
from areaviz.samples.paths import fetch_files
from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError
from areaviz.trace.request import Progress
from areaviz.trace.safe_files import write_whole_file

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


# Functions that tasks with sentences share: loss, tokenizer, word labels and pointing accuracy.
#
# Shapes: N sentences, T items, V vocabulary, B examples, Q queries (tokens), A areas.


POINTED = 320
"""Number of validation pictures on which pointing accuracy is measured.

The result is stable with this number, and measuring it takes little time.
"""
WORTH = 0.3
"""Weight of pointing accuracy, 0..1, in a score, relative to the validation loss in nats."""
CHOSEN_BY = f"validation loss - {WORTH} x pointing accuracy"


def compute_cross_entropy(logits_NTV: Tensor, target_NT: Tensor, smoothing: float = 0.0) -> Tensor:
    """Compute the mean cross-entropy of the next token in a batch, in nats, without padding."""
    return F.cross_entropy(
        logits_NTV.flatten(0, 1), target_NT.flatten(), ignore_index=PAD, label_smoothing=smoothing
    )


def sum_loss(logits_NTV: Tensor, target_NT: Tensor) -> tuple[float, int]:
    """Return the summed cross-entropy of a batch in nats and its token count, without padding."""
    logits = logits_NTV.float().flatten(0, 1)
    total = F.cross_entropy(logits, target_NT.flatten(), ignore_index=PAD, reduction="sum")
    return total.item(), int((target_NT != PAD).sum())


def mean_loss(totals: Iterable[tuple[float, int]]) -> float:
    """Return the cross-entropy per token, given the `sum_loss` of several batches."""
    losses, tokens = zip(*totals, strict=True)
    return float(sum(losses) / sum(tokens))


def find_longest(rows: Iterable[Sequence[int]]) -> int:
    """Return the number of tokens in the longest sentence.

    The end symbol of each row of ids does not count.
    """
    return max(map(len, rows)) - 1


def run_tokenizer(
    path: Path,
    texts: Iterable[str],
    vocabulary: int,
    level: str = "word",
    symbols: Sequence[str] = (),
    normalised: bool = True,
    start_run: str = "",
) -> Tokenizer:
    """Return the tokenizer of a run.

    It is learned from the training sentences on the first start, or copied from the start run.

    Args:
        path: The file of the tokenizer in the folder of the run.
        texts: The training sentences.
        vocabulary: Maximum number of tokens.
        level: "character", "token" or "word".
        symbols: Symbols that are never split.
        normalised: Whether texts are normalised before they are split.
        start_run: Name of the run from whose weights this run starts, or "" for none. The
            embeddings of these weights depend on its token ids.
    """
    if start_run and not path.exists():
        shutil.copyfile(path.parent.parent / start_run / TOKENIZER, path)
    elif not path.exists():
        Tokenizer.train(texts, level, vocabulary, symbols, normalised).save(path)
    return Tokenizer.load(path)


def choose_content_words(captions: Sequence[Sequence[str]], count: int) -> list[str]:
    """Return the `count` words that occur in the captions of the most pictures.

    Function words are left out. Ties are broken alphabetically, because a resumed run must find the
    words in the order of its outputs.
    """
    seen: Counter[str] = Counter()
    for texts in captions:
        seen.update({word for text in texts for word in text.split()})
    return sorted(seen.keys() - FUNCTION_WORDS, key=lambda word: (-seen[word], word))[:count]


def label_words(captions: Sequence[Sequence[str]], words: Sequence[str]) -> npt.NDArray[np.float32]:
    """Return whether each word occurs in any caption of each picture: float32 [pictures, words]."""
    index = {word: number for number, word in enumerate(words)}
    labels = np.zeros((len(captions), len(words)), dtype=np.float32)
    for row, texts in enumerate(captions):
        for word in " ".join(texts).split():
            if word in index:
                labels[row, index[word]] = 1
    return labels


def find_words_pointed_right(
    weights_BQA: Floats,
    areas: AreaGrid,
    tokenizer: Tokenizer,
    sentences: Sequence[tuple[str, Boxes]],
) -> list[bool]:
    """Return whether attention points into a box, for each boxed word of the sentences."""
    found = []
    for weights_QA, (text, boxed) in zip(weights_BQA, sentences, strict=True):
        tokens = tokenizer.find_word_starts(text)
        for word, boxes in boxed:
            found.append(is_pointing_right(weights_QA[tokens[word]], areas, boxes))
    return found


# Training pairs for translators: pairs that a model made, and sampling of subwords.
#
# Made pairs are in runs/made/NAME.tsv.gz, with one pair per line and a tab between source and
# target. `python -m areaviz.lab.make_pairs` writes them.


MADE = "made"
"""The folder of made pairs inside the folder of runs."""
WAYS = 8
"""Number of most probable segmentations of a sentence from which one is drawn."""


def find_made_pairs(runs: Path, name: str) -> Path:
    """Return the path of the made pairs with this name."""
    return runs / MADE / f"{name}.tsv.gz"


def read_made(runs: Path, name: str) -> list[Pair]:
    """Read the made pairs with this name.

    Raises:
        InputError: The pairs have not been made yet.
    """
    path = find_made_pairs(runs, name)
    if not path.exists():
        raise InputError(f"{path} is missing. Make it with: python -m areaviz.lab.make_pairs")
    pairs = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            source, _, target = line.rstrip("\n").partition("\t")
            pairs.append((source, target))
    return pairs


def write_made(runs: Path, name: str, pairs: Iterable[Pair]) -> Path:
    """Write made pairs to their file, and return its path.

    The file appears only when it is complete. Pairs with an empty source or target are left out.
    """
    path = find_made_pairs(runs, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_whole_file(path) as draft, gzip.open(draft, "wt", encoding="utf-8") as lines:
        for source, target in pairs:
            # A tab would end a column, and a new line would end a pair.
            sides = [" ".join(text.split()) for text in (source, target)]
            if all(sides):
                lines.write("\t".join(sides) + "\n")
    return path


@dataclass(frozen=True, slots=True)
class SampledPairs:
    """Sentence pairs with a new random subword segmentation each time (Kudo 2018, section 3).

    One of the `WAYS` most probable segmentations of a sentence is drawn, with probabilities in
    proportion to p ** alpha.
    """

    pairs: Sequence[tuple[Segmented, Segmented]]
    alpha: float

    @classmethod
    def of(cls, tokenizer: Tokenizer, pairs: Sequence[Pair], alpha: float) -> SampledPairs:
        """Find the `WAYS` most probable segmentations of all sentences.

        Args:
            tokenizer: The tokenizer.
            pairs: Sentence pairs.
            alpha: Exponent of the probabilities. 0 draws all segmentations equally often, and a
                large value nearly always draws the most probable one.
        """
        found = []
        for source, target in pairs:
            found.append(
                (
                    tokenizer.list_best_segmentations(source, WAYS),
                    tokenizer.list_best_segmentations(target, WAYS),
                )
            )
        return cls(found, alpha)

    def draw(self, index: int, rng: np.random.Generator) -> IdPair:
        """Draw the ids of a pair, each side with its end symbol."""
        source, target = (self._ids(one, rng) for one in self.pairs[index])
        return source, target

    def _ids(self, ways: Segmented, rng: np.random.Generator) -> list[int]:
        chosen = int(rng.choice(len(ways), p=self._probabilities(ways)))
        return [*ways[chosen][0], END]

    def _probabilities(self, ways: Segmented) -> npt.NDArray[np.float64]:
        scores = self.alpha * np.array([score for _, score in ways])
        weights: npt.NDArray[np.float64] = np.exp(scores - scores.max())
        probabilities: npt.NDArray[np.float64] = weights / weights.sum()
        return probabilities
