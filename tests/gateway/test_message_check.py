"""Messages are counted before objects are made of them."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.proto.BackMsg_pb2 import BackMsg

from areaviz.gateway.messages import PASSED, RERUN, BrokenMessage, find_kind
from areaviz.trace.errors import InputError


def rerun(widgets: int) -> BackMsg:
    message = BackMsg()
    message.rerun_script.page_name = "translate"
    for number in range(widgets):
        state = message.rerun_script.widget_states.widgets.add(id=f"widget-{number}")
        state.string_value = "A dog runs."
    return message


def test_message_of_a_page_passes() -> None:
    message = rerun(300)
    state = message.rerun_script.widget_states.widgets.add(id="sizes")
    state.double_array_value.data.extend([1.5, 2.5])
    state = message.rerun_script.widget_states.widgets.add(id="files")
    state.file_uploader_state_value.uploaded_file_info.add(name="a.png", file_id="1", size=3)
    assert find_kind(message.SerializeToString()) == RERUN


@pytest.mark.parametrize("kind", [field.name for field in BackMsg.DESCRIPTOR.fields[:10]])
def test_only_known_kinds_of_messages_pass(kind: str) -> None:
    message = BackMsg()
    field = BackMsg.DESCRIPTOR.fields_by_name[kind]
    if field.message_type:
        getattr(message, kind).SetInParent()
    else:
        setattr(message, kind, True)
    assert find_kind(message.SerializeToString()) == (kind if kind in PASSED else "")


def test_last_kind_of_a_message_counts() -> None:
    clear = BackMsg(clear_cache=True).SerializeToString()
    assert find_kind(rerun(1).SerializeToString() + clear) == ""


def test_widgets_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_kind(rerun(2000).SerializeToString())
    with pytest.raises(InputError, match="states of 2,000 inputs at once"):
        find_kind(rerun(2001).SerializeToString())
    halves = rerun(1500).SerializeToString()
    with pytest.raises(InputError, match="2,000 inputs"):
        find_kind(halves + halves)
    monkeypatch.setenv("AREAVIZ_LIMIT_MESSAGE_WIDGETS", "3")
    with pytest.raises(InputError, match="states of 3 inputs"):
        find_kind(rerun(4).SerializeToString())


def small_values(kind: str) -> BackMsg:
    message = BackMsg()
    widget = message.rerun_script.widget_states.widgets.add(id="a")
    match kind:
        case "strings":
            widget.string_array_value.data.extend([""] * 400_000)
        case "numbers":
            widget.int_array_value.data.extend([1] * 400_000)
        case "files":
            for _ in range(100_000):
                widget.file_uploader_state_value.uploaded_file_info.add()
        case "hashes":
            message.rerun_script.cached_message_hashes.extend([""] * 400_000)
        case "names":
            message.file_urls_request.file_names.extend([""] * 400_000)
    return message


@pytest.mark.parametrize("kind", ["strings", "numbers", "files", "hashes", "names"])
def test_many_small_values_cost_no_memory(kind: str) -> None:
    content = small_values(kind).SerializeToString()
    tracemalloc.start()
    with pytest.raises(InputError, match="20,000 values at once"):
        find_kind(content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize(
    "content",
    [
        b"\xff" * 40,
        b"\x5a\x05a",
        b"\x0b",
        b"\x5a\x02\x12",
        b"\x80",
        b"\x29\x00",
        b"\x5a\x03\x0a\x01\xff",
    ],
)
def test_broken_message_raises_an_error(content: bytes) -> None:
    with pytest.raises(BrokenMessage):
        find_kind(content)


@given(st.binary(max_size=200))
def test_kind_of_agrees_with_protobuf(content: bytes) -> None:
    try:
        kind = find_kind(content)
    except BrokenMessage:
        return
    message = BackMsg.FromString(content)
    assert kind == (message.WhichOneof("type") if message.WhichOneof("type") in PASSED else "")
