"""Oversized messages are dropped while they arrive, in frames of any size."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.server import ServerProtocol

from areaviz.gateway.protocols import TOO_LARGE, FrameFilter

LIMIT = 1000


def frame(opcode: Opcode, size: int, final: bool = True) -> bytes:
    return Frame(opcode, b"a" * size, final).serialize(mask=True, extensions=[])


def message(sizes: Sequence[int]) -> bytes:
    """Return a message whose frames have these sizes, with a ping after each frame."""
    parts = []
    for place, size in enumerate(sizes):
        opcode = Opcode.BINARY if place == 0 else Opcode.CONT
        parts.append(frame(opcode, size, final=place == len(sizes) - 1))
        parts.append(frame(Opcode.PING, 3))
    return b"".join(parts)


def received(data: bytes) -> tuple[list[bytes], int]:
    """Return the messages that the web server finds in the bytes, and the number of pings."""
    protocol = ServerProtocol(max_size=LIMIT + len(TOO_LARGE))
    protocol.state = protocol.state.OPEN
    protocol.parser = protocol.parse()
    next(protocol.parser)
    protocol.receive_data(data)
    messages: list[bytes] = []
    pings = 0
    for event in protocol.events_received():
        assert isinstance(event, Frame)
        if event.opcode is Opcode.PING:
            pings += 1
        elif event.opcode is Opcode.CONT:
            messages[-1] += bytes(event.data)
        else:
            messages.append(bytes(event.data))
    assert protocol.parser_exc is None
    return messages, pings


@given(
    st.lists(st.lists(st.sampled_from([0, 1, 125, 126, 400, 999, 1000, 1001]), min_size=1)),
    st.integers(1, 5000),
)
@example([[70_000], [5, 70_000, 5], [1000], [70_000]], 333)
def test_filter_replaces_only_large_messages(sent: list[list[int]], chunk: int) -> None:
    data = b"".join(message(sizes) for sizes in sent)
    frames = FrameFilter(LIMIT)
    parts = [data[start : start + chunk] for start in range(0, len(data), chunk)]
    messages, pings = received(b"".join(frames.feed(part) for part in parts))
    assert pings == sum(map(len, sent))
    assert len(messages) == len(sent)
    for sizes, got in zip(sent, messages, strict=True):
        if sum(sizes) + 64 * (len(sizes) - 1) <= LIMIT:
            assert got == b"a" * sum(sizes)
        else:
            assert got.endswith(TOO_LARGE)
            assert len(got) <= LIMIT + len(TOO_LARGE)


def test_filter_refuses_a_message_by_its_head() -> None:
    head = frame(Opcode.BINARY, 22_000_000)[:14]
    messages, _ = received(FrameFilter(LIMIT).feed(head))
    assert messages == [TOO_LARGE]


def test_endless_empty_frames_are_refused() -> None:
    data = frame(Opcode.BINARY, 0, False) + 1000 * frame(Opcode.CONT, 0, False)
    assert len(FrameFilter(LIMIT).feed(data)) < 200


@pytest.mark.parametrize("size", [0, 125, 126, 1000])
def test_small_message_passes_unchanged(size: int) -> None:
    data = frame(Opcode.BINARY, size)
    assert FrameFilter(LIMIT).feed(data) == data
