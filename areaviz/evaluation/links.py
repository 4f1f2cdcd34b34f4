"""How well a translator's attention links words that were linked by hand, beside what could
embarrass it.

One head of one layer, or the mean of a layer's heads, is chosen on validation captions and measured
on test captions; beside it the diagonal, a statistical aligner trained on the same corpus, and the
same network untrained, whose head is chosen in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path

from areaviz.data.examples import Dataset
from areaviz.data.multi30k import read_split
from areaviz.data.word_links import read_linked
from areaviz.metrics.aer import LinkCounts, Links, attention_links, count_links
from areaviz.metrics.aligner import Aligner, diagonal_links
from areaviz.models.eval_mode import untrained
from areaviz.models.transformer import Transformer
from areaviz.models.translation import Translator
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

Place = tuple[int, int | None]
"""A layer and a head, 0-based; None is the mean of the layer's heads."""
TEST = "test_2016_flickr"


def link_figures(model: Translator, data: Path, test: str = TEST) -> dict[str, float]:
    """Error rates in percent on test captions: aer, aer_untrained, aer_diagonal and aer_aligner.

    layer and head are 0-based, head -1 the mean of heads; aer_val is the rate they were chosen by;
    sentences: how many test captions.

    Raises:
        FileNotFoundError: the corpus is not in `data`.
    """
    chosen_on, reported_on = read_linked(data, "val"), read_linked(data, test)
    network = untrained(Transformer, model.network.config, model.network.embedding.weight.device)
    found: dict[str, float] = {"sentences": len(reported_on.examples)}
    for name, one in (("aer", model), ("aer_untrained", replace(model, network=network))):
        rates = error_rates(one, chosen_on)
        layer, head = min(rates, key=lambda place: rates[place])
        found[name] = error_rates(one, reported_on)[layer, head]
        if name == "aer":
            found |= {
                "layer": layer,
                "head": -1 if head is None else head,
                "aer_val": rates[layer, head],
            }
    pairs = [(source.split(), target.split()) for source, target in read_split(data, "train")]
    aligner = Aligner.train(pairs)
    texts = [(one.text.split(), one.references[0].split()) for one in reported_on.examples]
    found["aer_aligner"] = _rate(reported_on, [aligner.links(*text) for text in texts])
    found["aer_diagonal"] = _rate(reported_on, [diagonal_links(len(s), len(t)) for s, t in texts])
    return found


def error_rates(model: Translator, linked: Dataset) -> Mapping[Place, float]:
    """The error rate in percent of every head and of the mean of each layer's, reading the given
    translations.
    """
    traces = [_given(model, one.text, one.references[0]) for one in linked.examples]
    config = model.network.config
    places: list[Place] = [
        (layer, head) for layer in range(config.layers) for head in (*range(config.heads), None)
    ]
    return {
        place: _rate(linked, [attention_links(trace, *place) for trace in traces])
        for place in places
    }


def _given(model: Translator, source: str, target: str) -> Trace:
    return model.trace([Request(model.card.name, source, target=target)])[0]


def _rate(linked: Dataset, made: Sequence[Links]) -> float:
    pairs = zip(made, linked.examples, strict=True)
    counts = [count_links(links, one.sure, one.possible) for links, one in pairs]
    return 100 * reduce(add, counts, LinkCounts()).error_rate
