"""Open a store of notes three times within a second, under a system fault.

This is the child process of test_store:

    python -m tests.notes.opener PATH [file-size BYTES | descriptors LEFT | user ID]

It prints a JSON list with one entry per opening: the error, or "N notes".
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

from areaviz.sets.notes.notes import Annotations
from areaviz.trace.errors import BackendError

DATASET = "d" * 64
OPENINGS = 3


def opened(path: str) -> str:
    try:
        return f"{len(Annotations.open(f'sqlite:///{path}').list_all(DATASET))} notes"
    except BackendError as error:
        return str(error)


def begin(fault: str, value: int) -> None:
    """Cause the fault, for this process only."""
    if fault == "file-size":
        resource.setrlimit(resource.RLIMIT_FSIZE, (value, value))
    elif fault == "descriptors":
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        taken = []
        while True:
            try:
                taken.append(os.dup(0))
            except OSError:
                break
        for descriptor in taken[:value]:
            os.close(descriptor)
    elif fault == "user":
        os.setgroups([])
        os.setgid(value)
        os.setuid(value)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        opened(f"{folder}/warm.db")  # imports everything before the fault starts
    if len(sys.argv) > 2:
        begin(sys.argv[2], int(sys.argv[3]))
    start = threading.Barrier(OPENINGS)

    def once(_: int) -> str:
        start.wait(10)
        return opened(sys.argv[1])

    with ThreadPoolExecutor(OPENINGS) as pool:
        print(json.dumps(list(pool.map(once, range(OPENINGS)))), flush=True)


if __name__ == "__main__":
    main()
