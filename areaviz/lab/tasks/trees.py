"""Trees: the corpus GUM, training of parsers, and evaluation of the trees that they write."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from areaviz.cards.card import GRAMMAR, LENGTH_PENALTY
from areaviz.lab.loop import Description, TrainConfig, read_training_texts
from areaviz.lab.measure import Measured, Options
from areaviz.lab.multi30k import Pair
from areaviz.lab.tasks.translation import PENALTIES, Translation, TranslationConfig
from areaviz.measures.references import (
    BracketScores,
    SpanHits,
    count_span_hits,
    list_openings,
    make_flat_tree,
    score_brackets,
)
from areaviz.measures.spans import Array
from areaviz.models.generation import GenerationModel
from areaviz.models.recurrent import RECURRENT_SITE
from areaviz.trace.query import item_shares, query_dependence
from areaviz.trace.request import Request

# Sentences with their constituency trees from the GUM corpus (Zeldes 2017), one tree per line.
#
# A parser made the trees from manual part-of-speech tags, so a model learns the decisions of that
# parser. Texts of some genres are for non-commercial use only, so the corpus is not part of this
# repository. The user's file has gzip-compressed lines of six tab-separated columns: split,
# document, genre, words separated by spaces, their tags, and the linear tree without functions,
# traces and root.


MAX_WORDS = 20
"""Maximum number of words in a sentence to parse."""
TREEBANK_SPLITS = {"train": "train", "val": "dev", "test": "test", "test_genres": "test2"}
"""Maps this project's names of splits to the corpus's names. The genres of "test_genres" (GENTLE)
do not occur in training."""
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]"}


@dataclass(frozen=True, slots=True)
class Parsed:
    """A sentence and its tree."""

    # Words and punctuation, separated by single spaces.
    text: str
    # A linear tree, see `areaviz.trace.kinds`.
    tree: str
    genre: str

    @property
    def words(self) -> int:
        """The number of words and punctuation marks."""
        return len(self.text.split(" "))


def read_treebank(data: Path, split: str, longest: int = MAX_WORDS) -> list[Parsed]:
    """Read the sentences of "train", "val", "test" or "test_genres" with at most `longest` words.

    Raises:
        FileNotFoundError: The corpus is not in `data`.
    """
    path = data / "treebank" / "gum.linear.tsv.gz"
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing. Make it from GUM's trees (areaviz/lab/tasks/trees.py says how)."
        )
    return [one for one in _iterate_sentences(path, TREEBANK_SPLITS[split]) if one.words <= longest]


def _iterate_sentences(path: Path, split: str) -> Iterator[Parsed]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            own, _, genre, words, _, tree = line.rstrip("\n").split("\t")
            if own == split:
                text = " ".join(_BRACKETS.get(word, word) for word in words.split())
                yield Parsed(text, tree, genre)


# Training of parsers: translators from a sentence to its tree, written as a sequence of tokens.
#
# Vinyals et al. 2015, "Grammar as a foreign language".


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsingConfig(TranslationConfig):
    """The recipe of a parser.

    Args:
        longest_trained: Maximum number of words in a training sentence. Validation sentences have
            at most `LONGEST` words.
        grammar: Grammar that the written trees must follow, a key of `GRAMMARS`, or "" for none.
    """

    longest_trained: int = MAX_WORDS
    grammar: str = "trees"


@dataclass(slots=True)
class Parsing(Translation):
    """The parsing task: sentences and their linearised trees."""

    Recipe: ClassVar[type[TrainConfig]] = ParsingConfig

    @classmethod
    def read(cls, config: TranslationConfig, data: Path, split: str) -> list[Pair]:
        """Read the sentences of "train" or "val" with their trees."""
        words = MAX_WORDS
        if split == "train" and isinstance(config, ParsingConfig):
            words = config.longest_trained
        return [(one.text, one.tree) for one in read_treebank(data, split, words)]

    @classmethod
    def texts(cls, pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
        """Return the sentences, and the symbols of the trees, which are one token each.

        The symbols are brackets and placeholders of words.
        """
        symbols = {token for _, tree in pairs for token in tree.split()}
        return [sentence for sentence, _ in pairs], sorted(symbols)

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        texts = read_training_texts("parsing", longest=MAX_WORDS, count=len(self.train_pairs))
        return replace(
            Translation.describe(self),
            title=f"Trees, {self.network.config.about}",
            task="parsing",
            data=texts.data,
            limits=texts.limits,
            licence=texts.licence,
        )


# Evaluation of parsers on held-out sentences, for the figures of their cards.


FREE = "_free"
"""Suffix of figures and choices of the model without its grammar."""
CHOSEN_ON = 200
"""Number of validation sentences that choose the head whose spans are reported."""
Sentences = Sequence[Parsed]


def evaluate_parsing(model: GenerationModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a parser on a split by its trees and the attention of its opening brackets.

    "val" chooses the length penalty. Attention is measured on the gold tree, given token by token.
    The reported head is chosen on validation.
    """
    sentences = read_treebank(data, split)
    written = _write_trees(model, sentences, split, options) if options.outputs else Measured({})
    if not options.traces:
        return written
    attention = {
        f"{RECURRENT_SITE}, {split}": measure_bracket_spans(
            model, sentences[: options.traces], data
        )
    }
    return Measured(written.figures, attention, outputs=written.outputs, chosen=written.chosen)


