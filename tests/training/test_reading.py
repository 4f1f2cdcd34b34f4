"""A language model learns made-up captions: its loss falls, and its run can be described."""

from __future__ import annotations

import gzip
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import torch

from areaviz.lab.loop import Trainer
from areaviz.lab.tasks.language_model import LanguageModelTask, ReadingConfig

CPU = torch.device("cpu")
CAPTIONS = [
    f"{who} {verb} {where} ."
    for who, verb, where in product(
        ("A girl", "Two boys", "A dog"), ("sings", "waits", "jumps"), ("here", "in the rain")
    )
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "multi30k" / "text"
    folder.mkdir(parents=True)
    for split in ("train", "val", "test_2016_flickr"):
        with gzip.open(folder / f"{split}.en.gz", "wt", encoding="utf-8") as lines:
            lines.write("".join(f"{caption}\n" for caption in CAPTIONS))
    return tmp_path


def task_of(corpus: Path) -> LanguageModelTask:
    config = ReadingConfig(
        name="toy",
        task="reading",
        vocabulary=40,
        batch_tokens=60,
        steps=60,
        peak_rate=2e-2,
        warmup=5,
        validate_every=30,
        model={"layers": 1, "width": 16, "filter": 32, "heads": 2, "area_size": 3, "dropout": 0.0},
    )
    return LanguageModelTask.build(config, corpus, corpus, CPU)


def test_loss_falls_and_the_run_is_described(corpus: Path, tmp_path: Path) -> None:
    task = task_of(corpus)
    trainer = Trainer(task, tmp_path / "run", CPU)
    before = task.validate(0)["valid_loss"]
    trainer.train()
    first, last = (entry["valid_loss"] for entry in trainer.history)
    assert last < first < before
    about = task.describe()
    assert (about.family, about.task, about.mechanism) == ("text decoder", "reading", "area")
    assert about.title == "Language model, areas up to 3"
    assert about.config["vocabulary"] == len(task.tokenizer)
    assert about.trained_length == max(len(task.tokenizer.tokens(one)) for one in CAPTIONS)


def test_recipe_chooses_a_recurrent_network(corpus: Path) -> None:
    config = replace(
        task_of(corpus).config,
        network="recurrent text decoder",
        model={"width": 16, "heads": 2, "area_size": 3, "key_mode": "boundary"},
    )
    about = LanguageModelTask.build(config, corpus, corpus, CPU).describe()
    assert about.family == "recurrent text decoder"
    assert about.title == "Language model, LSTM, areas up to 3 with boundary keys"


def test_every_caption_is_read_to_its_end(corpus: Path) -> None:
    task = task_of(corpus)
    assert [*task.train_rows] == [task.tokenizer.ids(one) for one in CAPTIONS]


def test_resumed_run_sees_the_expected_data(corpus: Path) -> None:
    task, batches = task_of(corpus), 30
    whole = task.batches(0)
    seen = [next(whole) for _ in range(batches)]
    later = task.batches(17)
    for batch in seen[17:]:
        assert torch.equal(next(later), batch)
