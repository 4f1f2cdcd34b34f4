"""Decides whether the date can be trusted when the app deletes old work by itself.

A clock that jumps a year ahead once would make everything look old. So the app notes the date at
each of its checks, and deletes only after a day of dates without a jump. Then an operator has a day
to correct a wrong clock, and nothing is lost.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from areaviz.trace.files import PRIVATE_FILE, write_whole

log = logging.getLogger(__name__)

# The file in the folder of analyses that holds the dates of earlier checks.
DATES = "dates.json"
# Dates further apart than this are a jump, or the app was not used for so long.
MAX_GAP = timedelta(days=7)
# How long dates must go on without a jump until old work is deleted.
STEADY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Dates:
    """The first date since the last jump, and the date of the last check."""

    first: datetime
    last: datetime


def is_date_steady(folder: Path, now: datetime) -> bool:
    """Note the date of a check, and return whether the dates went on for a day without a jump.

    Args:
        folder: of analyses.
        now: the date, with its time zone.

    Raises:
        BackendError: the date cannot be noted.
    """
    known = _read(folder / DATES)
    if known is not None and timedelta(0) <= now - known.last <= MAX_GAP:
        dates = _Dates(known.first, now)
    else:
        dates = _Dates(now, now)
        if known is not None:
            log.warning(
                "The date changed from %s to %s since old work was last looked for. Nothing is"
                " deleted for a day. Correct the clock if it is wrong.",
                known.last.date(),
                now.date(),
            )
    content = {"first": dates.first.isoformat(), "last": dates.last.isoformat()}
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / DATES, json.dumps(content).encode(), PRIVATE_FILE)
    return dates.last - dates.first >= STEADY


def _read(path: Path) -> _Dates | None:
    """Return the dates that were noted, or None where there are none that can be read."""
    try:
        content = json.loads(path.read_bytes())
        dates = _Dates(*(datetime.fromisoformat(content[name]) for name in ("first", "last")))
        return dates if dates.first.tzinfo and dates.last.tzinfo else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
