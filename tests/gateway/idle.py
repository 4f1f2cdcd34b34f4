"""Checks of a server with many idle connections."""

from __future__ import annotations

from areaviz.shares import Limit
from tests.faults.client import Session
from tests.faults.served import Served
from tests.faults.silent import Hold, count_open, wait_until_closed
from tests.gateway.client import limited

# A limit that is over soon. Only connections that have to end are made while it is in force.
SOON_SECONDS = 0.5


def check_visitor_is_served(app: Served) -> None:
    """Check that a new visitor gets a page."""
    with Session.open(app.url) as visitor:
        assert len(visitor.visit("models").messages) > 5


def check_others_are_served(app: Served, hold: Hold, many: int) -> None:
    """Check that a visitor gets a page beside idle connections, which stay open meanwhile."""
    with hold(app, many) as lines:
        check_visitor_is_served(app)
        assert count_open(lines) == many


def check_connections_end(app: Served, hold: Hold, many: int, limit: Limit) -> None:
    """Check that idle connections end when a short limit is over, and that they log little."""
    log = app.log.stat().st_size
    with limited(app, limit, SOON_SECONDS), hold(app, many) as lines:
        wait_until_closed(lines)
    assert app.log.stat().st_size - log < 20_000
