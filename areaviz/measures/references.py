"""Scores of outputs against references: speech, trees, translations and captions.

Counts of shared n-grams stand before translation, which uses them. The sections on speech and
trees also measure attention.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, zip_longest
from math import exp, hypot, log
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU, MAX_NGRAM_ORDER
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from areaviz.measures.spans import Array, find_word_runs
from areaviz.trace.areas import Area
from areaviz.trace.kinds import WORD, read_tree
from areaviz.trace.record import AttentionMap, Field

# Metrics of speech recognition: the error rate, and whether attention finds a spoken digit.


def count_edits(found: str, wanted: str) -> int:
    """Return the Levenshtein distance: the fewest insertions, deletions and substitutions."""
    row = list(range(len(wanted) + 1))
    for number, letter in enumerate(found, start=1):
        before, row = row, [number]
        for place, other in enumerate(wanted):
            exchanged = before[place] + (letter != other)
            row.append(min(exchanged, before[place + 1] + 1, row[-1] + 1))
    return row[-1]


def compute_error_rate(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the number of edits per wanted character, over all examples together. 0 is perfect."""
    letters = sum(map(len, wanted))
    return sum(count_edits(*pair) for pair in zip(found, wanted, strict=True)) / max(1, letters)


def find_boundary_hits(
    weights_TM: npt.NDArray[np.float32], bounds: Sequence[tuple[int, int]], samples_an_item: int
) -> list[bool]:
    """Return whether the top item of each digit overlaps the samples in which the digit is said.

    Args:
        weights_TM: Weights of the items for each digit.
        bounds: First sample and end sample (exclusive) of each digit.
        samples_an_item: Samples per item. Item m starts at sample m * samples_an_item.
    """
    hits = []
    for weights_M, one in zip(weights_TM, bounds, strict=False):
        inside_M = find_items_inside(one, len(weights_M), samples_an_item)
        hits.append(bool(inside_M[weights_M.argmax()]))
    return hits


def find_items_inside(
    bounds: tuple[int, int], items: int, samples_an_item: int
) -> npt.NDArray[np.bool_]:
    """Return which items overlap the samples from the first to the end (exclusive): bool [M]."""
    first, behind = bounds
    starts_M = np.arange(items) * samples_an_item
    inside: npt.NDArray[np.bool_] = (starts_M < behind) & (starts_M + samples_an_item > first)
    return inside


# Scores of written trees, and of the attention of their opening brackets.
#
# Shapes: H heads, O opening brackets.


@dataclass(frozen=True, slots=True)
class BracketScores:
    """Scores of trees, 0..1, over all sentences together."""

    # Scores of the brackets that contain words. A bracket is right if the gold tree has one with
    # its label and its words, as in PARSEVAL. Punctuation marks count as words here.
    precision: float
    recall: float
    f1: float
    # Share of trees that equal the gold tree.
    exact: float
    # Share of outputs that are not a complete tree with as many words as the sentence has.
    malformed: float
    # Share of outputs whose brackets do not match. These are also malformed.
    unbalanced: float


