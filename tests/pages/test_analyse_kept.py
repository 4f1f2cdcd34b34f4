"""Ownership of analyses on Analyse, deletion by their readers, and pictures.

Pictures are distinguished by their content.
"""

from __future__ import annotations

import csv
import io
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from PIL import Image
from streamlit.testing.v1 import AppTest

from areaviz.backend.access import name_reader_cookie
from areaviz.backend.backend import OWN_WORK, Backend, Caller
from areaviz.samples.dataset import Files
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.sets import dataset as dataset_builder
from areaviz.sets.app import form, state
from areaviz.sets.app.runs import get_jobs
from areaviz.sets.app.state import open_note_store
from areaviz.sets.notes.exchange import to_bytes
from areaviz.sets.notes.notes import Annotation, Slice
from areaviz.sets.retention import DATES, is_date_steady
from areaviz.sets.run import SETTING, RowFile, find_rows_path
from areaviz.shares import DAYS
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from tests import fakes
from tests.pages.analysed import (
    Translating,
    button,
    listed,
    opened_first,
    ran,
    uploading,
    write,
)
from tests.pages.conftest import Open, shown
from tests.pages.pictured import Pictured
from tests.sets import read_media

Use = Callable[[Backend], None]
COLOURS = {"red": (255, 0, 0), "blue": (0, 0, 255), "green": (0, 255, 0)}


class Named(Pictured):
    """A backend that describes a picture by its colour."""

    def trace(self, request: Request, progress: Any = None, caller: Caller = OWN_WORK) -> Trace:
        self.asked.append(request)
        assert request.picture is not None
        shade = request.picture.pixels.reshape(-1, 3).mean(0)
        name = min(COLOURS, key=lambda one: float(np.abs(shade - COLOURS[one]).sum()))
        return replace(fakes.caption_trace(f"it is {name}", seen=request.picture), request=request)


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))
    return tmp_path / "rows"


def picture(colour: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 40), COLOURS[colour]).save(buffer, "PNG")
    return buffer.getvalue()


def uploaded(open_page: Open, pictures: Mapping[str, str]) -> AppTest:
    """Open the page in a new session with a set of plain pictures, given by name and colour."""
    app = uploading(open_page("analyse", new="1"))
    files = [(name, picture(colour), "image/png") for name, colour in pictures.items()]
    return app.file_uploader(key=form.FILES_KEY_PREFIX).set_value(files).run()


def outputs(app: AppTest) -> list[str]:
    assert not app.exception and not app.error
    return [str(text) for text in listed(app)["Output"]]


@pytest.mark.long
def test_sets_with_equal_names_and_different_pictures_differ(
    open_page: Open, use_backend: Use
) -> None:
    use_backend(Named())
    first = ran(uploaded(open_page, {"0.png": "red", "1.png": "blue"}))
    assert outputs(first) == ["it is red", "it is blue"]
    write(opened_first(first), "Style", "about the red one")
    other = uploaded(open_page, {"0.png": "green", "1.png": "blue"})
    assert (
        listed(other).empty
        and "it is red" not in shown(other)
        and "about the red one" not in shown(other)
    )
    assert outputs(ran(other)) == ["it is green", "it is blue"]
    again = uploaded(open_page, {"0.png": "red", "1.png": "blue"})
    assert outputs(again) == ["it is red", "it is blue"], "the same pictures are the same set"
    assert not any(one.label == "Delete the analysis" for one in again.button)


