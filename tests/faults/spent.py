"""The processor time of an app during each question of a reader.

It is measured because it does not depend on the machine's other work, as seconds of waiting do.
"""

from __future__ import annotations

import pytest

from tests.faults.client import Session, Shown
from tests.faults.served import Served


def note_processor_seconds(app: Served, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list that gets the app's processor seconds during each question of a reader."""
    found: list[float] = []
    write = Session.write

    def measured(session: Session, label: str, text: str) -> Shown:
        before = app.processor_seconds()
        shown = write(session, label, text)
        found.append(app.processor_seconds() - before)
        return shown

    monkeypatch.setattr(Session, "write", measured)
    return found
