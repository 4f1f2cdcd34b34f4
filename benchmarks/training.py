"""A training step of each form of keys, beside regular attention in the same run.

    python -m benchmarks.training [--write]

The network is the translator of letters (Tiny, two layers each with areas of up to five), a batch
34 sentences of 62 and 70 letters, padded; one thread, as in the trainings of the tables. All forms
take turns; a figure is the median over rounds of the ratio of processor time to regular attention's
in that round.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import Any

import torch
from torch.nn import functional as F

from areaviz.models.transformer import Transformer, TransformerConfig
from areaviz.training.task import fastest
from benchmarks.report import command, processor, publish

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
ROUNDS, VOCABULARY = 9, 104
CPU = torch.device("cpu")


class Step:
    """One network with its optimiser and the batch that all share."""

    def __init__(
        self, options: dict[str, Any], device: torch.device = CPU, sentences: int = 34
    ) -> None:
        torch.manual_seed(0)
        network = Transformer(TransformerConfig(VOCABULARY, dropout=0.0, **options))
        self.network = fastest(network.to(device), device)
        self.optimiser = torch.optim.AdamW(self.network.parameters(), fused=True)
        source, target = (torch.randint(4, VOCABULARY, (sentences, n)) for n in (62, 70))
        source[::3, 50:] = 0
        self.source, self.target = source.to(device), target.to(device)

    def run(self) -> None:
        """One step."""
        logits = self.network(self.source, self.target)
        loss = F.cross_entropy(logits.flatten(0, 1), self.target.flatten())
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()

    def seconds(self) -> float:
        """Processor time of one step."""
        began = time.process_time()
        self.run()
        return time.process_time() - began


def table() -> str:
    """The ratios as Markdown, with the machine named."""
    torch.set_num_threads(1)
    steps = {name: Step(options) for name, options in FORMS.items()}
    for step in steps.values():
        step.seconds()
    rounds = [{name: step.seconds() for name, step in steps.items()} for _ in range(ROUNDS)]
    base = statistics.median(times[REGULAR] for times in rounds) * 1e3
    lines = [
        (
            f"Measured on {processor()}; torch {torch.__version__}, one thread. A step of regular"
            f" attention takes {base:.0f} ms of processor time; ratios are medians of {ROUNDS}"
            " rounds."
        ),
        "",
        "| keys | step, ratio to regular |",
        "|---|--:|",
    ]
    for name in FORMS:
        ratio = statistics.median(times[name] / times[REGULAR] for times in rounds)
        lines.append(f"| {name} | {ratio:.2f}x |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write when asked to."""
    parser = command("A training step of each form of keys.")
    options = parser.parse_args()
    publish("training", table(), options.write)


if __name__ == "__main__":
    main()
