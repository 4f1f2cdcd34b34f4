"""Translation: training of translators, quality by sentence length, and evaluation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from areaviz.cards.card import LENGTH_PENALTY, Card, read_card, write_card
from areaviz.cards.tasks import TASKS
from areaviz.lab.heads import (
    LINKED_SITE,
    LINKS_TEST,
    choose_best,
    collect_linked_maps,
    compare_spans,
    compute_diagonal_error_rate,
    compute_error_rates,
    get_figures_of_head,
    link_figures,
    make_requests_of_pairs,
    measure_best_alignment,
    measure_heads_at_places,
    measure_heads_for_card,
    measure_word_spans,
    read_pairs,
)
from areaviz.lab.loop import (
    Description,
    TrainConfig,
    optimise_for_training,
    read_training_texts,
    take_best,
)
from areaviz.lab.measure import Measured, Options, choose_linked_opening, choose_openings
from areaviz.lab.multi30k import Pair, read_linked, read_split
from areaviz.lab.sentences import (
    SampledPairs,
    compute_cross_entropy,
    find_longest,
    mean_loss,
    read_made,
    run_tokenizer,
    sum_loss,
)
from areaviz.measures.heads import WANTED, choose_span_head
from areaviz.models.base import TOKENIZER
from areaviz.models.generation import GENERATION_NETWORKS, GenerationModel
from areaviz.models.network import GenerationNetwork
from areaviz.models.tokenizer import Batch, IdPair, Tokenizer, collate_pairs, group_by_length
from areaviz.samples.dataset import Dataset
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request

# Training of translators on sentence pairs, with batches of similar length and label smoothing.
#
# Shapes: B sentences, T target items, V vocabulary.


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationConfig(TrainConfig):
    """The recipe of a translator. Its `model` has further options of the network.

    Args:
        level: "character" or "token".
        vocabulary: Maximum number of tokens in the tokenizer.
        batch_tokens: Target tokens per batch, including padding.
        network: A key of `GENERATION_NETWORKS`.
        size: Size of a Transformer: "Tiny", "Small", "Base" or "Big". "" for other networks.
        max_length: Maximum number of tokens in a training sentence. Pairs with a longer sentence
            are left out.
        label_smoothing: Label smoothing for the next token, 0 to 1.
        source: Language of the sources.
        target: Language of the targets.
        made: Names of made pairs that are added to the training pairs, see `read_made`.
        sampling: Exponent of subword sampling, see `SampledPairs`. 0 turns sampling off and uses
            the most probable subwords.
        start_run: Name of the run whose best weights this run starts from, or "" for none.
    """

    level: str
    vocabulary: int
    batch_tokens: int
    network: str = "transformer"
    size: str = "Tiny"
    max_length: int = 1000
    label_smoothing: float = 0.1
    source: str = "en"
    target: str = "de"
    made: Sequence[str] = ()
    sampling: float = 0.0
    start_run: str = ""


@dataclass(slots=True)
class Translation:
    """The task: sentence pairs as ids, each with its end symbol."""

    Recipe: ClassVar[type[TrainConfig]] = TranslationConfig

    config: TranslationConfig
    tokenizer: Tokenizer
    network: GenerationNetwork
    train_pairs: Sequence[IdPair]
    valid_pairs: Sequence[IdPair]
    device: torch.device
    # The training pairs with all their segmentations, if subwords are sampled.
    sampled: SampledPairs | None = None

    @classmethod
    def build(
        cls, config: TranslationConfig, data: Path, folder: Path, device: torch.device
    ) -> Self:
        """Read the corpus from `data`, learn the run's tokenizer once and make the network."""
        train, valid = cls.read(config, data, "train"), cls.read(config, data, "val")
        learned, symbols = cls.texts(train)
        path = folder / TOKENIZER
        tokenizer = run_tokenizer(
            path, learned, config.vocabulary, config.level, symbols, start_run=config.start_run
        )
        # Train the tokenizer only on gold sentences, so that models with and without made pairs can
        # be compared.
        for name in config.made:
            train += read_made(folder.parent, name)
        pairs, texts = [], []
        for text, ids in zip(train, encode_pairs(tokenizer, train), strict=True):
            if max(map(len, ids)) <= config.max_length:
                texts.append(text)
                pairs.append(ids)
        sampled = SampledPairs.of(tokenizer, texts, config.sampling) if config.sampling else None
        torch.manual_seed(config.seed)
        build = GENERATION_NETWORKS[config.network][1]
        network = optimise_for_training(
            build(make_network_options(config, len(tokenizer))).to(device), device
        )
        if config.start_run:
            take_best(network, folder.parent / config.start_run, device)
        return cls(
            config, tokenizer, network, pairs, encode_pairs(tokenizer, valid), device, sampled
        )

    @classmethod
    def read(cls, config: TranslationConfig, data: Path, split: str) -> list[Pair]:
        """Return the sentence pairs of "train" or "val"."""
        return read_split(data, split, config.source, config.target)

    @classmethod
    def texts(cls, pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
        """Return the tokenizer's training texts, and the symbols that are never split."""
        return [text for pair in pairs for text in pair], []

    def batches(self, first_step: int) -> Iterator[Batch]:
        """Yield shuffled length buckets without end."""
        step, epoch = 0, 0
        while True:
            # The order depends only on the number of the epoch. A resumed run can therefore skip
            # the batches that were used before.
            seed = self.config.seed * 1_000_003 + epoch
            groups = group_by_length(self.train_pairs, self.config.batch_tokens, seed)
            for number, group in list(enumerate(groups))[max(0, first_step - step) :]:
                rng = np.random.default_rng((seed, number))
                yield collate_pairs([self._pair(index, rng) for index in group]).to(self.device)
            step, epoch = step + len(groups), epoch + 1

    def _pair(self, index: int, rng: np.random.Generator) -> IdPair:
        """Return a training pair, with sampled subwords if the recipe asks for them."""
        return self.sampled.draw(index, rng) if self.sampled else self.train_pairs[index]

    def loss(self, batch: Batch) -> Tensor:
        """Compute the cross-entropy of the next token with label smoothing, in nats."""
        logits_BTV = self.network(batch.source, batch.target_in)
        return compute_cross_entropy(
            logits_BTV.float(), batch.target_out, self.config.label_smoothing
        )

    def validate(self, step: int) -> dict[str, float]:
        """Measure the cross-entropy per token without label smoothing, in nats."""
        totals = []
        for group in group_by_length(self.valid_pairs, self.config.batch_tokens, seed=None):
            batch = collate_pairs([self.valid_pairs[i] for i in group]).to(self.device)
            totals.append(sum_loss(self.network(batch.source, batch.target_in), batch.target_out))
        loss = mean_loss(totals)
        return {"valid_loss": loss, "score": loss}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        recipe, options = self.config, self.network.config
        size = f" ({recipe.size})" if recipe.size else ""
        made = f", and pairs that models made ({', '.join(recipe.made)})" if recipe.made else ""
        texts = read_training_texts("translation", made=made)
        return Description(
            family=recipe.network,
            title=f"{recipe.level.capitalize()}s, {options.about}{size}",
            task="translation",
            level=recipe.level,
            mechanism=options.mechanism,
            size=recipe.size,
            trained_length=find_longest(source for source, _ in self.train_pairs),
            config=asdict(options),
            data=texts.data,
            limits=texts.limits,
            licence=texts.licence,
            recipe={
                "length_limit": compute_length_limit(self.valid_pairs),
                "chosen_by": "the last steps" if recipe.keep_average else "validation loss",
            },
        )


def make_network_options(config: TranslationConfig, vocabulary: int) -> Any:
    """Return the options of the network that a recipe describes.

    Raises:
        InputError: The size does not exist.
    """
    options = GENERATION_NETWORKS[config.network][0]
    if config.size:
        return options.from_size(config.size, vocabulary, **config.model)
    return options(vocabulary, **config.model)


def encode_pairs(tokenizer: Tokenizer, pairs: Sequence[Pair]) -> list[IdPair]:
    """Return sentence pairs as ids, each with its end symbol."""
    return [(tokenizer.ids(source), tokenizer.ids(target)) for source, target in pairs]


def compute_length_limit(pairs: Sequence[IdPair]) -> dict[str, Any]:
    """Return "ratio" and "extra", which limit the number of tokens in an output.

    No validation target is longer than ratio * source + extra.
    """
    source = np.array([len(one) for one, _ in pairs])
    target = np.array([len(one) for _, one in pairs])
    # The ratio is a quantile of 99 %, so that a single unusual pair cannot change it. `extra`
    # covers the remaining pairs.
    ratio = round(float(np.quantile(target / source, 0.99)), 2)
    return {"ratio": ratio, "extra": max(0, math.ceil((target - ratio * source).max()))}


# Translation quality by sentence length, for thirds of a dataset with bootstrap intervals.
#
# BLEU is computed by sacrebleu, cased and with 13a tokens. Its counts of n-grams are computed once
# per sentence, so a resample is a sum of counts.
#
# Shapes: N sentences, S resamples, C counts per sentence: correct n-grams of each order, all
# n-grams of each order, and the tokens of hypothesis and reference.


THIRDS = ("short", "middle", "long")
"""The names of the thirds of a dataset, by the length of its sources."""
_ORDERS = 4
_RESAMPLES, _SEED = 1000, 12345
_TAILS = (2.5, 97.5)
"""The percentiles that enclose 95 % of the resamples."""

Texts = Sequence[str]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def split_by_length(sources: Texts) -> Mapping[str, Ints]:
    """Return the indices of the shortest, middle and longest sentences by number of words."""
    order = np.argsort([len(source.split()) for source in sources], kind="stable")
    return dict(zip(THIRDS, np.array_split(order, len(THIRDS)), strict=True))


def compute_bleu_by_length(
    hypotheses: Texts, references: Texts, sources: Texts, resamples: int = _RESAMPLES
) -> dict[str, float]:
    """Return BLEU of each third, with its 95 % interval and the mean words of its sources.

    The keys are bleu_short, bleu_short_low, bleu_short_high and words_short, and so on. A third
    without sentences has no keys.

    Raises:
        ValueError: The numbers of hypotheses, references and sources differ.
    """
    _check(sources, hypotheses, references)
    counts_NC, rng = _count_matches(hypotheses, references), np.random.default_rng(_SEED)
    figures: dict[str, float] = {}
    for name, places in split_by_length(sources).items():
        if not len(places):
            continue
        found_S = _compute_bleus(_resample_counts(counts_NC[places], rng, resamples))
        low, high = np.percentile(found_S, _TAILS)
        figures[f"bleu_{name}"] = _compute_bleu(counts_NC[places].sum(0))
        figures[f"bleu_{name}_low"], figures[f"bleu_{name}_high"] = float(low), float(high)
        words = [len(sources[place].split()) for place in places.tolist()]
        figures[f"words_{name}"] = float(np.mean(words))
    return figures


def compute_gains_by_length(
    system: Texts, baseline: Texts, references: Texts, sources: Texts, resamples: int = _RESAMPLES
) -> dict[str, float]:
    """Return the gain of a system over a baseline in BLEU: all, short, middle, long, and growth.

    Growth is the gain in the longest third minus that in the shortest. growth_low and growth_high
    are the limits of its 95 % interval, from a paired bootstrap within each third.

    Raises:
        ValueError: As for `compute_bleu_by_length`, or there are fewer than three sentences.
    """
    _check(sources, system, baseline, references)
    if len(sources) < len(THIRDS):
        raise ValueError(f"Gains by length need at least 3 sentences, got {len(sources)}.")
    both_NC = np.hstack([_count_matches(system, references), _count_matches(baseline, references)])
    gains = {"all": _compute_gain(both_NC.sum(0))}
    rng, resampled = np.random.default_rng(_SEED), {}
    for name, places in split_by_length(sources).items():
        gains[name] = _compute_gain(both_NC[places].sum(0))
        sums_SC = _resample_counts(both_NC[places], rng, resamples)
        resampled[name] = np.array([_compute_gain(sums_C) for sums_C in sums_SC])
    gains["growth"] = gains["long"] - gains["short"]
    low, high = np.percentile(resampled["long"] - resampled["short"], _TAILS)
    return {**gains, "growth_low": float(low), "growth_high": float(high)}


def _count_matches(hypotheses: Texts, references: Texts) -> Ints:
    """Return the counts of each sentence, int64 [N, C]."""
    from sacrebleu.metrics.bleu import BLEU

    metric, rows = BLEU(), []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        found = metric.corpus_score([hypothesis], [[reference]])
        rows.append([*found.counts, *found.totals, found.sys_len, found.ref_len])
    return np.array(rows, np.int64)


def _resample_counts(counts_NC: Ints, rng: np.random.Generator, resamples: int) -> Ints:
    """Return the summed counts of resamples with N sentences drawn with replacement: [S, C]."""
    count = len(counts_NC)
    drawn_SN = rng.multinomial(count, np.full(count, 1 / count), resamples)
    sums_SC: Ints = drawn_SN @ counts_NC
    return sums_SC


def _compute_bleus(sums_SC: Ints) -> Floats:
    return np.array([_compute_bleu(sums_C) for sums_C in sums_SC])


def _compute_bleu(sums_C: Ints) -> float:
    """Return BLEU, 0..100, from summed counts."""
    from sacrebleu.metrics.bleu import BLEU

    correct, total = sums_C[:_ORDERS].tolist(), sums_C[_ORDERS : 2 * _ORDERS].tolist()
    hypothesis, reference = sums_C[2 * _ORDERS :].tolist()
    return float(BLEU.compute_bleu(correct, total, hypothesis, reference, "exp").score)


def _compute_gain(sums_C: Ints) -> float:
    """Return the BLEU of the first half of the counts minus that of the second half."""
    half = len(sums_C) // 2
    return _compute_bleu(sums_C[:half]) - _compute_bleu(sums_C[half:])


def _check(sources: Texts, *others: Texts) -> None:
    if any(len(texts) != len(sources) for texts in others):
        counts = [len(texts) for texts in (sources, *others)]
        raise ValueError(f"Figures by length need one text of each kind a sentence, got {counts}.")


# Evaluation of translators on held-out sentences, for the figures of their cards.


PENALTIES = tuple(round(0.2 * step, 1) for step in range(11))
"""The length penalties of beam search from which validation chooses."""
LINKS, LINKED_WORDS, BEST_ALIGNMENT = "word links", "linked words", "best alignment"
"""Entries of `Card.attention` for error rates of single heads, for spans that contain linked words,
and for the error rate of the best alignment.
"""


def evaluate_translation(
    model: GenerationModel, data: Path, split: str, options: Options
) -> Measured:
    """Measure a translator on a split.

    "val" chooses the length penalty and how pages first show the model, and it measures every head.
    The task's headline split measures the heads that "val" chose. Other splits measure no
    attention, because the card has room for one test split.

    Raises:
        InputError: "val" has not been measured yet.
    """
    card = model.card
    is_headline = split == TASKS[card.task].headline
    measures_heads = bool(options.traces and model.network.config.layers)
    if split != "val":
        _check_chosen(card, split, options, measures_heads and is_headline)
    pairs = read_pairs(card, data, split)
    written = _write_translations(model, pairs, split, options) if options.outputs else Measured({})
    if not measures_heads or not (split == "val" or is_headline):
        return written
    chosen = pairs[: options.traces]
    if split == "val":
        linked = read_linked(data, "val")
        heads = _measure_heads(model, linked, chosen)
        best = choose_best(collect_linked_maps(model, linked), card.mechanism == "area")
        first = replace(choose_linked_opening(model, heads[LINKED_SITE], linked), best=best)
        opening = {**choose_openings(heads), LINKED_SITE: first}
        spans = _choose_span_figures(card, heads)
        return replace(written, heads=heads, attention=spans, opening=opening)
    return replace(written, attention=_measure_on_test(model, data, chosen))


def _check_chosen(card: Card, split: str, options: Options, measures_heads: bool) -> None:
    """Check that "val" has chosen what this split needs.

    Raises:
        InputError: The length penalty or the heads have not been chosen yet.
    """
    lacks_penalty = options.outputs and options.beam > 1 and card.length_penalty is None
    if lacks_penalty or measures_heads and not card.heads:
        raise InputError(
            'Measure the split "val" first: the length penalty and the heads are chosen on'
            f' it, not on "{split}".'
        )


def _write_translations(
    model: GenerationModel, pairs: Sequence[Pair], split: str, options: Options
) -> Measured:
    """Translate and score. On "val", choose the length penalty with the best BLEU."""
    from areaviz.measures.references import compute_bleu_and_chrf, score_translations

    sources, references = zip(*pairs, strict=True)
    requests = [Request(model.card.name, text, options.method, options.beam) for text in sources]
    penalty = model.length_penalty
    if split == "val" and options.beam > 1:
        texts = model.generate_outputs_by_penalty(requests, PENALTIES)
        scores = [compute_bleu_and_chrf(one, references)[0] for one in texts]
        best = scores.index(max(scores))
        penalty, outputs = PENALTIES[best], texts[best]
    else:
        outputs = model.generate_outputs(requests)
    figures: dict[str, Any] = {**score_translations(outputs, references), "beam": options.beam}
    figures |= compute_bleu_by_length(outputs, references, sources)
    if options.beam == 1:
        return Measured(figures, outputs=outputs)
    figures["length_penalty"] = penalty
    chosen = {LENGTH_PENALTY: penalty} if split == "val" else {}
    return Measured(figures, outputs=outputs, chosen=chosen)


def _measure_heads(
    model: GenerationModel, linked: Dataset, pairs: Sequence[Pair]
) -> dict[str, dict[str, Any]]:
    """Return the figures of every head on validation, with error rates on linked captions."""
    heads = measure_heads_for_card(model, make_requests_of_pairs(model.card, pairs))
    rates = compute_error_rates(model, linked)
    config = model.network.config
    heads[LINKED_SITE]["aer"] = [
        [round(rates[layer, head], 4) for head in range(config.heads)]
        for layer in range(config.layers)
    ]
    heads[LINKED_SITE]["aer_diagonal"] = round(compute_diagonal_error_rate(linked), 4)
    return heads


def _choose_span_figures(
    card: Card, heads: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, float]]:
    """Return the validation figures of the head chosen for spans, at each site of `WANTED`."""
    found = {}
    for site in sorted(WANTED.keys() & heads.keys()):
        place = choose_span_place(card, heads, site)
        found[f"{site}, spans, val"] = (
            get_figures_of_head(heads[site], place) if place else {"multi_share": 0.0}
        )
    return found


