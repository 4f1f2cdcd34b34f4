"""The operator's setting for how long the app keeps its users' work."""

from __future__ import annotations

import os
from contextlib import suppress

from areaviz.trace.errors import InputError

# Environment variable with a number of days. Notes, slices, ratings and analyses that are unchanged
# for so long are removed. Without it, nothing is removed.
DAYS = "AREAVIZ_KEEP_DAYS"
MAX_DAYS = 36_500


def keep_days() -> float | None:
    """Return the retention period in days, or None for no limit.

    Raises:
        InputError: the environment variable is not a number.
    """
    given = os.environ.get(DAYS, "").strip()
    if not given:
        return None
    with suppress(ValueError):
        days = float(given)
        if 0 < days <= MAX_DAYS:
            return days
    raise InputError(
        f'{DAYS} is "{given[:40]}" but must be a number of days up to {MAX_DAYS:,}. Correct'
        " the setting."
    )
