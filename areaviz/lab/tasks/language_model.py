"""Language models: their n-gram baseline, training on captions, and evaluation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.lab.heads import (
    compare_spans,
    get_figures_of_head,
    measure_heads_at_places,
    measure_heads_for_card,
)
from areaviz.lab.loop import Description, TrainConfig, optimise_for_training, read_training_texts
from areaviz.lab.measure import AT_LEAST, Measured, Options, choose_openings
from areaviz.lab.multi30k import read_captions
from areaviz.lab.sentences import (
    compute_cross_entropy,
    find_longest,
    mean_loss,
    run_tokenizer,
    sum_loss,
)
from areaviz.measures.heads import choose_span_head
from areaviz.models.base import TOKENIZER
from areaviz.models.generation import GENERATION_NETWORKS, LanguageModel
from areaviz.models.language import SITE
from areaviz.models.network import GenerationNetwork
from areaviz.models.tokenizer import PAD, START, Tokenizer, group_by_length, pad_rows, shift_targets
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request

# N-gram language models, the baseline of a neural language model.
#
# They are smoothed by interpolated Kneser-Ney (Kneser and Ney 1995; Chen and Goodman 1999, Eq. 16),
# the best of the count-based models. With a count c, a discount D and h' the context h without its
# first item:
#
#     p(w | h) = max(c(h w) - D, 0) / c(h) + D |{w: c(h w) > 0}| / c(h) * p(w | h')
#
# Below the longest contexts, c is the number of distinct contexts in which h w occurs, not its
# frequency.


Items = tuple[int, ...]
USUAL_DISCOUNT = 0.5
"""Discount if there are too few counts to estimate it."""


@dataclass(frozen=True, slots=True)
class _Level:
    """The counts of n-grams whose contexts have one length."""

    # Count of each context with the item that follows it.
    counts: Mapping[Items, int]
    # By context: the sum of its counts, and the number of distinct items that follow it.
    totals: Mapping[Items, int]
    followers: Mapping[Items, int]
    discount: float


@dataclass(frozen=True, slots=True)
class NGrams:
    """Counts of items after contexts of up to `order` - 1 items."""

    vocabulary: int
    start: int
    # Levels by length of context, the empty context first.
    levels: tuple[_Level, ...]

    @property
    def order(self) -> int:
        """The length of the longest n-gram: 1 for single items, 2 for pairs."""
        return len(self.levels)

    @classmethod
    def count(
        cls, rows: Sequence[Sequence[int]], order: int, vocabulary: int, start: int
    ) -> NGrams:
        """Learn from rows of items.

        Args:
            rows: Rows of items, each with its end symbol.
            order: Length of the longest n-gram, 1 or more.
            vocabulary: Number of distinct items. Unseen items are equally probable.
            start: Symbol that pads the context of a row's first items. It is never predicted.
        """
        counts: Counter[Items] = Counter()
        for row in rows:
            counts.update(_list_ngrams(row, order, start))
        levels = [_make_level(counts)]
        while len(levels) < order:
            counts = Counter(gram[1:] for gram in counts)
            levels.append(_make_level(counts))
        return cls(vocabulary, start, tuple(reversed(levels)))

    def probability(self, context: Items, item: int) -> float:
        """Return the probability of an item after a context, above 0.

        Only the last `order` - 1 items of the context count.
        """
        likely = 1.0 / self.vocabulary
        for length, level in enumerate(self.levels):
            before = context[len(context) - length :]
            total = level.totals.get(before, 0)
            if total:
                own = max(level.counts.get((*before, item), 0) - level.discount, 0.0)
                likely = (own + level.discount * level.followers[before] * likely) / total
        return likely

    def nats(self, rows: Sequence[Sequence[int]]) -> float:
        """Return the negative log-likelihood of rows in nats. Each row includes its end symbol."""
        total = 0.0
        for row in rows:
            for gram in _list_ngrams(row, self.order, self.start):
                total -= math.log(self.probability(gram[:-1], gram[-1]))
        return total


def _list_ngrams(row: Sequence[int], order: int, start: int) -> list[Items]:
    """Return every item of a row with the `order` - 1 items before it."""
    padded = (start,) * (order - 1) + tuple(row)
    return [padded[first : first + order] for first in range(len(row))]


def _make_level(counts: Counter[Items]) -> _Level:
    totals: Counter[Items] = Counter()
    followers: Counter[Items] = Counter()
    for gram, count in counts.items():
        totals[gram[:-1]] += count
        followers[gram[:-1]] += 1
    seen = Counter(counts.values())
    once, twice = seen[1], seen[2]
    discount = once / (once + 2 * twice) if once and twice else USUAL_DISCOUNT
    return _Level(counts, totals, followers, discount)


# Training of language models on captions. They predict each next token of a caption.
#
# Shapes: B captions, T tokens, V vocabulary.


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingConfig(TrainConfig):
    """The recipe of a language model. Its `model` has the options of the network.

    Args:
        vocabulary: Maximum number of tokens in the tokenizer.
        batch_tokens: Tokens per batch, including padding.
        level: Level of the tokenizer: "character", "token" or "word".
        network: A key of `GENERATION_NETWORKS`, of a network without inputs.
    """

    vocabulary: int
    batch_tokens: int
    level: str = "token"
    network: str = "text decoder"


@dataclass(slots=True)
class LanguageModelTask:
    """The task: captions as ids, each with its end symbol."""

    Recipe: ClassVar[type[TrainConfig]] = ReadingConfig

    config: ReadingConfig
    tokenizer: Tokenizer
    network: GenerationNetwork
    train_rows: Sequence[list[int]]
    valid_rows: Sequence[list[int]]
    device: torch.device

    @classmethod
    def build(cls, config: ReadingConfig, data: Path, folder: Path, device: torch.device) -> Self:
        """Read the corpus from `data`, learn the run's tokenizer once and make the network."""
        train, valid = read_captions(data, "train"), read_captions(data, "val")
        tokenizer = run_tokenizer(folder / TOKENIZER, train, config.vocabulary, config.level)
        torch.manual_seed(config.seed)
        options, make = GENERATION_NETWORKS[config.network]
        made = make(options(len(tokenizer), **config.model))
        network = optimise_for_training(made.to(device), device)
        train_rows = [tokenizer.ids(text) for text in train]
        valid_rows = [tokenizer.ids(text) for text in valid]
        return cls(config, tokenizer, network, train_rows, valid_rows, device)

    def batches(self, first_step: int) -> Iterator[Tensor]:
        """Yield shuffled length buckets [B, T] without end."""
        step, epoch = 0, 0
        while True:
            # The order depends only on the number of the epoch. A resumed run can therefore skip
            # the batches that were used before.
            groups = self._groups(self.train_rows, self.config.seed * 1_000_003 + epoch)
            for group in groups[max(0, first_step - step) :]:
                yield pad_rows([self.train_rows[i] for i in group]).to(self.device)
            step, epoch = step + len(groups), epoch + 1

    def loss(self, batch: Tensor) -> Tensor:
        """Compute the cross-entropy of the next token, in nats."""
        return compute_cross_entropy(self.network(shift_targets(batch)).float(), batch)

    def validate(self, step: int) -> dict[str, float]:
        """Measure the cross-entropy per token, in nats."""
        totals = []
        for group in self._groups(self.valid_rows, None):
            batch_BT = pad_rows([self.valid_rows[i] for i in group]).to(self.device)
            totals.append(sum_loss(self.network(shift_targets(batch_BT)), batch_BT))
        loss = mean_loss(totals)
        return {"valid_loss": loss, "score": loss}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        options, texts = self.network.config, read_training_texts("reading")
        return Description(
            family=self.config.network,
            title=f"Language model, {options.about}",
            task="reading",
            level=self.config.level,
            mechanism=options.mechanism,
            trained_length=find_longest(self.train_rows),
            config=asdict(options),
            data=texts.data,
            limits=texts.limits,
            licence=texts.licence,
            recipe={"chosen_by": "validation loss", "source": "en"},
        )

    def _groups(self, rows: Sequence[list[int]], seed: int | None) -> list[list[int]]:
        return group_by_length([(row, row) for row in rows], self.config.batch_tokens, seed)


