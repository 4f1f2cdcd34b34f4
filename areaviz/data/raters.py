"""Raters of outputs that are programs. The end of their names distinguishes them from people."""

from __future__ import annotations

AUTOMATIC = " (automatic)"
"""The end of the name of a rater that is a metric or another program, such as xCOMET."""


def is_automatic(rater: str) -> bool:
    """Return whether a rater is a program. Its errors are shown, but no figure counts them."""
    return rater.endswith(AUTOMATIC)