def score_brackets(written: Sequence[str], gold: Sequence[str]) -> BracketScores:
    """Compare written trees with the gold trees.

    Malformed trees are not repaired. Only their brackets that close before the first mistake count.
    """
    right = made = wanted = exact = malformed = unbalanced = 0
    for text, known in zip(written, gold, strict=True):
        tree, gold_tree = read_tree(text.split()), read_tree(known.split())
        own, golden = Counter(tree.list_brackets()), Counter(gold_tree.list_brackets())
        right += (own & golden).total()
        made += own.total()
        wanted += golden.total()
        exact += text.split() == known.split()
        # A gold tree may be a word without any bracket, so a copy of it is never malformed.
        if text.split() != known.split():
            malformed += not tree.is_of(gold_tree.words)
            unbalanced += bool(tree.problem) or not tree.is_closed
    precision, recall = right / max(made, 1), right / max(wanted, 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    count = max(len(gold), 1)
    return BracketScores(
        precision, recall, f1, exact / count, malformed / count, unbalanced / count
    )


def make_flat_tree(count: int, label: str = "S") -> str:
    """Return a tree with a single bracket, which contains all `count` words."""
    return " ".join([f"({label}", *[WORD] * count, f"){label}"])


@dataclass(frozen=True, slots=True)
class Opening:
    """An opening bracket of a tree."""

    # The index of its token.
    token: int
    # The first item of its words, and their end (exclusive).
    first: int
    behind: int

    @property
    def size(self) -> int:
        """The number of items of its words."""
        return self.behind - self.first


def list_openings(tree: str, sentence: Field, most: int) -> list[Opening]:
    """Return those opening brackets of a tree that contain 2 to `most` items of the sentence."""
    runs = find_word_runs(sentence)
    found = []
    for node in read_tree(tree.split()).nodes:
        if node.first < node.behind <= len(runs):
            one = Opening(node.opening, runs[node.first][0], runs[node.behind - 1][1])
            if 2 <= one.size <= most:
                found.append(one)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class SpanHits:
    """How often opening brackets attend to exactly their words, with two baselines.

    Adding the hits of models with different numbers of heads raises ValueError.
    """

    openings: int
    # How often the top area is exactly the bracket's words: float64 [H].
    exact_H: Array
    # The expected number if areas of the same sizes were at random positions in the sentence.
    random_H: Array
    # The expected number if every bracket had the top area of another bracket of the sentence.
    other_H: Array

    def __add__(self, more: SpanHits) -> SpanHits:
        own, others = len(self.exact_H), len(more.exact_H)
        if own != others:
            raise ValueError(f"Hits of models with {own} and {others} heads cannot be added.")
        return SpanHits(
            self.openings + more.openings,
            self.exact_H + more.exact_H,
            self.random_H + more.random_H,
            self.other_H + more.other_H,
        )

    def compute_head_shares(self, head: int) -> dict[str, float]:
        """Return the shares of one head, 0..1."""
        count = max(self.openings, 1)
        return {
            "span": float(self.exact_H[head]) / count,
            "span_random": float(self.random_H[head]) / count,
            "span_other": float(self.other_H[head]) / count,
        }


def count_span_hits(attention: AttentionMap, openings: Sequence[Opening]) -> SpanHits:
    """Count for each head of the last layer the brackets whose top area is exactly their words."""
    exact_H, random_H, other_H = np.zeros((3, attention.heads))
    items = attention.grid.width
    tops_HO = attention.weights[-1][:, [one.token for one in openings]].argmax(-1)
    for head, tops_O in enumerate(tops_HO.tolist()):
        areas = [attention.grid.area(index) for index in tops_O]
        for number, (area, one) in enumerate(zip(areas, openings, strict=True)):
            exact_H[head] += _is_of(area, one)
            if area.width == one.size:
                random_H[head] += 1 / (items - area.width + 1)
            others = [_is_of(other, one) for place, other in enumerate(areas) if place != number]
            other_H[head] += sum(others) / max(len(others), 1)
    return SpanHits(len(openings), exact_H, random_H, other_H)


def _is_of(area: Area, opening: Opening) -> bool:
    return (area.left, area.width) == (opening.first, opening.size)


# Counts of n-grams that outputs share with their references, for a whole dataset at once.
#
# sacrebleu takes about half a millisecond for BLEU and chrF of one sentence, because it counts
# n-grams in Python dictionaries. Here n-grams are integers, and NumPy counts those of all sentences
# together. `python -m benchmarks.scoring` compares the two. The scores equal those of sacrebleu to
# the last bit, because sacrebleu's own formulas turn counts into scores.
#
# Shapes: N sentences, G orders of n-grams.


Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Counts of n-grams, with order 1 in the first column.

    Args:
        outputs_NG: Number of n-grams in the outputs.
        references_NG: Number of n-grams in the references.
        shared_NG: Number of n-grams in both, each counted as often as it occurs in both.
    """

    outputs_NG: Counts
    references_NG: Counts
    shared_NG: Counts


def count_overlap(
    outputs: Sequence[str] | Sequence[Sequence[str]],
    references: Sequence[str] | Sequence[Sequence[str]],
    orders: int,
) -> Overlap:
    """Count the n-grams of outputs, of references and of both, sentence by sentence.

    Args:
        outputs: N texts, whose characters are counted, or N lists of words.
        references: N texts or lists of words, one for each output.
        orders: G, the length of the longest n-gram.
    """
    count = len(outputs)
    both = [*outputs, *references]
    codes = _encode_words(both) if isinstance(both[0], list) else _encode_characters(both)
    sentences = np.repeat(np.arange(2 * count), [len(text) for text in both])
    # The number of a reference is its sentence's number plus N.
    lengths = np.bincount(sentences, minlength=2 * count)
    remaining = _count_remaining_items(lengths)
    grams, shared = codes, []
    for order in range(1, orders + 1):
        if order > 1:
            grams = _extend_ngrams(grams, codes, order, 2 * count)
        complete = remaining[: len(grams)] >= order
        shared.append(_count_shared(grams[complete], sentences[: len(grams)][complete], count))
    totals_NG = np.maximum(lengths[:, None] - np.arange(orders), 0)
    return Overlap(totals_NG[:count], totals_NG[count:], np.stack(shared, axis=1))


def score_sentences(
    outputs: Sequence[str], references: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute BLEU and chrF2 of every output against its one reference, each 0..100.

    BLEU uses 13a tokens and the effective order, as sacrebleu advises for single sentences.
    """
    if not outputs:
        return np.zeros(0), np.zeros(0)
    words, characters = _count_words(outputs, references), _count_characters(outputs, references)
    bleu = np.array(
        [_compute_bleu(words, place, is_effective=True) for place in range(len(outputs))]
    )
    return bleu, _compute_chrf(characters)


def score_corpus(outputs: Sequence[str], references: Sequence[str]) -> tuple[float, float]:
    """Compute the corpus BLEU and chrF2 of outputs against one reference each, both 0..100."""
    words, characters = _count_words(outputs, references), _count_characters(outputs, references)
    return _compute_bleu(_add_counts(words), 0, is_effective=False), float(
        _compute_chrf(_add_counts(characters))[0]
    )


def _add_counts(overlap: Overlap) -> Overlap:
    """Return the counts of all sentences together, as one row."""
    each = overlap.outputs_NG, overlap.references_NG, overlap.shared_NG
    return Overlap(*(counts_NG.sum(axis=0, keepdims=True) for counts_NG in each))


def _encode_words(texts: Iterable[Sequence[str]]) -> Counts:
    """Return a number for every word of all texts. Equal words have equal numbers."""
    numbers: dict[str, int] = {}
    words = chain.from_iterable(texts)
    return np.array([numbers.setdefault(word, len(numbers)) for word in words], np.int64)


def _encode_characters(texts: Iterable[Sequence[str]]) -> Counts:
    """Return a small number for every character of all texts, equal for equal characters."""
    joined = "".join(chain.from_iterable(texts)).encode("utf-32-le", "surrogatepass")
    points = np.frombuffer(joined, np.uint32)
    codes: Counts = np.unique(points, return_inverse=True)[1].astype(np.int64)
    return codes


def _count_remaining_items(lengths: Counts) -> Counts:
    """Return, for every item, the number of items from there to the end of its text."""
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    remaining: Counts = np.repeat(lengths, lengths) - (np.arange(lengths.sum()) - starts)
    return remaining


def _extend_ngrams(grams: Counts, codes: Counts, order: int, texts: int) -> Counts:
    """Return a number for every n-gram of an order, from the n-grams that are one item shorter.

    Some n-grams run over the end of a text. The caller leaves them out.
    """
    ends = codes[order - 1 :]
    items = int(codes.max(initial=0)) + 1
    if (int(grams.max(initial=0)) + 1) * items * texts > np.iinfo(np.int64).max:
        # New consecutive numbers keep the product below from overflowing.
        grams = np.unique(grams, return_inverse=True)[1].astype(np.int64)
    extended: Counts = grams[: len(ends)] * items + ends
    return extended


def _count_shared(grams: Counts, sentences: Counts, count: int) -> Counts:
    """Return the number of n-grams that each of `count` outputs shares with its reference."""
    width = int(grams.max(initial=0)) + 1
    is_output = sentences < count
    ours, our_counts = np.unique(
        sentences[is_output] * width + grams[is_output], return_counts=True
    )
    theirs, their_counts = np.unique(
        (sentences[~is_output] - count) * width + grams[~is_output], return_counts=True
    )
    if not len(theirs):
        return np.zeros(count, np.int64)
    # Both are sorted, so the insertion position of a key is the position of an equal key.
    places = np.minimum(np.searchsorted(theirs, ours), len(theirs) - 1)
    matches = np.where(theirs[places] == ours, np.minimum(our_counts, their_counts[places]), 0)
    return np.bincount(ours // width, matches, count).astype(np.int64)


def _count_words(outputs: Sequence[str], references: Sequence[str]) -> Overlap:
    tokenize = _get_tokenizer()
    ours, theirs = (
        [tokenize(text.rstrip()).split() for text in side] for side in (outputs, references)
    )
    return count_overlap(ours, theirs, MAX_NGRAM_ORDER)


@cache
def _get_tokenizer() -> Callable[[str], str]:
    """Return the 13a tokenizer, created once because it caches the texts that it has split."""
    tokenizer: Callable[[str], str] = BLEU().tokenizer
    return tokenizer


def _count_characters(outputs: Sequence[str], references: Sequence[str]) -> Overlap:
    ours, theirs = (["".join(text.split()) for text in side] for side in (outputs, references))
    found = count_overlap(ours, theirs, CHRF.CHAR_ORDER)
    # As in sacrebleu, an output's n-grams of an order only count if its reference has some of that
    # order.
    return replace(found, outputs_NG=np.where(found.references_NG > 0, found.outputs_NG, 0))


def _compute_bleu(words: Overlap, place: int, is_effective: bool) -> float:
    score: float = BLEU.compute_bleu(
        words.shared_NG[place].tolist(),
        words.outputs_NG[place].tolist(),
        int(words.outputs_NG[place, 0]),
        int(words.references_NG[place, 0]),
        smooth_method="exp",
        effective_order=is_effective,
    ).score
    return score


def _compute_chrf(characters: Overlap) -> NDArray[np.float64]:
    """Return chrF2 (Popović 2015) for every row: the F-score of mean precision and mean recall.

    The means are taken over the orders that both sides have.
    """
    factor, shared_NG = CHRF.BETA**2, characters.shared_NG
    precision_N, recall_N, orders_N = np.zeros((3, len(shared_NG)))
    # Add in sacrebleu's order, because rounding depends on it.
    for order in range(shared_NG.shape[1]):
        ours, theirs = characters.outputs_NG[:, order], characters.references_NG[:, order]
        counts = (ours > 0) & (theirs > 0)
        precision_N += np.where(counts, shared_NG[:, order] / np.maximum(ours, 1), 0.0)
        recall_N += np.where(counts, shared_NG[:, order] / np.maximum(theirs, 1), 0.0)
        orders_N += counts
    precision_N /= np.maximum(orders_N, 1)
    recall_N /= np.maximum(orders_N, 1)
    weighted_N = factor * precision_N + recall_N
    scores_N = (1 + factor) * precision_N * recall_N / np.where(weighted_N > 0, weighted_N, 1)
    return 100 * scores_N


# Translation quality by sacrebleu, so that the figures are comparable with published ones.


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on the same sentences, scores 0..100."""

    baseline: float
    system: float
    # Half the width of the 95 % confidence interval of the system's own score.
    interval: float
    # Probability of a difference at least as large in either direction, if the systems are equally
    # good.
    p_value: float
    # Signature of sacrebleu, with seed and number of resamples.
    signature: str

    @property
    def difference(self) -> float:
        """The score of the system minus that of the baseline."""
        return self.system - self.baseline


def score_translations(
    hypotheses: Sequence[str], references: Sequence[str]
) -> dict[str, float | int | str]:
    """Compute corpus scores of one system against one reference per sentence.

    - bleu: cased BLEU with 13a tokens, 0..100.
    - bleu_lowercase: BLEU of the lower-cased text, 0..100.
    - chrf: chrF2, 0..100.
    - NAME_signature: the signature of sacrebleu for each score.
    - length_ratio: tokens in the hypotheses divided by tokens in the references.
    - sentences: number of sentences.

    Raises:
        ValueError: There are no sentences, or the numbers of hypotheses and references differ.
    """
    _check(hypotheses, references)
    bleu, lowercase, chrf = BLEU(), BLEU(lowercase=True), CHRF()
    cased = bleu.corpus_score(hypotheses, [references])
    return {
        "bleu": cased.score,
        "bleu_signature": str(bleu.get_signature()),
        "bleu_lowercase": lowercase.corpus_score(hypotheses, [references]).score,
        "bleu_lowercase_signature": str(lowercase.get_signature()),
        "chrf": chrf.corpus_score(hypotheses, [references]).score,
        "chrf_signature": str(chrf.get_signature()),
        "length_ratio": cased.sys_len / cased.ref_len,
        "sentences": len(hypotheses),
    }


def compute_bleu_and_chrf(
    hypotheses: Sequence[str], references: Sequence[str | Sequence[str]]
) -> tuple[float, float]:
    """Compute the corpus BLEU (cased, 13a tokens) and chrF2 of one system, each 0..100.

    Args:
        hypotheses: Outputs of the system.
        references: For each hypothesis its reference, or all of its references, at least one.
            sacrebleu clips n-grams against the references together. For BLEU it takes the reference
            whose length is closest, for chrF the best one.

    Raises:
        ValueError: There are no sentences, or the numbers of hypotheses and references differ.
    """
    _check(hypotheses, references)
    streams = _transpose_references(references)
    if len(streams) == 1:
        return score_corpus(hypotheses, streams[0])
    bleu = BLEU().corpus_score(hypotheses, streams)
    return bleu.score, CHRF().corpus_score(hypotheses, streams).score


def compare_systems(
    system: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[str | Sequence[str]],
    resamples: int = 1000,
) -> dict[str, Comparison]:
    """Test two systems by approximate randomisation, for "bleu" (cased, 13a) and "chrf".

    Each draw swaps the translations of about half of the sentences. The p-value is two-sided: the
    share of draws with a difference at least as large in either direction (Riezler & Maxwell 2005).
    sacrebleu's paired bootstrap counts only one direction, so its p-values are about half of these.
    The seed is sacrebleu's, 12345 unless SACREBLEU_SEED is set, and is part of the signature.

    Raises:
        ValueError: There are no sentences, or the numbers of hypotheses and references differ.
    """
    _check(system, references)
    _check(baseline, references)
    test = PairedTest(
        [("baseline", baseline), ("system", system)],
        {"bleu": BLEU(), "chrf": CHRF()},
        _transpose_references(references),
        test_type="ar",
        n_samples=resamples,
        n_ar_confidence=resamples,
    )
    signatures, results = test()
    changed = sum(one != other for one, other in zip(system, baseline, strict=True))
    found = {}
    for name, key in (("bleu", "BLEU"), ("chrf", "chrF2")):
        one, other = (result for result in results[key] if isinstance(result, Result))
        # sacrebleu counts only larger differences. The observed difference itself occurs if all
        # differing sentences are swapped, or none.
        p_value = min(1.0, float(other.p_value or 0.0) + 2.0 ** (1 - changed))
        if one.score == other.score:
            p_value = 1.0
        found[name] = Comparison(
            one.score, other.score, float(other.ci or 0.0), p_value, str(signatures[key])
        )
    return found


def _transpose_references(references: Sequence[str | Sequence[str]]) -> Any:
    """Return all first references, all second ones and so on, as sacrebleu takes them.

    A sentence with fewer references has None in the later streams, which sacrebleu leaves out.
    """
    given = [(one,) if isinstance(one, str) else one for one in references]
    most = max(map(len, given))
    return [[one[at] if at < len(one) else None for one in given] for at in range(most)]


def _check(hypotheses: Sequence[str], references: Sequence[str | Sequence[str]]) -> None:
    if not references or len(hypotheses) != len(references):
        raise ValueError(
            f"Scores need one reference for each translation, got {len(hypotheses)} translations "
            f"and {len(references)} references."
        )


# Caption quality against several references: BLEU by sacrebleu, ROUGE-L and CIDEr-D.
#
# All are defined as in COCO's script. No well-maintained library computes ROUGE-L and CIDEr-D
# without Java or the dependencies of a captioning model, so they are implemented here.


_WORD = re.compile(r"\w+(?:-\w+)*|'(?:s|re|ve|ll|d|m|t)\b")

BETA = 1.2
"""Weight of recall relative to precision in ROUGE-L, the value of COCO's script."""
MAX_NGRAM = 4
"""Maximum length of n-grams in CIDEr-D."""
SIGMA = 6.0
"""Standard deviation of the length penalty of CIDEr-D, in words."""

Words = Sequence[str]
Vector = Mapping[tuple[str, ...], float]


def split_caption(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation.

    "man's" becomes "man" and "'s".

    The result is close to the Penn Treebank tokenizer of COCO's script, which needs Java. Both keep
    words with hyphens whole. Unlike COCO's script, this function splits "don't" into "don" and "'t"
    and drops symbols such as $ or %.
    """
    return _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))


def score_captions(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> dict[str, float | int | str]:
    """Score one caption for each picture against all references of that picture.

    - bleu_1..bleu_4: corpus BLEU without smoothing, 0..100 (Papineni et al. 2002). The length of
      each caption is compared with the reference that is nearest in length. COCO's script gives
      equal scores, except that it returns almost 0 rather than 0 if no n-gram matches.
    - bleu_signature: the signature of sacrebleu.
    - rouge_l: mean over pictures, 0..100.
    - cider_d: mean over pictures, 0..10, see `compute_cider_d`.
    - length_ratio: words in captions divided by words in the references nearest in length.
    - captions: number of captions.

    Raises:
        ValueError: There are no captions, or a picture lacks its caption or its references.
    """
    if not hypotheses or len(hypotheses) != len(references) or not all(references):
        lacking = sum(not texts for texts in references)
        raise ValueError(
            f"Scores need a caption and its references for every picture. Got {len(hypotheses)}"
            f" captions for {len(references)} pictures, of which {lacking} have no references."
        )
    made = [split_caption(text) for text in hypotheses]
    wanted = [[split_caption(text) for text in texts] for texts in references]
    rouge = [compute_rouge_l(words, captions) for words, captions in zip(made, wanted, strict=True)]
    return {
        **_compute_caption_bleu(made, wanted),
        "rouge_l": 100 * float(np.mean(rouge)),
        "cider_d": float(np.mean(compute_cider_d(made, wanted))),
        "captions": len(hypotheses),
    }


def _compute_caption_bleu(
    made: Sequence[Words], wanted: Sequence[Sequence[Words]]
) -> dict[str, float | str]:
    """Return BLEU of every order, its signature, and the length ratio."""
    lines = [" ".join(words) for words in made]
    streams = list(zip_longest(*([" ".join(words) for words in captions] for captions in wanted)))
    found: dict[str, float | str] = {}
    for order in (1, 2, 3, 4):
        metric = BLEU(True, tokenize="none", smooth_method="none", max_ngram_order=order)
        score = metric.corpus_score(lines, streams)
        found[f"bleu_{order}"] = score.score
    found["bleu_signature"] = str(metric.get_signature())
    found["length_ratio"] = score.sys_len / score.ref_len if score.ref_len else float("nan")
    return found


def compute_rouge_l(hypothesis: Words, references: Sequence[Words]) -> float:
    """Compute ROUGE-L (Lin 2004) of one caption against its references, 0..1.

    The score is (1 + beta^2) R P / (R + beta^2 P), with P = max l / |hypothesis| and R = max l /
    |reference| (Chen et al. 2015, Eq. 10-12). Here l is the length of the longest common
    subsequence of the caption and a reference. The maxima are taken separately, so P and R may come
    from different references. Against a single reference the score is never higher. It is 0
    if no word is shared.
    """
    precision = recall = 0.0
    for reference in references:
        shared = measure_common_subsequence(hypothesis, reference)
        if shared:
            precision = max(precision, shared / len(hypothesis))
            recall = max(recall, shared / len(reference))
    if not precision:
        return 0.0
    return (1 + BETA**2) * recall * precision / (recall + BETA**2 * precision)


def measure_common_subsequence(left: Words, right: Words) -> int:
    """Return the length of the longest common subsequence of two sequences, which may have gaps.

    In a row of the usual table of lengths, neighbours differ by 0 or 1. A row is therefore stored
    as the bits of one integer, in which a bit is 0 where the length grows (Hyyrö 2004).
    """
    places: dict[str, int] = {}
    for place, word in enumerate(right):
        places[word] = places.get(word, 0) | 1 << place
    full = (1 << len(right)) - 1
    row = full
    for word in left:
        matches = row & places.get(word, 0)
        row = (row + matches) | (row - matches)
    return len(right) - (row & full).bit_count()


def compute_cider_d(
    hypotheses: Sequence[Words], references: Sequence[Sequence[Words]]
) -> list[float]:
    """Compute CIDEr-D (Vedantam et al. 2015, sections 4 and 6.2) of each picture's caption, 0..10.

    For n = 1..4, a caption is a vector g with an entry for each of its n-grams: the count of the
    n-gram times its rarity. The rarity is log(pictures / pictures with the n-gram in any
    reference). A caption c and a reference s are compared by

        10 / 4 * sum over n of exp(-(|c| - |s|)^2 / (2 sigma^2))
                             * min(g(c), g(s)) . g(s) / (||g(c)|| ||g(s)||)

    The score of a picture is the mean over its references. Counts are not divided by the length of
    the caption, as in the authors' script. Eq. 1 of the paper divides them. Because of the minimum,
    this gives other results.

    Rarity is counted over the given references, so scores depend on the evaluated set. An n-gram
    that occurs in every picture adds nothing, and a single picture always scores 0. Papers often
    print 100 times the mean.
    """
    rarity = _compute_rarity(references)
    unseen = log(len(references)) if references else 0.0
    scores = []
    for hypothesis, captions in zip(hypotheses, references, strict=True):
        made = _make_vectors(hypothesis, rarity, unseen)
        total = 0.0
        for caption in captions:
            near = exp(-((len(hypothesis) - len(caption)) ** 2) / (2 * SIGMA**2))
            total += near * _compute_similarity(made, _make_vectors(caption, rarity, unseen))
        scores.append(10 * total / len(captions))
    return scores


def _compute_rarity(references: Sequence[Sequence[Words]]) -> Vector:
    """Return the logarithm of the rarity of each n-gram in the references."""
    pictures: Counter[tuple[str, ...]] = Counter()
    for captions in references:
        found: set[tuple[str, ...]] = set()
        for words in captions:
            found.update(*_list_ngrams(words))
        pictures.update(found)
    return {ngram: log(len(references) / count) for ngram, count in pictures.items()}


def _make_vectors(words: Words, rarity: Vector, unseen: float) -> list[Vector]:
    """Return the vector for each n. An unseen n-gram counts as occurring in one picture."""
    vectors: list[Vector] = []
    for ngrams in _list_ngrams(words):
        counts = Counter(ngrams)
        vectors.append({one: times * rarity.get(one, unseen) for one, times in counts.items()})
    return vectors


def _compute_similarity(made: Sequence[Vector], wanted: Sequence[Vector]) -> float:
    """Return the mean cosine over n. No entry of `made` counts as more than that of `wanted`."""
    total = 0.0
    for one, other in zip(made, wanted, strict=True):
        shared = 0.0
        for ngram, weight in one.items():
            if ngram in other:
                shared += min(weight, other[ngram]) * other[ngram]
        norms = hypot(*one.values()) * hypot(*other.values())
        if norms:
            total += shared / norms
    return total / MAX_NGRAM


def _list_ngrams(words: Words) -> list[list[tuple[str, ...]]]:
    """Return all runs of n words, in order, for n = 1..4."""
    ngrams = []
    for n in range(1, MAX_NGRAM + 1):
        ngrams.append([tuple(words[first : first + n]) for first in range(len(words) - n + 1)])
    return ngrams
