"""The public JSON schema accepts every document that a trace was ever stored with, and no other."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from areaviz.cli.show import read_schema
from areaviz.samples.paths import HOME, OPENINGS
from areaviz.trace import file
from areaviz.trace.document import to_document
from areaviz.trace.kinds import KINDS
from areaviz.trace.record import VERSION, Trace
from tests import fakes

Document = dict[str, Any]
HERE = Path(__file__).parent
SCHEMA = json.loads(read_schema())
STORED = sorted(path.name for path in HERE.glob("version_*.npz"))


def check(document: object) -> None:
    Draft202012Validator(SCHEMA).validate(document)


def written(trace: Trace) -> Document:
    with zipfile.ZipFile(BytesIO(file.trace_to_bytes(trace))) as archive:
        document: Document = json.loads(archive.read(file.DOCUMENT))
    return document


def test_schema_is_unique_and_of_current_version() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["version"]["maximum"] == VERSION
    assert SCHEMA["$id"].endswith(f":{VERSION}")
    assert SCHEMA["$defs"]["field"]["properties"]["kind"]["enum"] == list(KINDS)


@pytest.mark.parametrize("name", STORED)
def test_documents_of_every_version_pass(name: str) -> None:
    with zipfile.ZipFile(HERE / name) as archive:
        check(json.loads(archive.read(file.DOCUMENT)))


def test_every_version_has_a_stored_file() -> None:
    assert {int(name.split("_")[1].split(".")[0]) for name in STORED} == {*range(1, VERSION + 1)}


@pytest.mark.parametrize(
    "trace",
    [
        fakes.trace(),
        fakes.caption_trace(),
        fakes.doubly_trace(),
        fakes.gaze_trace(),
        fakes.sound_trace(),
    ],
    ids=["text", "picture", "both", "gaze", "sound"],
)
def test_documents_of_every_kind_pass(trace: Trace) -> None:
    check(written(trace))


def test_documents_of_all_stored_traces_pass() -> None:
    """The stored traces are those that pages open with. Together they cover every kind of field."""
    paths = [HOME, *sorted(OPENINGS.glob("*.npz"))]
    kinds = set()
    for path in paths:
        with zipfile.ZipFile(path) as archive:
            document = json.loads(archive.read(file.DOCUMENT))
        check(document)
        kinds |= {field["kind"] for field in document["fields"]}
    assert kinds == KINDS.keys()


def test_document_on_the_wire_passes() -> None:
    trace = fakes.trace()
    check(json.loads(json.dumps(to_document(trace, without=list(trace.maps)))))


def test_schema_names_every_written_entry() -> None:
    """An entry added to the document must also be added to the schema."""
    document = written(fakes.gaze_trace())
    assert document.keys() == SCHEMA["properties"].keys()
    parts = {"request": "request", "output": "output"}
    for name, part in parts.items():
        assert document[name].keys() <= SCHEMA["$defs"][part]["properties"].keys()
    document = written(fakes.trace())
    for name, part in {"fields": "field", "maps": "map"}.items():
        assert document[name][0].keys() <= SCHEMA["$defs"][part]["properties"].keys()


WRONG: dict[str, Callable[[Document], Any]] = {
    "another format": lambda document: document.update(format="other"),
    "a newer version": lambda document: document.update(version=VERSION + 1),
    "no version": lambda document: document.pop("version"),
    "no gazes": lambda document: document.pop("gazes"),
    "no request": lambda document: document.pop("request"),
    "no target": lambda document: document["request"].pop("target"),
    "no text": lambda document: document["request"].update(text=None),
    "a name in capitals": lambda document: document["fields"][0].update(name="Source"),
    "an unknown kind": lambda document: document["fields"][0].update(kind="smell"),
    "labels that are numbers": lambda document: document["fields"][0].update(labels=[1]),
    "a share above 1": lambda document: document["output"].update(alternatives=[[["a", 2]]]),
    "no grid": lambda document: document["maps"][0].pop("grid"),
    "a grid of nothing": lambda document: document["maps"][0]["grid"].update(width=0),
    "details that are numbers": lambda document: document["details"].update(seconds=1),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_invalid_document_fails(change: Callable[[Document], Any]) -> None:
    document = written(fakes.trace())
    change(document)
    with pytest.raises(ValidationError):
        check(document)
