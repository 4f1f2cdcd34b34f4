"""A classifier for the action that a sentence describes, learned from labelled sentences.

It is multinomial naive Bayes over words with add-one smoothing. People describe an action in many
ways, such as "pulling up" or "doing bar exercise", so a list of verbs would not suffice.

Shapes: A actions, V words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


class ActionClassifier:
    """A trained classifier of actions.

    Args:
        texts: Sentences with words separated by spaces.
        actions: The action that each sentence describes.
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
        """Return the action that makes the words most probable, or "" if no word is known."""
        known = [self._column[word] for word in text.split() if word in self._column]
        if not known:
            return ""
        sums_A: npt.NDArray[np.float64] = self._logs_AV[:, known].sum(1)
        return self.actions[int(sums_A.argmax())]
