"""A server with at most 1,024 file descriptors survives connections that use them up."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from areaviz.shares import FIRST_MESSAGE_SECONDS, HEAD_SECONDS
from tests.faults.client import Session, new_cookie
from tests.faults.served import Served
from tests.faults.silent import half_open, silent_sockets
from tests.gateway.client import status
from tests.gateway.conftest import small_server
from tests.gateway.idle import (
    check_connections_end,
    check_others_are_served,
    check_visitor_is_served,
)

DESCRIPTORS = 1024


@pytest.fixture(scope="module")
def tight_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve the small page with at most 1,024 file descriptors."""
    folder = tmp_path_factory.mktemp("tight")
    with small_server(folder, {}, soft=DESCRIPTORS, hard=DESCRIPTORS) as app:
        yield app


def test_hard_limit_is_kept(tight_app: Served) -> None:
    assert status(tight_app)["file_descriptors_limit"] == DESCRIPTORS


@pytest.mark.long
def test_silent_sockets_do_not_block_others(tight_app: Served) -> None:
    check_others_are_served(tight_app, silent_sockets, 300)
    check_connections_end(tight_app, silent_sockets, 300, FIRST_MESSAGE_SECONDS)


def test_half_open_requests_are_logged(tight_app: Served) -> None:
    with half_open(tight_app, 1100):
        check_visitor_is_served(tight_app)
    check_connections_end(tight_app, half_open, 1100, HEAD_SECONDS)
    log = tight_app.log.read_text()
    assert "of 1024 file descriptors are used" in log
    assert "Too many open files" not in log


@pytest.mark.long
def test_former_visitors_do_not_block_others(tight_app: Served) -> None:
    """Check that new visitors get in.

    Streamlit keeps 128 sessions of visitors who have left, each with file descriptors.
    """

    def visit_and_leave(number: int) -> int:
        with Session.open(tight_app.url, new_cookie(tight_app.url)) as visitor:
            return len(visitor.visit("models").messages)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(visit_and_leave, range(140)))
    assert "Too many open files" not in tight_app.log.read_text()
