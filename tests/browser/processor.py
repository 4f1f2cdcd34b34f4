"""Processor time of a page and of its server, which other programs of the machine do not change."""

from __future__ import annotations

from playwright.sync_api import CDPSession, Page

from areaviz.gateway.serving import send_command
from tests.faults.served import processor_seconds


class PageThread:
    """The thread of a page that runs its scripts and draws it."""

    def __init__(self, page: Page) -> None:
        self._session: CDPSession = page.context.new_cdp_session(page)
        self._session.send("Performance.enable")

    def seconds(self) -> float:
        """Return the processor time that the thread has used, in seconds."""
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return float({one["name"]: one["value"] for one in metrics}["ThreadTime"])


def app_seconds(url: str) -> float:
    """Return the processor time that the app at a URL has used, in seconds."""
    status = send_command(int(url.rpartition(":")[2]), "status")
    return processor_seconds(int(status["process"]))
