"""Checks of the operator's settings at startup, so that readers never meet a wrong setting."""

from __future__ import annotations

import difflib
import os

from areaviz.shares.keeping import keep_days
from areaviz.shares.limits import TABLE, list_limits
from areaviz.trace.errors import InputError

_LIMIT_PREFIX = "AREAVIZ_LIMIT_"


def check_settings() -> None:
    """Check the limits, the budgets of memory and disk, and the retention period.

    Raises:
        InputError: a setting has a wrong value or names a limit that does not exist.
    """
    # Imported late, because it imports Streamlit.
    from areaviz.app.run import DISK_VARIABLE, MEMORY_VARIABLE, read_budget_bytes

    known = {limit.setting.removeprefix(_LIMIT_PREFIX) for limit in TABLE}
    for setting in os.environ:
        name = setting.removeprefix(_LIMIT_PREFIX)
        if setting.startswith(_LIMIT_PREFIX) and name not in known:
            raise InputError(
                f"There is no limit for the setting {setting}.{_make_advice(name, known)}"
            )
    list_limits()
    keep_days()
    for name in (MEMORY_VARIABLE, DISK_VARIABLE):
        read_budget_bytes(name)


def _make_advice(name: str, known: set[str]) -> str:
    """Return advice for a setting whose limit does not exist.

    Args:
        name: the name of the limit in the setting.
        known: the names of all limits. The advice names the most similar one, if there is one.
    """
    similar = difflib.get_close_matches(name, sorted(known), n=1)
    if similar:
        return f" Remove it, or use {_LIMIT_PREFIX}{similar[0]}."
    return " Remove it. The table of shares in docs/reliability.md lists all limits."
