"""The command `python -m areaviz.lab.make_pairs NAME`, which makes pairs with a translator.

Another translator can be trained on two kinds of pairs. For distillation (Kim and Rush 2016,
section 3.2), the model translates the training sentences. Its translations are added to the gold
translations. For back-translation (Sennrich et al. 2016), a model that translates from German
writes the sources for German captions of training photos, which have no source. If the command is
killed, it continues after the pairs that it has made.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from areaviz.cards.card import read_card
from areaviz.lab.multi30k import Pair, read_split
from areaviz.lab.pictures import read_photos
from areaviz.lab.sentences import find_made_pairs, write_made
from areaviz.models.base import choose_device
from areaviz.models.generation import GenerationModel
from areaviz.samples.paths import find_data_folder
from areaviz.trace.request import Request

TOGETHER = 256
"""Number of sentences that are translated and saved together."""


def read_sentences_to_translate(kind: str, data: Path, model: GenerationModel) -> list[str]:
    """Return the sentences to translate.

    Args:
        kind: "distilled" for the training sentences, "back" for German captions.
        data: Folder of the corpora.
        model: The translator.

    Raises:
        FileNotFoundError: The corpus is not in `data`.
    """
    if kind == "distilled":
        recipe = model.card.recipe
        return [source for source, _ in read_split(data, "train", recipe["source"])]
    return [text for photo in read_photos(data, "train") for text in photo.german]


def make_pairs(
    model: GenerationModel, sentences: Sequence[str], kind: str, runs: Path, name: str, beam: int
) -> Path:
    """Write the pairs of all sentences to a file in the folder of runs, and return its path."""
    part = find_made_pairs(runs, name).with_suffix(".lines")
    part.parent.mkdir(parents=True, exist_ok=True)
    done = part.read_text("utf-8").splitlines() if part.exists() else []
    with part.open("a", encoding="utf-8") as lines:
        for first in range(len(done), len(sentences), TOGETHER):
            some = sentences[first : first + TOGETHER]
            requests = [Request(model.card.name, text, "beam", beam) for text in some]
            outputs = [" ".join(text.split()) for text in model.generate_outputs(requests)]
            lines.writelines(f"{text}\n" for text in outputs)
            lines.flush()
            done += outputs
    pairs: list[Pair] = list(zip(sentences, done, strict=True))
    if kind == "back":
        pairs = [(written, own) for own, written in pairs]
    path = write_made(runs, name, pairs)
    part.unlink()
    return path


def make_pairs_of(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m areaviz.lab.make_pairs",
        description="Make sentence pairs with a translator.",
    )
    parser.add_argument("name", help="the name of the pairs in recipes")
    parser.add_argument("--model", type=Path, required=True, help="a checkpoint folder")
    parser.add_argument("--kind", choices=("distilled", "back"), default="distilled")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--data", type=Path, default=find_data_folder())
    options = parser.parse_args(arguments)
    card = read_card(options.model / "card.json")
    model = GenerationModel.load(options.model, card, choose_device("cpu"))
    sentences = read_sentences_to_translate(options.kind, options.data, model)
    print(make_pairs(model, sentences, options.kind, options.runs, options.name, options.beam))


if __name__ == "__main__":
    make_pairs_of()
