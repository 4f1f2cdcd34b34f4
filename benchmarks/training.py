"""Measure a training step of each form of keys, compared with regular attention.

    python -m benchmarks.training [--write]

The networks are the translators of characters and of subwords that are trained for the tables of
key forms (Tiny, two layers each with areas of up to five). A batch has about 2,400 padded items,
and one thread is used, as in those trainings. All forms run alternately. A figure is the median
over rounds of the ratio of processor time to that of regular attention in the same round.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F

from areaviz.lab.loop import optimise_for_training
from areaviz.models.translation import Transformer, TransformerConfig
from benchmarks.report import command, markdown, processor, publish

REGULAR = "regular"
FORMS: Mapping[str, dict[str, Any]] = {
    REGULAR: {"area_size": 1, "area_layers": 0},
    "convolution": {"area_size": 1, "area_layers": 0, "convolution": 5},
    "mean (Eq. 3, 4)": {"area_size": 5},
    "size bias": {"area_size": 5, "size_bias": True},
    "features (Eq. 9, 4)": {"area_size": 5, "key_mode": "features"},
    "boundary": {"area_size": 5, "key_mode": "boundary"},
    "convolution + boundary": {"area_size": 5, "key_mode": "boundary", "convolution": 5},
}
ROUNDS = 9
CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class Recipe:
    """The size of a training batch."""

    vocabulary: int
    sentences: int
    # Number of items of the longest source and target. A third of the sources are shorter.
    source: int
    target: int


LETTERS = Recipe(104, 34, 62, 70)
SUBWORDS = Recipe(5000, 150, 15, 16)
RECIPES = {"letters": LETTERS, "subwords": SUBWORDS}


class Step:
    """One network with its optimiser and the batch that all networks share."""

    def __init__(
        self, options: dict[str, Any], recipe: Recipe = LETTERS, device: torch.device = CPU
    ) -> None:
        torch.manual_seed(0)
        words = recipe.vocabulary
        network = Transformer(TransformerConfig(words, dropout=0.0, **options))
        self.network = optimise_for_training(network.to(device), device)
        self.optimiser = torch.optim.AdamW(self.network.parameters(), fused=True)
        lengths = recipe.source, recipe.target
        source, target = (torch.randint(4, words, (recipe.sentences, n)) for n in lengths)
        source[::3, recipe.source * 4 // 5 :] = 0
        self.source, self.target = source.to(device), target.to(device)

    def run(self) -> None:
        """Run one training step."""
        logits = self.network(self.source, self.target)
        loss = F.cross_entropy(logits.flatten(0, 1), self.target.flatten())
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()

    def seconds(self) -> float:
        """Return the processor time of one step."""
        began = time.process_time()
        self.run()
        return time.process_time() - began


def table() -> str:
    """Return the ratios as Markdown, with the name of the machine."""
    torch.set_num_threads(1)
    bases, ratios = [], {}
    for title, recipe in RECIPES.items():
        base, ratios[title] = measured(recipe)
        bases.append(f"{base * 1e3:.0f} ms by {title}")
    about = (
        f"Measured on {processor()}; torch {torch.__version__}, one thread. A step of regular"
        f" attention takes {' and '.join(bases)}, of processor time; ratios are medians of"
        f" {ROUNDS} rounds."
    )
    rows = []
    for name in FORMS:
        rows.append([name, *(f"{ratios[title][name]:.2f}x" for title in RECIPES)])
    return markdown(about, ["step, ratio to regular", *RECIPES], rows)


def measured(recipe: Recipe) -> tuple[float, dict[str, float]]:
    """Return the seconds of a step of regular attention, and the ratio of each form to it."""
    steps = {name: Step(options, recipe) for name, options in FORMS.items()}
    for step in steps.values():
        step.seconds()
    rounds = [{name: step.seconds() for name, step in steps.items()} for _ in range(ROUNDS)]
    ratios = {}
    for name in FORMS:
        ratios[name] = statistics.median(times[name] / times[REGULAR] for times in rounds)
    return statistics.median(times[REGULAR] for times in rounds), ratios


def main() -> None:
    """Measure and print, and write if requested."""
    parser = command("Measure a training step of each form of keys.")
    options = parser.parse_args()
    publish("training", table(), options.write)


if __name__ == "__main__":
    main()