def choose_span_place(
    card: Card, heads: Mapping[str, Mapping[str, Any]], site: str
) -> tuple[int, int] | None:
    """Return the layer and head (from 0) that are chosen for spans on validation, or None."""
    figures = heads[site]
    by_words = card.level == "character"
    found = choose_span_head(figures, figures["dependence_untrained"], WANTED[site], by_words)
    return (found.layer, found.head) if found else None


def _measure_on_test(model: GenerationModel, data: Path, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return all measures of attention on the headline split, for the heads that "val" chose."""
    card = model.card
    read = [Request(card.name, source) for source, _ in pairs]
    together = compare_spans(model, read)
    attention = {site: {**values, "sentences": len(pairs)} for site, values in together.items()}
    places = {
        site: choose_span_place(card, card.heads, site) for site in sorted(WANTED.keys() & together)
    }
    spans = measure_heads_at_places(model, make_requests_of_pairs(card, pairs), places)
    for site, entry in spans.items():
        if places[site]:
            entry["dependence_untrained"] = card.heads[site]["dependence_untrained"]
        attention[f"{site}, spans"] = entry | {"sentences": len(pairs)}
    attention[LINKS] = link_figures(model, data)
    attention[LINKED_WORDS] = measure_word_spans(model, card.heads[LINKED_SITE], data)
    best = card.bests.get(LINKED_SITE)
    if best is not None:
        linked = (read_linked(data, split) for split in ("val", LINKS_TEST))
        attention[BEST_ALIGNMENT] = measure_best_alignment(model, best, *linked)
    return attention


def state_difference(
    folder: Path,
    baseline: Path,
    split: str,
    hypotheses: Path,
    baseline_hypotheses: Path,
    data: Path,
) -> str:
    """Compare two checkpoints by approximate randomisation and write the result to both cards.

    The first card also gets its gain by sentence length (`compute_gains_by_length`), as figures of
    the split such as "over BASELINE, all".

    Args:
        folder: One checkpoint.
        baseline: The other checkpoint.
        split: Split on which both were measured.
        hypotheses: File with one translation per line, as `areaviz evaluate --output` writes it.
        baseline_hypotheses: Such a file for the other checkpoint.
        data: Folder of the corpora.

    Returns:
        The note.

    Raises:
        InputError: The files do not have one line per reference.
    """
    from areaviz.measures.references import compare_systems

    card, other = read_card(folder / "card.json"), read_card(baseline / "card.json")
    sources, references = zip(*read_pairs(card, data, split), strict=True)
    lines = []
    for path in (hypotheses, baseline_hypotheses):
        lines.append(path.read_text(encoding="utf-8").splitlines())
        if len(lines[-1]) != len(references):
            raise InputError(
                f"{path.name} has {len(lines[-1]):,} lines but {split} has"
                f" {len(references):,} sentences. Write it with `areaviz evaluate --split"
                f" {split} --output`."
            )
    bleu = compare_systems(lines[0], lines[1], references)["bleu"]
    note = (
        f"{card.name} against {other.name} on {split}: {bleu.difference:+.2f} BLEU"
        f" ({bleu.system:.2f} and {bleu.baseline:.2f}), two-sided p = {bleu.p_value:.3f} by"
        f" approximate randomisation over {len(references):,} sentences; one training run each"
        " with the same seed, so the spread between seeds is not in this figure."
    )
    gains = compute_gains_by_length(lines[0], lines[1], references, sources)
    named = {f"over {other.name}, {part}": gain for part, gain in gains.items()}
    card = replace(card, figures={**card.figures, split: {**card.figures.get(split, {}), **named}})
    for one, path in ((card, folder), (other, baseline)):
        others = [old for old in one.notes if not old.startswith(note.split(":")[0])]
        write_card(replace(one, notes=(*others, note)), path / "card.json")
    return note
