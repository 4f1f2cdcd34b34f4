"""The two ways a request can fail; the message of either is one sentence a person can act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

# What could be done about an input that cannot be used.
Way = Literal["input", "layers", "heads", "areas", "part", "probe", "arrays", "tokenizer", "target"]
# The same in the words of whoever calls a function of this package.
IN_PYTHON: Mapping[Way, str] = {
    "input": "give a shorter text or a smaller picture",
    "layers": "keep fewer layers (layers=)",
    "heads": "keep fewer heads (heads=)",
    "areas": "take smaller areas (area_size=)",
    "part": "give fewer heads and items",
    "probe": "give a probe for its attention layers (see docs/your_models.md)",
    "arrays": "give its weights to areaviz.from_arrays",
    "tokenizer": "give one (tokenizer=), or token ids instead of the text",
    "target": "give what it should write (target=)",
}


class InputError(ValueError):
    """The input cannot be used: says what, the limit, and what to do."""


class Advised(InputError):
    """What to do about it has other words for each who asks: here those of Python.

    Args:
        what: cannot be done, and the limit; a sentence without its end.
        ways: what could be done about it.
    """

    def __init__(self, what: str, *ways: Way) -> None:
        super().__init__(what, *ways)
        self.what, self.ways = what, ways

    def __str__(self) -> str:
        return self.said(IN_PYTHON)

    def said(self, words: Mapping[Way, str], otherwise: str = "") -> str:
        """The whole sentence.

        Args:
            words: of whoever is told; ways without any are not open to them.
            otherwise: what they can do in any case.
        """
        clauses = [words[way] for way in self.ways if way in words]
        clauses += [otherwise] if otherwise else []
        *others, last = clauses
        return f"{self.what}; {', '.join(others)}{' or ' if others else ''}{last}."


class BackendError(RuntimeError):
    """The input is fine but the work failed (a damaged checkpoint, no memory): says what to do."""


class Busy(BackendError):
    """The work was not begun, as too much of it waits already; ask for the same in a moment."""
