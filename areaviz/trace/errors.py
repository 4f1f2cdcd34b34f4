"""The two kinds of errors of a request. Each message says in short sentences what users can do."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Literal

# Names of the changes that users can make to an input that cannot be used.
Way = Literal["input", "layers", "heads", "areas", "part", "probe", "arrays", "tokenizer", "target"]
# Wording of the advice for callers of this package's Python functions.
IN_PYTHON: Mapping[Way, str] = {
    "input": "give a shorter text or a smaller picture",
    "layers": "keep fewer layers (layers=)",
    "heads": "keep fewer heads (heads=)",
    "areas": "use smaller areas (area_size=)",
    "part": "give fewer heads and items",
    "probe": "give a probe for its attention layers (see docs/your_models.md)",
    "arrays": "give its weights to areaviz.from_arrays",
    "tokenizer": "give one (tokenizer=), or token ids instead of the text",
    "target": "give the text that it should write (target=)",
}


class InputError(ValueError):
    """The input cannot be used. The message says what is wrong, the limit, and what to do."""


class InputErrorWithAdvice(InputError):
    """An input error whose advice is worded for each interface. `str` gives the wording for Python.

    Args:
        what: What cannot be done, and the limit, as a sentence without its full stop.
        ways: Names of the changes that users can make.
    """

    def __init__(self, what: str, *ways: Way) -> None:
        super().__init__(what, *ways)
        self.what, self.ways = what, ways

    def __str__(self) -> str:
        return self.said(IN_PYTHON)

    def said(self, words: Mapping[Way, str], otherwise: str = "") -> str:
        """Return the whole sentence.

        Args:
            words: Wording of the advice for an interface. Ways without a wording are left out.
            otherwise: Advice that always applies.
        """
        clauses = [words[way] for way in self.ways if way in words]
        clauses += [otherwise] if otherwise else []
        *others, last = clauses
        advice = f"{', '.join(others)}{' or ' if others else ''}{last}"
        return f"{self.what}. {advice[:1].upper()}{advice[1:]}."


def without_traceback(error: InputError) -> InputError:
    """Return a copy of an error to keep or to raise again.

    An error that was raised refers to the frames that it passed, and so to a file that was just
    refused. A kept error would hold the file's bytes in memory for as long as it is kept.
    """
    return copy(error)


class BackendError(RuntimeError):
    """The input is valid but the work failed.

    Examples are a damaged checkpoint and lack of memory. The message says what to do.
    """


class BackendBusy(BackendError):
    """The work was not started because too much work is waiting. Repeat the request in a moment."""
