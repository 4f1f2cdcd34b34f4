"""Attention that points right is worth something to what chooses a checkpoint."""

from __future__ import annotations

import numpy as np

from areaviz.data.grounding import Boxes
from areaviz.data.tokenizer import Tokenizer
from areaviz.trace.areas import AreaGrid
from areaviz.training.pointing import right_words

LEFT, RIGHT = (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0)


def test_each_boxed_word_is_asked_where_its_own_token_looks() -> None:
    tokenizer = Tokenizer.train(["a red star", "a blue circle"] * 3, "word", 40)
    boxed: Boxes = ((1, (LEFT,)), (2, (RIGHT,)))
    left, right = [0.9, 0.1], [0.1, 0.9]
    weights_BQA = np.array([[right, left, right, left], [left, right, left, left]])
    told = [("a red star", boxed), ("a blue circle", boxed[1:])]
    assert right_words(weights_BQA, AreaGrid(1, 2, 1, 1), tokenizer, told) == [True, True, False]
