"""Files of attention are opened once, refused with a reason, and freed again."""

from __future__ import annotations

import gc
import io
from pathlib import Path
from traceback import extract_tb

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app import files as module
from areaviz.app.files import TRACE_VARIABLE, open_served_file, open_served_trace, wait_for_turn
from areaviz.app.run import BYTES_PER_MIB, get_disk_budget
from areaviz.shares import Visitor
from areaviz.trace import file as codec
from areaviz.trace.errors import InputError
from tests import fakes
from tests.pages.conftest import Open, open_page, shown, stored  # noqa: F401
from tests.pages.test_your_tensors import upload
from tests.trace.test_arrays import weights


def saved(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets an entry whenever a file is read."""
    counted: list[int] = []
    real = module.open_npz

    def read(*arguments: object, **options: object) -> object:
        counted.append(1)
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "open_npz", read)
    return counted


def test_file_is_read_once_for_many_page_runs(open_page: Open, reads: list[int]) -> None:  # noqa: F811
    app = upload(open_page("your_tensors"), codec.trace_to_bytes(fakes.trace()))
    for site in ("encoder self", "decoder self"):
        app = app.run().segmented_control(key="your_tensors_site").set_value(site).run()
    assert not app.exception and not app.error and len(reads) == 1


def test_refusal_is_cached(open_page: Open, reads: list[int]) -> None:  # noqa: F811
    app = upload(open_page("your_tensors"), saved(weights=weights(1, 1, 2, 2) * 2)).run().run()
    assert "must sum to 1" in shown(app) and len(reads) == 1


def test_too_large_file_is_refused_unread(
    open_page: Open,  # noqa: F811
    reads: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_MEGABYTES", 0)
    app = upload(open_page("your_tensors"), saved(weights=weights(1, 1, 2, 2)))
    assert "MB, and the limit is 0. Choose a smaller file" in shown(app) and "--trace" in shown(app)
    assert not reads


def test_disk_use_is_counted_and_released(
    open_page: Open,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fresh() -> None:
        get_disk_budget.clear()
        gc.collect()

    fresh()
    content = codec.trace_to_bytes(fakes.trace())
    size = sum(one.weights.nbytes for one in fakes.trace().maps.values())
    app = upload(open_page("your_tensors"), content)
    assert get_disk_budget().used == size and not app.error
    monkeypatch.setenv("AREAVIZ_DISK_MIB", "1")
    fresh()
    for reader in "abcd":
        get_disk_budget().reserve(BYTES_PER_MIB // 4, Visitor(reader))
    app = upload(open_page("your_tensors"), content)
    assert "have 1 MiB of uploaded attention open" in shown(
        app
    ) and "Try again in a few minutes" in shown(app)
    monkeypatch.delenv("AREAVIZ_DISK_MIB")
    fresh()
    assert not app.run().error, "what was refused for want of room is tried again"
    fresh()


def test_served_file_is_shown_to_all_users(
    open_page: Open,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert open_served_file() is None
    path = tmp_path / "large.npz"
    path.write_bytes(codec.trace_to_bytes(fakes.trace()))
    monkeypatch.setenv(TRACE_VARIABLE, str(path))
    app = open_page("your_tensors")
    assert not app.error and "large.npz: Stored trace of char-tiny-area" in shown(app)
    assert open_served_trace(path, 1) is open_served_trace(path, 1)
    app = upload(app, saved(weights=weights(1, 1, 2, 2)))
    assert "1 layers, 1 heads" in shown(app) and "large.npz" not in shown(app)
    path.write_bytes(b"no trace")
    with pytest.raises(InputError) as first:
        open_served_trace(path, 1)
    with pytest.raises(InputError) as second:
        open_served_trace(path, 1)
    for error in (first, second):
        frames = {frame.name for frame in extract_tb(error.value.__traceback__)}
        assert "open_npz" not in frames, "a kept error holds what its frames hold, such as the file"
    assert "not an .npz archive" in shown(open_page("your_tensors"))
    path.unlink()
    assert "Tell the person who runs the app" in shown(open_page("your_tensors"))


def test_small_traces_do_not_wait() -> None:
    small = [fakes.trace()]
    with wait_for_turn(small), wait_for_turn(small), wait_for_turn(small):
        pass


def page() -> None:
    import streamlit as st

    from areaviz.app.run import keep_session_while_open

    keep_session_while_open()
    st.text("here")


def test_page_reports_its_presence() -> None:
    assert not AppTest.from_function(page).run().exception
