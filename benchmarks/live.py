"""Compare the models of live pages with Python on validation sentences, and measure their speed.

    python -m benchmarks.live [--models NAME ...] [--sentences 200] [--write]

Every sentence runs through the engine of live pages, in Node, and through Python, greedily and with
a beam of 4. A case counts as equal if the output, the fields, the alternatives and the warnings are
equal; the last column has the largest difference of a weight. Times are CPU times of Node, without
loading, and include the pass that records all weights. The corpus is that of
`areaviz data get multi30k`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from areaviz.cards.card import read_card
from areaviz.lab.multi30k import read_captions
from areaviz.live.build import LiveModel
from areaviz.models import MODELS
from areaviz.samples.paths import CHECKPOINTS, find_data_folder
from areaviz.trace.document import to_document
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from benchmarks.report import command, markdown, processor, publish
from tests.components.live.node import documents, trace_of

NAMES = (
    "token-boundary",
    "char-boundary",
    "language-model-boundary",
    "language-model-lstm",
    "lstm-boundary",
    "recurrent-additive",
)
METHODS = ("greedy", "beam")
TOGETHER = 20
"""Number of sentences that one process of Node runs."""


@dataclass(slots=True, kw_only=True)
class Compared:
    """Agreement of the traces of an engine in JavaScript with those of Python."""

    name: str
    equal_outputs: int = 0
    equal_traces: int = 0
    differences: list[float] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    items: int = 0

    def add(self, found: Trace, expected: Trace, milliseconds: float) -> None:
        """Add the traces of one input."""
        self.milliseconds.append(milliseconds)
        self.items += len(expected.output.probabilities)
        if found.fields["target"].raw != expected.fields["target"].raw:
            return
        self.equal_outputs += 1
        self.equal_traces += plain(found) == plain(expected)
        for site, attention in expected.maps.items():
            difference = np.abs(found.maps[site].weights - attention.weights).max(initial=0)
            self.differences.append(float(difference))
        for site, gaze in expected.gazes.items():
            # The largest distance between corners, as a share of the picture's larger side.
            away = np.abs(found.gazes[site].corners - gaze.corners).max(initial=0)
            assert expected.request.picture is not None
            side = max(expected.request.picture.width, expected.request.picture.height)
            self.differences.append(float(away) / side)

    @property
    def agreement(self) -> tuple[str, ...]:
        """The cells with the name, the equal outputs and traces, and the largest difference."""
        count = len(self.milliseconds)
        return (
            self.name,
            f"{self.equal_outputs} of {count}",
            f"{self.equal_traces} of {count}",
            f"{max(self.differences, default=0):.1e}",
        )

    @property
    def row(self) -> tuple[str, ...]:
        """The cells of the model's row."""
        *cells, difference = self.agreement
        times = np.median(self.milliseconds), sum(self.milliseconds) / self.items
        return (*cells, f"{times[0]:.0f} ms", f"{times[1]:.1f} ms", difference)


def plain(trace: Trace) -> dict[str, object]:
    """Return the parts of a trace that must be equal, apart from its arrays."""
    document = to_document(trace)
    for name in ("device", "log-probability"):
        document["details"].pop(name, None)
    alternatives = document["output"].pop("alternatives")
    document["labels"] = [[label for label, _ in items] for items in alternatives]
    return document


def compared(name: str, sentences: Sequence[str]) -> Iterator[Compared]:
    """Compare a model with Python; yield the result of greedy writing, then that of a beam."""
    folder = CHECKPOINTS / name
    card = read_card(folder / "card.json")
    model = LiveModel.load(folder, card)
    python = MODELS[card.family].load(folder, card, torch.device("cpu"))
    for method in METHODS:
        result = Compared(name=f"{name}, {method}")
        for first in range(0, len(sentences), TOGETHER):
            some = sentences[first : first + TOGETHER]
            requests = [Request(name, sentence, method) for sentence in some]
            for request, document in zip(requests, documents(model, requests), strict=True):
                (expected,) = python.trace([request])
                result.add(trace_of(document), expected, document["milliseconds"])
        yield result


def main() -> None:
    """Compare the models and print a table."""
    parser = command("Compare the models of live pages with Python.")
    parser.add_argument("--models", nargs="+", default=NAMES)
    parser.add_argument("--sentences", type=int, default=200)
    options = parser.parse_args()
    torch.set_num_threads(1)
    sentences = read_captions(find_data_folder(), "val")[: options.sentences]
    rows = [one.row for name in options.models for one in compared(name, sentences)]
    about = f"Measured on {processor()}, one thread, {len(sentences)} sentences of validation."
    columns = ("model", "outputs", "traces", "a sentence", "an item", "largest difference")
    publish("live", markdown(about, columns, rows), options.write)


if __name__ == "__main__":
    main()
