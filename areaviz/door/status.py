"""What the operator is told of the process and its visitors."""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path

from areaviz.door import streamlit_parts


def visitors(started: float) -> dict[str, object]:
    """What JSON can hold. started: when the app began, by `time.monotonic`."""
    here, kept = streamlit_parts.sessions()
    return {
        "process": os.getpid(),
        "running_minutes": round((time.monotonic() - started) / 60),
        "memory_megabytes": memory_megabytes(),
        "threads": threading.active_count(),
        "sessions": here,
        "sessions_kept_for_return": kept,
        "uploaded_megabytes": round(sum(streamlit_parts.uploaded_bytes().values()) / 2**20, 1),
    }


def memory_megabytes() -> int | None:
    """What the process has in memory; None where the system does not say."""
    try:
        found = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        return None
    return round(int(found[1]) / 1024) if found else None
