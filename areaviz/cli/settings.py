"""Checks the operator's settings when the app starts, so that no reader meets a wrong one first."""

from __future__ import annotations

import difflib
import os

from areaviz.analysis.retention import keep_days
from areaviz.shares.limits import TABLE, listed_limits
from areaviz.trace.errors import InputError

_LIMIT_PREFIX = "AREAVIZ_LIMIT_"


def check_settings() -> None:
    """Check the limits, the budgets of memory and disk, and the days that work is kept.

    Raises:
        InputError: a setting has a wrong value, or there is no limit of its name.
    """
    # Imported here, because it takes Streamlit with it.
    from areaviz.ui.shell.budget import DISK, MEMORY, budget_bytes

    known = {limit.setting.removeprefix(_LIMIT_PREFIX) for limit in TABLE}
    for setting in os.environ:
        name = setting.removeprefix(_LIMIT_PREFIX)
        if setting.startswith(_LIMIT_PREFIX) and name not in known:
            raise InputError(f"There is no limit for the setting {setting}.{_advice(name, known)}")
    listed_limits()
    keep_days()
    for name in (MEMORY, DISK):
        budget_bytes(name)


def _advice(name: str, known: set[str]) -> str:
    """Return what to do about a setting of no limit, naming the most similar one."""
    similar = difflib.get_close_matches(name, sorted(known), n=1)
    if similar:
        return f" Remove it, or use {_LIMIT_PREFIX}{similar[0]}."
    return " Remove it. The table of shares in docs/reliability.md lists all limits."
