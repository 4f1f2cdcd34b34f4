"""Raters that are programs. The end of their names distinguishes them from people."""

from __future__ import annotations

AUTOMATIC = " (automatic)"
"""The end of the name of a rater that is a metric or another program, such as xCOMET."""


def is_automatic(rater: str) -> bool:
    """Return whether a rater is a program: its errors are shown, but count in no figure."""
    return rater.endswith(AUTOMATIC)
