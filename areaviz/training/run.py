"""From a recipe to a checkpoint: corpus, tokenizer, network, training, card."""

from __future__ import annotations

import math
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from areaviz import __version__
from areaviz.attention import fused
from areaviz.data.batches import IdPair
from areaviz.data.multi30k import Pair, read_split
from areaviz.data.tokenizer import Tokenizer
from areaviz.models.checkpoint import TOKENIZER, save_weights
from areaviz.models.device import choose_device, describe_device
from areaviz.models.transformer import Transformer, TransformerConfig
from areaviz.trace.card import Card, write_card
from areaviz.training.config import TrainConfig
from areaviz.training.loop import BEST, Trainer

DATA = {
    "name": "Multi30k task 1 (Elliott et al. 2016), English to German",
    "train": "29,000 sentence pairs",
    "valid": "1,014 pairs, used to choose the checkpoint and the length limit",
    "test": "test_2016_flickr and test_2017_flickr, 1,000 pairs each, read once",
    "licence": "research and education only; the corpus is not part of this repository",
}
LICENCE = "Apache-2.0 for the weights file; trained on Multi30k, which is for research and education only"


def train(config: TrainConfig, data: Path, runs: Path, device: str = "auto") -> Path:
    """Train, or go on training, and leave a checkpoint in `runs`/NAME/checkpoint; returns that folder.

    Raises:
        FileNotFoundError: the corpus is not in `data`.
        InputError: the recipe or the device cannot be used.
    """
    folder, chosen = runs / config.name, choose_device(device)
    folder.mkdir(parents=True, exist_ok=True)
    pairs = {split: read_split(data, split, config.source, config.target) for split in ("train", "val")}
    tokenizer = _tokenizer(folder / TOKENIZER, config, pairs["train"])
    train_pairs = [pair for pair in encode(tokenizer, pairs["train"]) if max(map(len, pair)) <= config.max_length]
    valid_pairs = encode(tokenizer, pairs["val"])
    torch.manual_seed(config.seed)
    network = Transformer(model_config(config, tokenizer), _fastest(config, chosen))
    trainer = Trainer(network, config, folder, chosen)
    trainer.train(train_pairs, valid_pairs)
    return ship(trainer, tokenizer, train_pairs, valid_pairs)


def model_config(config: TrainConfig, tokenizer: Tokenizer) -> TransformerConfig:
    """The network a recipe describes; InputError for a size that does not exist."""
    return TransformerConfig.sized(config.size, len(tokenizer), **config.model)


def encode(tokenizer: Tokenizer, pairs: Sequence[Pair]) -> list[IdPair]:
    """Sentence pairs as ids, each with its end symbol."""
    return [(tokenizer.ids(source), tokenizer.ids(target)) for source, target in pairs]


def ship(trainer: Trainer, tokenizer: Tokenizer, train_pairs: list[IdPair], valid_pairs: list[IdPair]) -> Path:
    """Write the best weights, the tokenizer and a card without figures (`areaviz evaluate` adds those)."""
    folder = trainer.folder / "checkpoint"
    folder.mkdir(exist_ok=True)
    network = trainer.network
    assert isinstance(network, Transformer)
    network.load_state_dict(torch.load(trainer.folder / BEST, map_location=trainer.device, weights_only=True))
    save_weights(network, folder)
    tokenizer.save(folder / TOKENIZER)
    config, areas = trainer.config, network.config.area_size
    card = Card(
        name=config.name,
        family="transformer",
        title=_title(config, areas),
        task="translation",
        level=config.level,
        mechanism="area" if areas > 1 else "regular",
        size=config.size,
        pair=config.pair or config.name,
        parameters=sum(value.numel() for value in network.parameters()),
        trained_length=max(len(source) for source, _ in train_pairs),
        config=asdict(network.config),
        recipe={**config.to_dict(), "length_limit": length_limit(valid_pairs), "optimiser": "AdamW, betas .9 .98"},
        data=DATA,
        figures={},
        attention={},
        history=tuple(trainer.history),
        code_version=code_version(),
        trained_on=f"{describe_device(trainer.device)}, {platform.machine()}, {trainer.seconds / 3600:.1f} hours",
        limits=(
            "Trained on short English captions of photographs alone: on any other text it invents. "
            "Attention shows where a head looks, not why the model decides."
        ),
        licence=LICENCE,
    )
    write_card(card, folder / "card.json")
    return folder


def length_limit(pairs: Sequence[IdPair]) -> dict[str, Any]:
    """Ratio and extra items such that no validation target is longer than ratio * source + extra."""
    lengths = np.array([(len(source), len(target)) for source, target in pairs])
    ratio = round(float(np.quantile(lengths[:, 1] / lengths[:, 0], 0.99)), 2)
    return {"ratio": ratio, "extra": max(0, math.ceil((lengths[:, 1] - ratio * lengths[:, 0]).max()))}


def code_version() -> str:
    """The version of the package and, in a git checkout, the commit."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return __version__
    return f"{__version__} ({commit})"


def _tokenizer(path: Path, config: TrainConfig, pairs: Sequence[Pair]) -> Tokenizer:
    """The run's tokenizer, learned from the training pairs on the first start."""
    if not path.exists():
        Tokenizer.train([text for pair in pairs for text in pair], config.level, config.vocabulary).save(path)
    return Tokenizer.load(path)


def _fastest(config: TrainConfig, device: torch.device) -> str:
    """The C kernel where it applies and can be compiled, else what `area_attention` chooses itself."""
    plain = config.model.get("key_mode", "mean") == "mean" and config.model.get("value_mode", "sum") == "sum"
    return "fused" if device.type == "cpu" and plain and fused.available() else "auto"


def _title(config: TrainConfig, area_size: int) -> str:
    attention = f"areas up to {area_size}" if area_size > 1 else "regular attention"
    return f"{config.level.capitalize()}s, {attention} ({config.size})"
