"""Shared parts of tasks with sentences: losses, lengths, words, and correct pointing."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from areaviz.lab.sentences import (
    choose_content_words,
    find_longest,
    find_words_pointed_right,
    mean_loss,
    sum_loss,
)
from areaviz.models.tokenizer import PAD, Tokenizer
from areaviz.samples.dataset import Boxes
from areaviz.trace.areas import AreaGrid

LEFT, RIGHT = (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0)


def test_tokens_have_equal_weight_in_every_batch() -> None:
    """Check batches of one and of three tokens: the mean is over four tokens, not two batches."""
    sure, torn = torch.tensor([50.0, 0, 0, 0]), torch.zeros(4)
    one = sum_loss(torn.expand(1, 2, 4), torch.tensor([[3, PAD]]))
    three = sum_loss(sure.roll(2).expand(1, 3, 4), torch.tensor([[2, 2, 2]]))
    assert (one[1], three[1]) == (1, 3) and one[0] == pytest.approx(math.log(4))
    assert mean_loss([one, three]) == pytest.approx(math.log(4) / 4)


def test_end_symbol_does_not_count_as_sentence_token() -> None:
    assert find_longest([[5, 6, 7, 3], [5, 3]]) == 3


def test_equally_frequent_words_are_sorted_alphabetically() -> None:
    """Check the order of words, because the order of a set differs between processes."""
    captions = [("the zebra meets an ape", "yak"), ("a yak", "bear"), ("owl",)]
    assert choose_content_words(captions, 10) == ["yak", "ape", "bear", "meets", "owl", "zebra"]
    assert choose_content_words(captions, 3) == ["yak", "ape", "bear"]


def test_boxed_word_is_measured_at_its_own_token() -> None:
    tokenizer = Tokenizer.train(["a red star", "a blue circle"] * 3, "word", 40)
    boxed: Boxes = ((1, (LEFT,)), (2, (RIGHT,)))
    left, right = [0.9, 0.1], [0.1, 0.9]
    weights_BQA = np.array([[right, left, right, left], [left, right, left, left]])
    sentences = [("a red star", boxed), ("a blue circle", boxed[1:])]
    assert find_words_pointed_right(weights_BQA, AreaGrid(1, 2, 1, 1), tokenizer, sentences) == [
        True,
        True,
        False,
    ]
