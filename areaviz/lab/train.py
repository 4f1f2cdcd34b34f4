"""All steps from a recipe to a checkpoint, and the command that takes them."""

from __future__ import annotations

import argparse
import platform
import signal
import subprocess
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from pkgutil import resolve_name
from threading import Event

from areaviz import __version__
from areaviz.cards.card import Card, write_card
from areaviz.lab.loop import (
    TrainConfig,
    Trainer,
    TrainingPaused,
    join_ranks,
    never_pause,
    read_recipe,
    take_best,
)
from areaviz.lab.tasks import TRAININGS
from areaviz.models.base import choose_device, compute_digests, describe_device, save_weights
from areaviz.samples.paths import find_data_folder
from areaviz.trace.errors import InputError

# All steps from a recipe to a checkpoint: the task, the training and the card.


def load_recipe(path: Path) -> TrainConfig:
    """Read a recipe from a TOML file.

    Raises:
        InputError: The file is missing or is not TOML, its task does not exist, or an option is
            unknown or missing.
    """
    values = read_recipe(path)
    name = values.get("task", "translation")
    if name not in TRAININGS:
        raise InputError(
            f'The recipe {path} has the task "{name}". Choose one of: {", ".join(TRAININGS)}.'
        )
    config: TrainConfig = resolve_name(TRAININGS[name]).Recipe.of(values, path)
    return config


def train_recipe(
    config: TrainConfig,
    data: Path,
    runs: Path,
    device: str = "auto",
    should_pause: Callable[[], bool] = never_pause,
) -> Path:
    """Train a model from its recipe, or continue training it.

    The processes of `torchrun` train one model together. Each step then uses one batch per process.

    Args:
        config: The recipe.
        data: Folder of the corpora.
        runs: Folder of the runs.
        device: "auto", "cuda", "mps" or "cpu".
        should_pause: Function that is called after every update. When it returns true, the run is
            saved and stops.

    Returns:
        The folder of the checkpoint, `runs`/NAME/checkpoint.

    Raises:
        FileNotFoundError: The corpus is not in `data`.
        InputError: The recipe or the device cannot be used.
        TrainingPaused: `should_pause` returned true. The next call continues from there.
    """
    folder, chosen = runs / config.name, choose_device(device)
    folder.mkdir(parents=True, exist_ok=True)
    with join_ranks(chosen) as ranks:
        build = resolve_name(TRAININGS[config.task]).build
        task = ranks.in_turn(lambda: build(config, data, folder, chosen))
        trainer = Trainer(task, folder, chosen, ranks=ranks, should_pause=should_pause)
        trainer.train()
        return write_checkpoint(trainer) if ranks.writes else folder / "checkpoint"


def write_checkpoint(trainer: Trainer) -> Path:
    """Write the best weights and a card without results, and return the folder.

    `areaviz evaluate` adds the results.
    """
    folder, task, config = trainer.folder / "checkpoint", trainer.task, trainer.config
    folder.mkdir(exist_ok=True)
    take_best(task.network, trainer.folder, trainer.device)
    save_weights(task.network, folder)
    task.save(folder)
    about = task.describe()
    averaged = {"averaged": trainer.averaged} if trainer.averaged else {}
    recipe = {**config.to_dict(), **about.recipe, **averaged, "optimiser": "AdamW, betas .9 .98"}
    machine = f"{describe_device(trainer.device)}, {platform.machine()}"
    entries = {entry.name: getattr(about, entry.name) for entry in fields(about)}
    card = Card(
        **{**entries, "recipe": recipe},
        name=config.name,
        pair=config.pair or config.name,
        parameters=sum(value.numel() for value in task.network.parameters()),
        figures={},
        attention={},
        history=tuple(trainer.history),
        code_version=get_code_version(),
        trained_on=f"{machine}, {trainer.seconds / 3600:.1f} hours",
        gates=tuple(config.gates),
        files=compute_digests(folder),
    )
    write_card(card, folder / "card.json")
    return folder


def get_code_version() -> str:
    """Return the version of the package and, in a git checkout, the commit."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return __version__
    return f"{__version__} ({commit})"


# The command `python -m areaviz.lab.train CONFIG`, which trains a model from a recipe.
#
# Unlike `areaviz train`, it needs torch but not the packages of the areaviz command line.


PAUSED = 75
"""Exit status of a run that was paused by the signal TERM and has been saved."""

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m areaviz.lab.train", description="Train a model from a recipe."
    )
    parser.add_argument("config", type=Path)
    parser.add_argument("--data", type=Path, default=find_data_folder())
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    asked = Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    recipe = load_recipe(options.config)
    try:
        print(train_recipe(recipe, options.data, options.runs, options.device, asked.is_set))
    except TrainingPaused as paused:
        print(paused)
        parser.exit(PAUSED)
