"""Check of the system date before the app deletes old work on its own.

A clock that jumps a year ahead would make everything look old. So the app records the date at each
check and deletes only after a day of dates without a jump. That gives an operator a day to correct
a wrong clock before anything is lost.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from areaviz.trace.safe_files import PRIVATE_FILE, write_whole

log = logging.getLogger(__name__)

# The file in the folder of analyses with the dates of earlier checks.
DATES = "dates.json"
# A larger gap between two dates counts as a jump. It can also come from a long time without use.
MAX_GAP = timedelta(days=7)
# Time without a jump that has to pass before old work is deleted.
STEADY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Dates:
    """The first date since the last jump, and the date of the last check."""

    first: datetime
    last: datetime


def is_date_steady(folder: Path, now: datetime) -> bool:
    """Record the date of a check, and return whether a day has passed without a jump.

    Args:
        folder: the folder of analyses.
        now: the date, with its time zone.

    Raises:
        BackendError: the date cannot be recorded.
    """
    known = _read_dates(folder / DATES)
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


def _read_dates(path: Path) -> _Dates | None:
    """Return the recorded dates, or None if they are missing or unreadable."""
    try:
        content = json.loads(path.read_bytes())
        dates = _Dates(*(datetime.fromisoformat(content[name]) for name in ("first", "last")))
        return dates if dates.first.tzinfo and dates.last.tzinfo else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
