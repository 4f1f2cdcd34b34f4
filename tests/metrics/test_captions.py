"""Caption scores on published examples, on cases computed by hand, and against slow equations."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.measures.references import (
    compute_cider_d,
    compute_rouge_l,
    measure_common_subsequence,
    score_captions,
    split_caption,
)

SOME = settings(deadline=None, max_examples=60)
CAPTIONS = st.lists(st.sampled_from("abc"), max_size=6)
PICTURES = st.lists(
    st.tuples(CAPTIONS, st.lists(CAPTIONS, min_size=1, max_size=3)), min_size=1, max_size=4
)


def ngrams(words: list[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + n]) for i in range(len(words)) if i + n <= len(words)]


def slow_bleu(pictures: list[tuple[list[str], list[list[str]]]], orders: int) -> float:
    """Compute corpus BLEU as in Papineni et al. 2002, section 2.3.

    If two references are equally near in length, the shorter one counts.
    """
    precisions: list[float] = []
    made_length = wanted_length = 0
    for made, wanted in pictures:
        made_length += len(made)
        wanted_length += min((abs(len(words) - len(made)), len(words)) for words in wanted)[1]
    for n in range(1, orders + 1):
        right = total = 0
        for made, wanted in pictures:
            total += len(ngrams(made, n))
            for ngram in set(ngrams(made, n)):
                right += min(
                    ngrams(made, n).count(ngram),
                    max(ngrams(words, n).count(ngram) for words in wanted),
                )
        precisions.append(right / total if total else 0)
    if not all(precisions):
        return 0
    penalty = 1 if made_length >= wanted_length else math.exp(1 - wanted_length / made_length)
    return 100 * penalty * math.exp(sum(map(math.log, precisions)) / orders)


def slow_cider_d(pictures: list[tuple[list[str], list[list[str]]]]) -> list[float]:
    """Compute the equations of `areaviz.measures.references` with dense vectors of all n-grams."""
    scores = []
    for made, wanted in pictures:
        total = 0.0
        for words in wanted:
            for n in (1, 2, 3, 4):
                every = sorted(
                    {
                        ngram
                        for one, many in pictures
                        for text in [one, *many]
                        for ngram in ngrams(text, n)
                    }
                )
                having = [
                    sum(any(one in ngrams(text, n) for text in many) for _, many in pictures)
                    for one in every
                ]
                rarity = np.array([math.log(len(pictures) / max(count, 1)) for count in having])
                c, s = (
                    np.array([ngrams(text, n).count(ngram) for ngram in every]) * rarity
                    for text in (made, words)
                )
                size = np.linalg.norm(c) * np.linalg.norm(s)
                cosine = np.minimum(c, s) @ s / size if size else 0
                total += (
                    10 / 4 * math.exp(-((len(made) - len(words)) ** 2) / 72) * cosine / len(wanted)
                )
        scores.append(total)
    return scores


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A dog , running .", "a dog running"),
        ('"Stop!" (he said); why?', "stop he said why"),
        ("a man's dogs' well-known T-shirt", "a man 's dogs well-known t-shirt"),
        (
            "they\N{RIGHT SINGLE QUOTATION MARK}re in 'quotes' -- so it's",
            "they 're in quotes so it 's",
        ),
        ("Ein Mädchen fährt über 3 Brücken", "ein mädchen fährt über 3 brücken"),
        (" ... ", ""),
    ],
)
def test_words_are_lower_case_without_punctuation(text: str, words: str) -> None:
    assert split_caption(text) == words.split()


def test_scores_match_published_coco_wrapper_example() -> None:
    """The README of github.com/j-min/language-evaluation gives the expected scores.

    They are Bleu_1 1.0, Bleu_2 0.577, ROUGE_L 0.75 and CIDEr 3.333. Bleu_3 and Bleu_4 have no
    matches and are 4e-6 and 1e-8 there.
    """
    scores = score_captions(
        ["i am a boy", "she is a girl"], [["am i a boy ?"], ["is she a girl ?"]]
    )
    assert scores["bleu_1"] == pytest.approx(100)
    assert scores["bleu_2"] == pytest.approx(57.73502690332603)
    assert scores["bleu_3"] == scores["bleu_4"] == 0
    assert scores["rouge_l"] == pytest.approx(75)
    assert scores["cider_d"] == pytest.approx(3.333333333333333)
    assert scores["captions"] == 2


def test_cider_matches_published_summary_benchmark_example() -> None:
    """Data and value are from github.com/Yale-LILY/SummEval, tests/test_cider.py.

    Words are split only at spaces.
    """
    made = [
        "28-year-old chef found dead in San Francisco mall",
        (
            "A 28-year-old chef who recently moved to San Francisco was found dead in the staircase"
            " of a local shopping center."
        ),
        (
            "The victim's brother said he cannot imagine anyone who would want to harm"
            ' him,"Finally, it went uphill again at him."'
        ),
    ]
    wanted = [
        "28-Year-Old Chef Found Dead at San Francisco Mall",
        (
            "A 28-year-old chef who had recently moved to San Francisco was found dead in the"
            " stairwell of a local mall this week."
        ),
        (
            "But the victim's brother says he can't think of anyone who would want to hurt him,"
            ' saying, "Things were finally going well for him."'
        ),
    ]
    scores = compute_cider_d([text.split() for text in made], [[text.split()] for text in wanted])
    assert np.mean(scores) == pytest.approx(2.5759014911864084, rel=1e-12)


@pytest.mark.parametrize(
    ("made", "score"),
    [
        ("police kill the gunman", 3 / 4),
        ("the gunman kill police", 2 / 4),
        ("the gunman police killed", 2 / 4),
    ],
)
def test_rouge_matches_the_papers_example(made: str, score: float) -> None:
    """The example is in Lin 2004, section 3.1. Precision equals recall, so beta does not matter."""
    assert compute_rouge_l(made.split(), [["police", "killed", "the", "gunman"]]) == pytest.approx(
        score
    )


def test_rouge_weights_recall_and_uses_separate_maxima() -> None:
    assert compute_rouge_l(["a", "b"], [list("abcd")]) == pytest.approx(2.44 * 0.5 / (0.5 + 1.44))
    # Precision 2/3 comes from the first reference, and recall 1 from the second.
    assert compute_rouge_l(list("abx"), [list("abcd"), ["x"]]) == pytest.approx(
        2.44 * 2 / 3 / (1 + 1.44 * 2 / 3)
    )


def test_rouge_of_nothing_is_zero() -> None:
    assert compute_rouge_l([], [["a"]]) == compute_rouge_l(["a"], [[], ["b"]]) == 0


@SOME
@given(CAPTIONS, CAPTIONS)
def test_common_subsequence_is_the_longest(left: list[str], right: list[str]) -> None:
    choices = [
        {tuple(c) for n in range(7) for c in combinations(words, n)} for words in (left, right)
    ]
    assert measure_common_subsequence(left, right) == max(map(len, choices[0] & choices[1]))


def test_cider_by_hand() -> None:
    wanted = [[["red", "dog"]], [["blue", "cat"]]]
    # Unigrams and bigrams match and there are no longer n-grams, so two of the four orders count.
    assert compute_cider_d([["red", "dog"], ["blue", "cat"]], wanted) == pytest.approx([5, 5])
    # One of two words matches, and no bigram.
    assert compute_cider_d([["red", "cat"], []], wanted) == pytest.approx([10 / 4 / 2, 0])


def test_cider_does_not_reward_repetition() -> None:
    clipped = compute_cider_d([["red", "red"], ["x"]], [[["red", "dog"]], [["cat"]]])[0]
    assert clipped == pytest.approx(10 / 4 * 1 / (2 * math.sqrt(2)))


def test_cider_penalises_length_difference() -> None:
    score = compute_cider_d([["red", "dog"], ["x"]], [[["red", "dog", "sits"]], [["cat"]]])[0]
    assert score == pytest.approx(
        10 / 4 * math.exp(-1 / 72) * (2 / math.sqrt(6) + 1 / math.sqrt(2))
    )


def test_cider_ignores_words_of_every_picture() -> None:
    assert compute_cider_d([["a"], ["a"]], [[["a"], ["dog"]], [["a"], ["cat"]]]) == [0, 0]
    assert compute_cider_d([["a", "dog"]], [[["a", "dog"]]]) == [0]


@SOME
@given(PICTURES)
def test_cider_follows_its_equations(pictures: list[tuple[list[str], list[list[str]]]]) -> None:
    made, wanted = zip(*pictures, strict=True)
    assert compute_cider_d(made, wanted) == pytest.approx(slow_cider_d(pictures))


@SOME
@given(PICTURES)
def test_bleu_follows_its_equations(pictures: list[tuple[list[str], list[list[str]]]]) -> None:
    made = [" ".join(words) for words, _ in pictures]
    scores = score_captions(made, [[" ".join(words) for words in wanted] for _, wanted in pictures])
    found = [scores[f"bleu_{n}"] for n in (1, 2, 3, 4)]
    assert found == pytest.approx([slow_bleu(pictures, n) for n in (1, 2, 3, 4)])


def test_bleu_measures_length_against_nearest_reference() -> None:
    scores = score_captions(["a b c d e"], [["a b c d e f g h", "a b c d e f", "a b c d"]])
    # References of six and four words are equally near, so there is no length penalty.
    assert scores["bleu_4"] == pytest.approx(100)
    assert scores["length_ratio"] == pytest.approx(5 / 4)
    assert score_captions(["a b c d"], [["a b c d e"]])["bleu_4"] == pytest.approx(
        100 * math.exp(1 - 5 / 4)
    )


def test_bleu_signature_states_the_method() -> None:
    signature = str(
        score_captions(["a dog", "a cat"], [["a dog", "the dog"], ["a cat"]])["bleu_signature"]
    )
    assert signature.startswith("nrefs:var|case:lc|eff:no|tok:none|smooth:none")


def test_case_and_punctuation_do_not_matter() -> None:
    wanted = [["a dog runs in the snow", "a dog"], ["two men talk to each other"]]
    plain = score_captions(["a dog in the snow", "two men talk"], wanted)
    assert score_captions(["A dog , in the Snow .", '"Two men" talk!'], wanted) == plain


@pytest.mark.parametrize("hypotheses", [[], ["a"], ["a", "b", "c"]], ids=["none", "fewer", "more"])
def test_every_picture_needs_its_caption(hypotheses: list[str]) -> None:
    with pytest.raises(
        ValueError, match=f"Got {len(hypotheses)} captions for 2 pictures, of which 0 have no"
    ):
        score_captions(hypotheses, [["a"], ["b"]])


def test_every_picture_needs_a_reference() -> None:
    with pytest.raises(ValueError, match="of which 1 have no references"):
        score_captions(["a", "b"], [["a"], []])
    with pytest.raises(ValueError, match="Got 0 captions"):
        score_captions([], [])