# Evaluation of language models on held-out captions, for the figures of their cards.
#
# Shapes: B captions, T subwords, V vocabulary.


NGRAM_ORDERS = {"unigram": 1, "bigram": 2, "trigram": 3}
"""N-gram models to compare with, and the length of their n-grams."""
BATCH_TOKENS = 2000
"""Number of subwords per batch, including padding."""
SPANS = f"{SITE}, spans"
"""Entry of `Card.attention` for the head whose top areas have several items most often."""


def evaluate_reading(model: LanguageModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a language model on a split: the probability of captions, and its attention.

    "val" measures every head and chooses the one whose spans are reported on other splits.

    Raises:
        InputError: "val" has not been measured yet.
    """
    is_chosen = bool(model.card.heads)
    if options.traces and split != "val" and not is_chosen:
        raise InputError(
            f'Measure the split "val" first: the head is chosen on it, not on "{split}".'
        )
    texts = read_captions(data, split)
    figures = measure_texts(model, texts, read_captions(data, "train")) if options.outputs else {}
    if not options.traces:
        return Measured(figures)
    requests = [Request(model.card.name, text, target="") for text in texts[: options.traces]]
    if split == "val":
        heads = measure_heads_for_card(model, requests)
        chosen = {f"{SPANS}, val": _get_span_figures(heads[SITE])}
        return Measured(figures, chosen, heads=heads, opening=choose_openings(heads))
    return Measured(figures, _measure_on_test(model, requests))


def measure_texts(
    model: LanguageModel, texts: Sequence[str], train: Sequence[str]
) -> dict[str, Any]:
    """Return the probability of texts, token by token, including the end of each text.

    perplexity is e to the mean negative logarithm of a token's probability. bits_a_character is the
    cost of all tokens in bits per character, which does not depend on how texts are split. unigram,
    bigram and trigram are the perplexities of n-gram models of the training texts (`NGrams`).
    untrained is the perplexity of the untrained network. of_bigram is the perplexity divided by
    that of bigrams.
    """
    rows = [model.tokenizer.ids(text) for text in texts]
    known = [model.tokenizer.ids(text) for text in train]
    pieces, characters = sum(map(len, rows)), sum(map(len, texts))
    nats = _compute_loss_nats(model, rows)
    found: dict[str, Any] = {
        "perplexity": math.exp(nats / pieces),
        "bits_a_character": nats / math.log(2) / characters,
    }
    for name, order in NGRAM_ORDERS.items():
        counted = NGrams.count(known, order, len(model.tokenizer), START)
        found[name] = math.exp(counted.nats(rows) / pieces)
    found["untrained"] = math.exp(_compute_loss_nats(model.make_untrained(), rows) / pieces)
    found["of_bigram"] = found["perplexity"] / found["bigram"]
    return {**found, "captions": len(texts), "pieces": pieces}


@torch.inference_mode()
def _compute_loss_nats(model: LanguageModel, rows: Sequence[list[int]]) -> float:
    """Return the negative log-likelihood that a model gives to rows of ids, in nats."""
    total = 0.0
    for group in group_by_length([(row, row) for row in rows], BATCH_TOKENS, None):
        target_BT = pad_rows([rows[index] for index in group]).to(model.device)
        logits_BTV = model.network(shift_targets(target_BT)).float()
        total += F.cross_entropy(
            logits_BTV.flatten(0, 1), target_BT.flatten(), ignore_index=PAD, reduction="sum"
        ).item()
    return total


def _measure_on_test(
    model: LanguageModel, requests: Sequence[Request]
) -> dict[str, dict[str, float]]:
    """Return the figures of all heads together, and those of the head that "val" chose."""
    together = compare_spans(model, requests)
    known = model.card.heads[SITE]
    place = _find_span_place(known)
    spans = measure_heads_at_places(model, requests, {SITE: place})[SITE]
    if place is not None:
        spans["dependence_untrained"] = known["dependence_untrained"]
    found = {**together, SPANS: spans}
    return {name: {**values, "captions": len(requests)} for name, values in found.items()}


def _get_span_figures(figures: Mapping[str, Any]) -> dict[str, float]:
    """Return the validation figures of the head whose top areas have several items most often."""
    place = _find_span_place(figures)
    return {"multi_share": 0.0} if place is None else get_figures_of_head(figures, place)


def _find_span_place(figures: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the layer and head whose top areas have several items most often, or None.

    The head must depend on its query more than any head of the untrained network.
    """
    found = choose_span_head(figures, figures["dependence_untrained"], (AT_LEAST, 1.0), words=False)
    return None if found is None else (found.layer, found.head)
