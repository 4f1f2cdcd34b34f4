"""Which action a sentence tells, learned from sentences whose action is known.

Naive Bayes over words (multinomial, every word counted once more than it was seen). People say one
thing in many words, "pulling up" or "doing bar exercise", so no list of verbs would do.
Shapes: A actions, V words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


class ToldActions:
    """What was learned.

    Args:
        texts: sentences, their words split by blanks.
        actions: what each of them tells.
    """

    def __init__(self, texts: Sequence[str], actions: Sequence[str]) -> None:
        self.actions = sorted(set(actions))
        seen: dict[str, Counter[str]] = {action: Counter() for action in self.actions}
        for text, action in zip(texts, actions, strict=True):
            seen[action].update(text.split())
        words = sorted({word for counter in seen.values() for word in counter})
        self._column = {word: number for number, word in enumerate(words)}
        counts_AV = np.array([[seen[action][word] for word in words] for action in self.actions])
        self._logs_AV = np.log((counts_AV + 1) / (counts_AV + 1).sum(1, keepdims=True))

    def told(self, text: str) -> str:
        """The action that makes the words most probable; "" where no word of it is known."""
        known = [self._column[word] for word in text.split() if word in self._column]
        if not known:
            return ""
        sums_A: npt.NDArray[np.float64] = self._logs_AV[:, known].sum(1)
        return self.actions[int(sums_A.argmax())]
