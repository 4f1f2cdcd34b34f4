"""What the operator is told of the process and its visitors."""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path

from areaviz.door import streamlit_parts
from areaviz.door.limits import Connections


def visitors(started: float, connections: Connections) -> dict[str, object]:
    """What JSON can hold. started: when the app began, by `time.monotonic`."""
    here, kept = streamlit_parts.sessions()
    used, limit = connections.descriptors()
    return {
        "process": os.getpid(),
        "running_minutes": round((time.monotonic() - started) / 60),
        "memory_megabytes": memory_megabytes(),
        "threads": threading.active_count(),
        "connections": len(connections),
        "file_descriptors": used,
        "file_descriptors_limit": limit,
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