def _write_trees(
    model: GenerationModel, sentences: Sentences, split: str, options: Options
) -> Measured:
    """Write trees and score them.

    If the model has a grammar, the figures and choices that end with "_free" are those without it.
    """
    requests = [Request(model.card.name, s.text, options.method, options.beam) for s in sentences]
    gold = [one.tree for one in sentences]
    outputs, chosen = _choose_outputs(model, requests, gold, split, options)
    figures: dict[str, Any] = asdict(score_brackets(outputs, gold))
    if model.card.grammar:
        free, chosen_free = _choose_outputs(_without_grammar(model), requests, gold, split, options)
        scores = asdict(score_brackets(free, gold))
        figures |= {name + FREE: value for name, value in scores.items()}
        chosen |= {name + FREE: value for name, value in chosen_free.items()}
    figures |= {
        "f1_flat": score_brackets([make_flat_tree(one.words) for one in sentences], gold).f1,
        "f1_other": score_trees_of_other_sentences(outputs, sentences).f1,
        "sentences": len(sentences),
        "beam": options.beam,
    }
    return Measured(figures, outputs=outputs, chosen=chosen)


def _choose_outputs(
    model: GenerationModel,
    requests: Sequence[Request],
    gold: Sequence[str],
    split: str,
    options: Options,
) -> tuple[Sequence[str], dict[str, Any]]:
    """Return the outputs and the chosen values.

    On "val", this chooses the length penalty with the best F1.
    """
    if split != "val" or options.beam == 1:
        return model.generate_outputs(requests), {}
    texts = model.generate_outputs_by_penalty(requests, PENALTIES)
    scores = [score_brackets(one, gold).f1 for one in texts]
    best = scores.index(max(scores))
    return texts[best], {LENGTH_PENALTY: PENALTIES[best]}


def _without_grammar(model: GenerationModel) -> GenerationModel:
    """Return the model without its grammar, with the length penalty chosen for this case."""
    recipe = {name: value for name, value in model.card.recipe.items() if name != GRAMMAR}
    if LENGTH_PENALTY + FREE in recipe:
        recipe[LENGTH_PENALTY] = recipe[LENGTH_PENALTY + FREE]
    return replace(model, card=replace(model.card, recipe=recipe))


def score_trees_of_other_sentences(outputs: Sequence[str], sentences: Sentences) -> BracketScores:
    """Return the scores of trees that were written for another sentence of the same length.

    This baseline shows the score of a parser that knows only the number of words and typical trees
    of that length. A sentence that is the only one of its length gets a flat tree.
    """
    by_length: dict[int, list[int]] = {}
    for number, one in enumerate(sentences):
        by_length.setdefault(one.words, []).append(number)
    moved = [make_flat_tree(one.words) for one in sentences]
    for numbers in by_length.values():
        if len(numbers) > 1:
            for own, other in zip(numbers, numbers[1:] + numbers[:1], strict=True):
                moved[own] = outputs[other]
    return score_brackets(moved, [one.tree for one in sentences])


def measure_bracket_spans(
    model: GenerationModel, sentences: Sentences, data: Path
) -> dict[str, float]:
    """Return how often an opening bracket attends to exactly its words, with baselines.

    "span" covers brackets around 2 or more items, up to the largest area, and is the share whose
    heaviest area is exactly their words. "span_random" uses random areas of these sizes.
    "span_other" uses the areas of the sentence's other brackets. "span_untrained" is the best head
    of the untrained network. "dependence" is the mutual information of query and item in bits.
    """
    known = read_treebank(data, "val")[:CHOSEN_ON]
    chosen, _ = _count_hits(model, known)
    head = int(chosen.exact_H.argmax())
    hits, bits_H = _count_hits(model, sentences)
    raw, raw_bits_H = _count_hits(model.make_untrained(), sentences)
    return {
        **hits.compute_head_shares(head),
        "span_untrained": float(raw.exact_H.max()) / max(raw.openings, 1),
        "head": head,
        "openings": hits.openings,
        "dependence": float(bits_H[head]),
        "dependence_untrained": float(raw_bits_H.max()),
        "sentences": len(sentences),
    }


def _count_hits(model: GenerationModel, sentences: Sentences) -> tuple[SpanHits, Array]:
    """Return the hits of all heads over gold trees, and each head's mean dependence in bits."""
    hits, bits, heads = [], [], model.network.config.heads
    for one in sentences:
        trace = model.trace([Request(model.card.name, one.text, target=one.tree)])[0]
        attention = trace.maps[RECURRENT_SITE]
        openings = list_openings(one.tree, trace.fields[attention.memory], attention.grid.max_width)
        hits.append(count_span_hits(attention, openings))
        shares = [item_shares(attention, attention.layers - 1, head) for head in range(heads)]
        bits.append([query_dependence(shares_TM)[0] for shares_TM in shares])
    return reduce(add, hits), np.mean(bits, axis=0)
