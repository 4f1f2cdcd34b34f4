"""How well a translator's attention links words that were linked by hand, beside baselines.

One head of one layer, or the mean of a layer's heads, is chosen on validation captions and measured
on test captions; beside it the diagonal, a statistical aligner trained on the same corpus, and the
same network untrained, whose head is chosen in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from areaviz.data.examples import Dataset
from areaviz.data.multi30k import read_split
from areaviz.data.word_links import read_linked
from areaviz.metrics.aer import LinkCounts, Links, attention_links, count_links
from areaviz.metrics.aligner import Aligner, diagonal_links
from areaviz.models.writing import WritingModel
from areaviz.trace.request import Request

Place = tuple[int, int | None]
"""A layer and a head, 0-based; None is the mean of the layer's heads."""
TEST = "test_2016_flickr"


def link_figures(model: WritingModel, data: Path, test: str = TEST) -> dict[str, float]:
    """Error rates in percent on test captions: aer, aer_untrained, aer_diagonal and aer_aligner.

    layer and head are 0-based, head -1 the mean of heads; aer_val is the rate they were chosen by;
    sentences: how many test captions.

    Raises:
        FileNotFoundError: the corpus is not in `data`.
    """
    chosen_on, reported_on = read_linked(data, "val"), read_linked(data, test)
    found: dict[str, float] = {"sentences": len(reported_on.examples)}
    for name, one in (("aer", model), ("aer_untrained", model.untrained())):
        rates = error_rates(one, chosen_on)
        layer, head = min(rates, key=lambda place: rates[place])
        found[name] = error_rates(one, reported_on)[layer, head]
        if name == "aer":
            found["layer"] = layer
            found["head"] = -1 if head is None else head
            found["aer_val"] = rates[layer, head]
    pairs = [(source.split(), target.split()) for source, target in read_split(data, "train")]
    aligner = Aligner.train(pairs)
    texts = [(one.text.split(), one.references[0].split()) for one in reported_on.examples]
    found["aer_aligner"] = _rate(reported_on, [aligner.links(*text) for text in texts])
    found["aer_diagonal"] = _rate(reported_on, [diagonal_links(len(s), len(t)) for s, t in texts])
    return found


def error_rates(model: WritingModel, linked: Dataset) -> Mapping[Place, float]:
    """The error rate in percent of every head and of the mean of each layer's.

    The model reads the given translations.
    """
    requests = [
        Request(model.card.name, one.text, target=one.references[0]) for one in linked.examples
    ]
    traces = [model.trace([request])[0] for request in requests]
    rates: dict[Place, float] = {}
    for layer in range(model.network.config.layers):
        for head in (*range(model.network.config.heads), None):
            links = [attention_links(trace, layer, head) for trace in traces]
            rates[layer, head] = _rate(linked, links)
    return rates


def _rate(linked: Dataset, made: Sequence[Links]) -> float:
    total = LinkCounts()
    for links, example in zip(made, linked.examples, strict=True):
        total += count_links(links, example.sure, example.possible)
    return 100 * total.error_rate
