"""A very small translator with random weights, which replaces a shipped checkpoint."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from areaviz.cards.card import Card, write_card
from areaviz.models.base import TOKENIZER, save_weights
from areaviz.models.tokenizer import Tokenizer
from areaviz.models.translation import Transformer, TransformerConfig

SENTENCES = [
    "A small dog runs over the grass.",
    "Two old friends drink tea in a quiet garden.",
    "Ein kleiner Hund rennt über die Wiese.",
    "Zwei alte Freunde trinken Tee in einem stillen Garten.",
]


def tokenizer(level: str = "character") -> Tokenizer:
    """Return a tokenizer trained on the sentences above."""
    return Tokenizer.train(SENTENCES, level, 60)


FORMS: list[dict[str, Any]] = [
    {"key_mode": "mean", "value_mode": "sum"},
    {"key_mode": "max", "value_mode": "mean"},
    {"key_mode": "features"},
    {"key_mode": "boundary"},
    {"size_bias": True},
    {"convolution": 5},
    {"key_mode": "boundary", "convolution": 3, "size_bias": True},
]
"""Every variant of keys and values that a network can have."""


def network(vocabulary: int, seed: int = 0, **options: Any) -> Transformer:
    """Return a network of two layers of width 16 with two heads.

    Convolutions and size biases normally start at zero. Here they are random.
    """
    torch.manual_seed(seed)
    sizes = {
        "layers": 2,
        "width": 16,
        "filter": 32,
        "heads": 2,
        "dropout": 0.0,
        "area_size": 3,
        **options,
    }
    model = Transformer(TransformerConfig(vocabulary, **sizes)).eval()
    for name, value in model.named_parameters():
        if name.endswith(("convolution.weight", "size_bias")):
            torch.nn.init.normal_(value, std=0.3)
    return model


def checkpoint(
    folder: Path, name: str = "tiny-area", level: str = "character", **options: Any
) -> Path:
    """Write a checkpoint folder `folder`/`name` and return it."""
    words = tokenizer(level)
    model = network(len(words), **options)
    path = folder / name
    path.mkdir(parents=True)
    save_weights(model, path)
    words.save(path / TOKENIZER)
    write_card(card(name, level, model), path / "card.json")
    return path


def card(name: str, level: str, model: Transformer) -> Card:
    """Return a complete card without results."""
    return Card(
        name=name,
        family="transformer",
        title=name,
        task="translation",
        level=level,
        mechanism="area" if model.config.area_size > 1 else "regular",
        size="Tiny",
        pair="tiny",
        parameters=sum(value.numel() for value in model.parameters()),
        trained_length=60,
        config=asdict(model.config),
        recipe={"source": "en", "target": "de", "length_limit": {"ratio": 1.2, "extra": 5}},
        data={"name": "four sentences"},
        figures={},
        attention={},
        history=({"step": 1, "train_loss": 2.0, "valid_loss": 2.0, "seconds": 1.0},),
        code_version="test",
        trained_on="nothing",
        limits="random weights",
        licence="Apache-2.0",
    )
