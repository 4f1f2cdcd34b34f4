"""Sentence pairs that models generate, and sampled subwords."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from areaviz.lab.loop import BEST
from areaviz.lab.make_pairs import make_pairs
from areaviz.lab.sentences import SampledPairs, find_made_pairs, read_made, write_made
from areaviz.lab.tasks.translation import Translation, TranslationConfig
from areaviz.models.base import TOKENIZER
from areaviz.models.tokenizer import END, Tokenizer
from areaviz.trace.errors import InputError
from tests.tiny import SENTENCES, tokenizer

PAIRS = list(zip(SENTENCES[:2], SENTENCES[2:], strict=True))


class Shouter:
    """A translator that writes in capitals and counts its requests."""

    card = SimpleNamespace(name="shouter")

    def __init__(self) -> None:
        self.asked: list[str] = []

    def generate_outputs(self, requests: Any) -> list[str]:
        self.asked += [request.text for request in requests]
        return [request.text.upper() for request in requests]


def test_made_pairs_are_cleaned_and_read_back(tmp_path: Path) -> None:
    write_made(tmp_path, "own", [("a\tb", "c\nd"), ("", "x"), ("é", "ü")])
    assert read_made(tmp_path, "own") == [("a b", "c d"), ("é", "ü")]
    with pytest.raises(InputError, match=r"made/other\.tsv\.gz is missing. Make it with"):
        read_made(tmp_path, "other")


@pytest.mark.parametrize("kind", ["distilled", "back"])
def test_interrupted_pair_generation_resumes(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("areaviz.lab.make_pairs.TOGETHER", 2)
    part = find_made_pairs(tmp_path, "own").with_suffix(".lines")
    part.parent.mkdir()
    part.write_text("A\nB\n")
    model: Any = Shouter()
    make_pairs(model, ["a", "b", "c", "d", "e"], kind, tmp_path, "own", 1)
    assert model.asked == ["c", "d", "e"] and not part.exists()
    found = read_made(tmp_path, "own")
    wanted = [(text, text.upper()) for text in "abcde"]
    assert found == (wanted if kind == "distilled" else [pair[::-1] for pair in wanted])


def test_subwords_are_drawn_in_proportion_to_their_probability() -> None:
    ways = (((5, 6), -1.0), ((7,), -2.0), ((8, 9, 10), -4.0))
    sampled = SampledPairs([(ways, ways)], 0.5)
    rng = np.random.default_rng(0)
    drawn = Counter(tuple(sampled.draw(0, rng)[0]) for _ in range(4000))
    weights = np.exp(0.5 * np.array([-1.0, -2.0, -4.0]))
    for (ids, _), share in zip(ways, weights / weights.sum(), strict=True):
        assert drawn[(*ids, END)] / 4000 == pytest.approx(share, abs=0.03)


def test_segmentations_decode_to_the_sentence_best_first() -> None:
    words = Tokenizer.train(SENTENCES * 20, "token", 80)
    ways = words.list_best_segmentations(SENTENCES[0], 6)
    assert len(ways) == 6 and [*ways[0][0], END] == words.ids(SENTENCES[0])
    assert len({ids for ids, _ in ways}) == 6
    assert [score for _, score in ways] == sorted((score for _, score in ways), reverse=True)
    assert {words.decode(ids)[0] for ids, _ in ways} == {SENTENCES[0]}
    letters = tokenizer("character")
    assert letters.list_best_segmentations("A dog", 6) == ((tuple(letters.ids("A dog")[:-1]), 0.0),)


def corpus(folder: Path) -> Path:
    text = folder / "data" / "multi30k" / "text"
    text.mkdir(parents=True)
    for split in ("train", "val"):
        for side, language in enumerate(("en", "de")):
            lines = "".join(f"{pair[side]}\n" for pair in PAIRS * 3)
            (text / f"{split}.{language}.gz").write_bytes(gzip.compress(lines.encode()))
    return folder / "data"


def config(**options: Any) -> TranslationConfig:
    sizes = {"layers": 1, "width": 16, "filter": 16, "heads": 2}
    return TranslationConfig(
        name="tiny",
        level="token",
        vocabulary=80,
        steps=2,
        batch_tokens=200,
        peak_rate=1e-3,
        warmup=1,
        model=sizes,
        **options,
    )


def build(folder: Path, **options: Any) -> Translation:
    (folder / "runs" / "tiny").mkdir(parents=True, exist_ok=True)
    data = folder / "data" if (folder / "data").exists() else corpus(folder)
    task = Translation.build(config(**options), data, folder / "runs" / "tiny", device())
    assert isinstance(task, Translation)
    return task


def device() -> torch.device:
    return torch.device("cpu")


def test_translator_card_mentions_made_training_pairs(tmp_path: Path) -> None:
    plain = build(tmp_path)
    write_made(tmp_path / "runs", "own", [("A dog.", "Ein Hund.")])
    more = build(tmp_path, made=["own"])
    assert len(more.train_pairs) == len(plain.train_pairs) + 1
    assert len(more.tokenizer) == len(plain.tokenizer)
    assert (
        more.describe().data["train"] == "29,000 sentence pairs, and pairs that models made (own)"
    )
    assert plain.describe().data["train"] == "29,000 sentence pairs"


def test_translator_starts_from_the_weights_and_tokens_of_another_run(tmp_path: Path) -> None:
    start = build(tmp_path)
    folder = tmp_path / "runs" / "first"
    folder.mkdir()
    start.save(folder)
    torch.save(start.network.state_dict(), folder / BEST)
    (tmp_path / "runs" / "tiny" / TOKENIZER).unlink()
    task = build(tmp_path, start_run="first", seed=2)
    torch.testing.assert_close(task.network.state_dict(), start.network.state_dict())
    assert [*task.train_pairs] == [*start.train_pairs]
    again = build(tmp_path, seed=2)
    first, other = next(start.network.parameters()), next(again.network.parameters())
    assert not torch.equal(first, other)


def test_drawn_subwords_follow_from_epoch_and_step(tmp_path: Path) -> None:
    task = build(tmp_path, sampling=0.1)
    stream, later = task.batches(0), task.batches(2)
    batches = [next(stream) for _ in range(4)]
    again = [next(later) for _ in range(2)]
    for one, other in zip(batches[2:], again, strict=True):
        assert one.source.tolist() == other.source.tolist()
    assert len({str(batch.source.tolist()) for batch in batches}) == 4
