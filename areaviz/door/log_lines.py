"""The app's log: one cause gives one line a second at most, so that nobody fills the
disk with it.
"""

from __future__ import annotations

import logging
import time

SECONDS, CAUSES = 1.0, 1024
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class OncePerSecond(logging.Filter):
    """Lets a line through that was not written within the last second; says how many were left out
    before it.

    A cause is the logger and the text without what is filled in, and the kind of error.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[tuple[object, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        kind = record.exc_info[0] if record.exc_info else None
        cause = (record.name, record.levelno, str(record.msg)[:200], kind)
        now = time.monotonic()
        when, left_out = self._last.get(cause, (-SECONDS, 0))
        if now - when < SECONDS:
            self._last[cause] = when, left_out + 1
            return False
        if len(self._last) >= CAUSES:
            self._last.clear()
        self._last[cause] = now, 0
        if left_out:
            record.msg, record.args = (
                f"{record.getMessage()} ({left_out:,} more like this were not written)",
                None,
            )
        return True


def bound_lines() -> None:
    """Have every handler that there is keep to it; to be called after all loggers were made."""
    logging.basicConfig(format=FORMAT, level=logging.WARNING)
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    for handler in {handler for logger in (logging.root, *loggers) for handler in logger.handlers}:
        handler.addFilter(OncePerSecond())
