"""What the operator is told of the app's work: its queue and its analyses."""

from __future__ import annotations

from areaviz.ui.engine import requests_waiting
from areaviz.ui.jobs import jobs


def work() -> dict[str, object]:
    """What JSON can hold. requests_waiting: None where no model was opened yet, or where they run elsewhere."""
    running = [{"done": job.done, "of": job.most} for job in jobs().running()]
    return {"requests_waiting": requests_waiting(), "analyses_running": running}
