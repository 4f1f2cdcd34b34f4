"""From a recipe to a checkpoint: task, training, card."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from areaviz import __version__
from areaviz.cards.card import Card, write_card
from areaviz.models.checkpoint import digests_of, save_weights
from areaviz.models.device import choose_device, describe_device
from areaviz.trace.errors import InputError
from areaviz.training.captions import Captions, CaptionsConfig
from areaviz.training.config import TrainConfig, read_recipe
from areaviz.training.digits import Digits, DigitsConfig
from areaviz.training.encoder import EncoderTask, EncoderTaskConfig
from areaviz.training.loop import Trainer, take_best
from areaviz.training.parallel import ranks_of
from areaviz.training.picture_translation import PictureTranslation, PictureTranslationConfig
from areaviz.training.task import Task
from areaviz.training.translation import Translation, TranslationConfig

Build = Callable[[Any, Path, Path, torch.device], Task]

TASKS: Mapping[str, tuple[type[TrainConfig], Build]] = {
    "translation": (TranslationConfig, Translation.build),
    "digits": (DigitsConfig, Digits.build),
    "encoder": (EncoderTaskConfig, EncoderTask.build),
    "captions": (CaptionsConfig, Captions.build),
    "picture translation": (PictureTranslationConfig, PictureTranslation.build),
}
"""Every task: the options of its recipe, and what makes it of a recipe, the data, the run's folder
and a device.
"""


def load_recipe(path: Path) -> TrainConfig:
    """Read a TOML file.

    Raises:
        InputError: it is missing, is no TOML, names no task there is, or has an option that is
            unknown or absent.
    """
    values = read_recipe(path)
    task = values.get("task", "translation")
    if task not in TASKS:
        raise InputError(
            f'The recipe {path} has the task "{task}"; choose one of: {", ".join(TASKS)}.'
        )
    return TASKS[task][0].of(values, path)


def train(config: TrainConfig, data: Path, runs: Path, device: str = "auto") -> Path:
    """Train, or go on training, and leave a checkpoint in `runs`/NAME/checkpoint; returns that
    folder.

    In every process of `torchrun` the same call trains together: a step then takes a batch from
    each of them.

    Raises:
        FileNotFoundError: the corpus is not in `data`.
        InputError: the recipe or the device cannot be used.
    """
    folder, chosen = runs / config.name, choose_device(device)
    folder.mkdir(parents=True, exist_ok=True)
    with ranks_of(chosen) as ranks:
        task = ranks.in_turn(lambda: TASKS[config.task][1](config, data, folder, chosen))
        trainer = Trainer(task, folder, chosen, ranks=ranks)
        trainer.train()
        return ship(trainer) if ranks.writes else folder / "checkpoint"


def ship(trainer: Trainer) -> Path:
    """Write the best weights and a card without figures (`areaviz evaluate` adds those)."""
    folder, task, config = trainer.folder / "checkpoint", trainer.task, trainer.config
    folder.mkdir(exist_ok=True)
    take_best(task.network, trainer.folder, trainer.device)
    save_weights(task.network, folder)
    task.save(folder)
    about = task.describe()
    averaged = {"averaged": trainer.averaged} if trainer.averaged else {}
    card = Card(
        name=config.name,
        family=about.family,
        title=about.title,
        task=about.task,
        level=about.level,
        mechanism=about.mechanism,
        size=about.size,
        pair=config.pair or config.name,
        parameters=sum(value.numel() for value in task.network.parameters()),
        trained_length=about.trained_length,
        config=about.config,
        recipe={**config.to_dict(), **about.recipe, **averaged, "optimiser": "AdamW, betas .9 .98"},
        data=about.data,
        figures={},
        attention={},
        history=tuple(trainer.history),
        code_version=code_version(),
        trained_on=(
            f"{describe_device(trainer.device)}, {platform.machine()}, {trainer.seconds / 3600:.1f}"
            " hours"
        ),
        limits=about.limits,
        licence=about.licence,
        gates=tuple(config.gates),
        files=digests_of(folder),
    )
    write_card(card, folder / "card.json")
    return folder


def code_version() -> str:
    """The version of the package and, in a git checkout, the commit."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return __version__
    return f"{__version__} ({commit})"
