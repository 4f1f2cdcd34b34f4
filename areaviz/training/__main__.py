"""`python -m areaviz.training CONFIG`: training on a machine that has torch but not the command
line's packages.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from areaviz.data.places import data_folder
from areaviz.training.run import load_recipe, train

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m areaviz.training", description="Train a model from a recipe."
    )
    parser.add_argument("config", type=Path)
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    print(train(load_recipe(options.config), options.data, options.runs, options.device))
