"""An attacker does not slow other readers down, with any number of cookies."""

from __future__ import annotations

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from benchmarks.fairness import COOKIES, huge_message, message_cost, upload_wait
from tests.faults.served import Served


def test_huge_message_has_its_widgets() -> None:
    message = BackMsg.FromString(huge_message(3))
    assert [one.id for one in message.rerun_script.widget_states.widgets] == ["0000000"] * 3
    assert len(huge_message()) == pytest.approx(22e6, rel=0.01)


@pytest.mark.parametrize("cookies", COOKIES)
def test_huge_messages_are_refused(open_app: Served, cookies: str) -> None:
    cost = message_cost(open_app, cookies, huge_message(300_000))
    assert cost.megabytes < 15
    assert cost.processor_seconds < 1


@pytest.mark.parametrize("cookies", COOKIES)
def test_idle_uploads_do_not_block_another_reader(open_app: Served, cookies: str) -> None:
    """Check that the reader's upload is accepted. The idle ones last longer than any test."""
    assert upload_wait(open_app, cookies)
