"""The command `python -m areaviz.training CONFIG`, which trains a model from a recipe.

Unlike `areaviz train`, it needs torch but not the packages of the areaviz command line.
"""

from __future__ import annotations

import argparse
import signal
from pathlib import Path
from threading import Event

from areaviz.samples.paths import find_data_folder
from areaviz.training.loop import TrainingPaused
from areaviz.training.run import load_recipe, train

PAUSED = 75
"""Exit status of a run that was paused by the signal TERM and has been saved."""

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m areaviz.training", description="Train a model from a recipe."
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
        print(train(recipe, options.data, options.runs, options.device, asked.is_set))
    except TrainingPaused as paused:
        print(paused)
        parser.exit(PAUSED)