def test_uploaded_files_are_read_once(
    open_page: Open, use_backend: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_backend(Named())
    read = []

    made = dataset_builder._build_media_dataset

    def counted(files: Files) -> dataset_builder.BuiltDataset:
        read.append(1)
        return made(files)

    monkeypatch.setattr(dataset_builder, "_build_media_dataset", counted)
    app = uploaded(open_page, {"0.png": "red"})
    for _ in range(3):
        app.run()
    assert len(read) == 1
    app.file_uploader(key=form.FILES_KEY_PREFIX).set_value(
        [("0.png", picture("blue"), "image/png")]
    ).run()
    assert len(read) == 2 and outputs(ran(app)) == ["it is blue"]


@pytest.mark.long
def test_earlier_analyses_are_reported_with_their_notes(
    open_page: Open, use_backend: Use, rows: Path
) -> None:
    use_backend(Named())
    app = ran(uploaded(open_page, {"0.png": "red"}))
    (path,) = rows.glob("*.jsonl")
    dataset = read_media({"0.png": picture("red")})
    before = replace(RowFile.read(path).header, digest=dataset.earlier_digest)
    RowFile.open(find_rows_path(before), before).close()
    open_note_store().notes.save(
        Annotation(dataset.earlier_digest, 0, "", "Style", note="of that time")
    )
    open_note_store().slices.save(Slice(dataset.earlier_digest, "mine", (0,)))
    app = uploaded(open_page, {"0.png": "red"})
    assert f"is kept as {find_rows_path(before).name}" in shown(app) and "Run it again" in shown(
        app
    )
    assert "1 note and 1 slice written on" in shown(app) and "of that time" not in shown(app)
    button(app, "Bring them to this set").click().run()
    assert "Brought to this set: 1 note and 1 slice." in app.toast[0].value
    assert [note.note for note in open_note_store().notes.list_all(dataset.digest)] == [
        "of that time"
    ]
    assert len(open_note_store().notes.list_all(dataset.earlier_digest)) == 1
    assert not any(one.label.startswith("Bring them") for one in app.run().button)


def test_only_the_owner_deletes_an_analysis(open_page: Open, use_backend: Use, rows: Path) -> None:
    use_backend(Translating())
    mine = ran(open_page("analyse", new="1"))
    hers = open_page("analyse", new="1")
    assert "Begun by" not in shown(mine) + shown(hers)
    assert not any(one.label == "Delete the analysis" for one in hers.button)
    button(mine, "Delete the analysis").click().run()
    assert (
        "was deleted" in mine.toast[0].value
        and not list(rows.glob("*.jsonl"))
        and listed(mine).empty
    )
    assert listed(hers.run()).empty


def test_exported_file_does_not_contain_the_cookie(
    open_page: Open, use_backend: Use, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Context:
        cookies = {name_reader_cookie(st.get_option("server.port")): "0123456789abcdef" * 2}
        ip_address = None
        locale = "en"

    monkeypatch.setattr(st, "context", Context)
    use_backend(Translating())
    # Another session with the same cookie is the same reader, who has this analysis.
    for app in (ran(open_page("analyse", new="1")), open_page("analyse", new="1")):
        assert button(app, "Delete the analysis")
    (path,) = rows.glob("*.jsonl")
    head = json.loads(path.read_text().split("\n")[0])
    assert len(head["reader"]) == 64 and "0123456789abcdef" not in path.read_text()


def test_deletion_removes_only_own_work(open_page: Open, use_backend: Use, rows: Path) -> None:
    use_backend(Named())
    mine = ran(uploaded(open_page, {"0.png": "red"}))
    write(opened_first(mine), "Style", "mine")
    hers = uploaded(open_page, {"0.png": "red"})
    write(opened_first(hers), "Accuracy", "hers")
    digest = read_media({"0.png": picture("red")}).digest
    mine.selectbox(key="analyse_model").set_value("scene-regular").run()
    ran(mine)
    assert len(list(rows.glob("*.jsonl"))) == 2
    button(mine.run(), "Delete all of mine").click().run()
    assert "Deleted: 2 analyses, 1 note, 0 slices" in mine.toast[0].value
    assert [note.note for note in open_note_store().notes.list_all(digest)] == [
        "hers"
    ] and not list(rows.glob("*.jsonl"))
    assert listed(mine).empty
    assert not mine.file_uploader(key=f"{form.FILES_KEY_PREFIX}_1").value, (
        "the files are gone from the session"
    )


def test_damaged_line_is_reported_and_example_runs_again(
    open_page: Open, use_backend: Use, rows: Path
) -> None:
    use_backend(Translating())
    ran(open_page("analyse", new="1"))
    (path,) = rows.glob("*.jsonl")
    lines = path.read_bytes().split(b"\n")
    lines[5] = b"\0" * len(lines[5])
    path.write_bytes(b"\n".join(lines))
    app = open_page("analyse", new="1")
    assert f"Line 6 of {path.name} is damaged" in app.error[0].value.replace("\\", "")
    assert len(listed(app)) == 23
    button(app, "Go on with the other 1").click().run()
    for job in list(get_jobs()._jobs.values()):
        job.wait()
    app = open_page("analyse", new="1")
    assert not app.error and len(listed(app)) == 24
    (aside,) = rows.glob("*.jsonl.damaged-*")
    assert aside.read_bytes() == b"\n".join(lines)


@pytest.mark.long
def test_damaged_header_is_reported_and_dataset_can_run(
    open_page: Open, use_backend: Use, rows: Path
) -> None:
    use_backend(Translating())
    ran(open_page("analyse", new="1"))
    (path,) = rows.glob("*.jsonl")
    path.write_bytes(damaged := b"{" + path.read_bytes())
    app = open_page("analyse", new="1")
    assert "The first line of" in app.error[0].value and listed(app).empty
    app = ran(app)
    assert not app.error and len(listed(app)) == 24
    (aside,) = rows.glob("*.jsonl.damaged-*")
    assert aside.read_bytes() == damaged


@pytest.mark.long
def test_work_older_than_retention_period_is_deleted(
    open_page: Open, use_backend: Use, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_backend(Translating())
    ran(open_page("analyse", new="1"))
    (path,) = rows.glob("*.jsonl")
    os.utime(path, times=(time.time() - 3 * 86_400,) * 2)
    monkeypatch.setenv(DAYS, "2")
    app = open_page("analyse", new="1")
    assert not app.exception and not app.error
    assert path.exists(), "the date may be wrong"
    check_dates_two_days_ago(rows)
    state._remove_old_items.clear()
    app = open_page("analyse", new="1")
    assert not app.exception and not app.error and listed(app).empty and not path.exists()


def check_dates_two_days_ago(rows: Path) -> None:
    """Make the app record steady dates for two days."""
    (rows / DATES).unlink()
    is_date_steady(rows, datetime.now(UTC) - timedelta(days=2))


@pytest.mark.long
def test_imported_note_is_marked(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = opened_first(ran(open_page("analyse", new="1")))
    write(app, "Style", "later words")
    (note,) = open_note_store().notes.list_all(SAMPLE_SETS["Sentences"]().digest)
    file = to_bytes([replace(note, note="first words", version=9)], "csv")
    app.file_uploader(key="notes_given").upload("a.csv", file, "text/csv").run()
    assert "1 differs from a note that was here. Both are kept" in shown(app)
    fresh = opened_first(open_page("analyse", new="1"))
    assert "later words" in shown(fresh) and "first words" in shown(fresh)
    assert f"Its words differ from note {note.id[:8]}" in shown(fresh)
    assert "differs" in next(csv.reader(io.StringIO(file.decode("utf-8-sig"))))


@pytest.mark.long
def test_removed_imported_note_stays_removed(open_page: Open, use_backend: Use) -> None:
    use_backend(Translating())
    app = ran(open_page("analyse", new="1"))
    digest = SAMPLE_SETS["Sentences"]().digest
    note = Annotation(
        digest, int(listed(app).index[0]), "", "Style", note="from a file", id="x", version=1
    )
    app.file_uploader(key="notes_given").upload("a.csv", to_bytes([note], "csv"), "text/csv").run()
    assert "1 note read, 1 new" in shown(app)
    button(opened_first(app), "Remove").click().run()
    assert not open_note_store().notes.list_all(digest) and "1 note read, 1 new" in shown(app)
