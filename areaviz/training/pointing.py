"""Whether attention points right, as a part of what checkpoints are chosen by.

Shapes: B examples, Q queries (tokens of the sentences), A areas.
"""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.data.grounding import Boxes
from areaviz.data.tokenizer import Tokenizer
from areaviz.metrics.pointing import FloatArray, points_right
from areaviz.trace.areas import AreaGrid

POINTED = 320
"""For how many pictures a validation asks whether attention points right: enough to choose by, and
soon done.
"""
WORTH = 0.3
"""What a score gives for attention that always points right, in nats of validation loss."""
CHOSEN_BY = f"validation loss - {WORTH} x pointing accuracy"


def right_words(
    weights_BQA: FloatArray,
    areas: AreaGrid,
    tokenizer: Tokenizer,
    told: Sequence[tuple[str, Boxes]],
) -> list[bool]:
    """For each boxed word of some sentences, told with their boxes, whether its attention lies on a
    box.
    """
    return [
        points_right(weights_QA[tokens[word]], areas, boxes)
        for weights_QA, (text, boxed) in zip(weights_BQA, told, strict=True)
        for tokens in (tokenizer.of_words(text),)
        for word, boxes in boxed
    ]
