"""Trace files: everything is read back, and no file is trusted."""

from __future__ import annotations

import io
import json
import os
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.trace import file
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import VERSION, Trace
from tests import fakes
from tests.trace.strategies import SOME, traces

WEIGHTS = "map.encoder-decoder.weights.npy"


def assert_equal(one: Trace, other: Trace, tolerance: float = 0.0) -> None:
    """Check that two traces are equal in every field.

    Weights may differ by a relative `tolerance`, and tiny weights by the precision of float16.
    """
    assert (one.request, one.details, one.version) == (other.request, other.details, other.version)
    assert (list(one.fields), list(one.maps)) == (list(other.fields), list(other.maps))
    for name, field in one.fields.items():
        found = other.fields[name]
        assert (field.name, field.kind, field.raw, field.labels) == (
            found.name,
            found.kind,
            found.raw,
            found.labels,
        )
        np.testing.assert_array_equal(field.anchors, found.anchors, strict=True)
    assert (one.output.field, one.output.alternatives) == (
        other.output.field,
        other.output.alternatives,
    )
    np.testing.assert_array_equal(one.output.probabilities, other.output.probabilities, strict=True)
    assert list(one.gazes) == list(other.gazes)
    for site, gaze in one.gazes.items():
        assert (gaze.site, gaze.query, gaze.memory) == (
            site,
            other.gazes[site].query,
            other.gazes[site].memory,
        )
        np.testing.assert_array_equal(gaze.corners, other.gazes[site].corners, strict=True)
        np.testing.assert_array_equal(gaze.seen, other.gazes[site].seen, strict=True)
    for site, attention in one.maps.items():
        copy = other.maps[site]
        assert (attention.site, attention.query, attention.memory) == (
            copy.site,
            copy.query,
            copy.memory,
        )
        assert (attention.grid, attention.normalisation) == (copy.grid, copy.normalisation)
        assert copy.weights.dtype == np.float32
        np.testing.assert_array_equal(copy.chosen, attention.chosen)
        np.testing.assert_array_equal(copy.strength, attention.strength)
        np.testing.assert_allclose(
            copy.weights, attention.weights, rtol=tolerance, atol=tolerance and 3e-8
        )


@SOME
@given(traces())
def test_trace_survives_round_trip(trace: Trace) -> None:
    assert_equal(trace, file.trace_from_bytes(file.trace_to_bytes(trace)))


@pytest.mark.parametrize(
    "trace",
    [
        fakes.caption_trace(),
        fakes.caption_trace(hard=True),
        fakes.gaze_trace(),
        fakes.doubly_trace(),
        fakes.gaze_trace("transformer", 1, 1),
    ],
)
def test_picture_trace_survives_round_trip(trace: Trace) -> None:
    assert_equal(trace, file.trace_from_bytes(file.trace_to_bytes(trace)))


def test_version_1_file_is_read() -> None:
    stored = file.load(Path(__file__).parent / "version_1.npz")
    assert (stored.request.text, stored.request.picture, stored.request.sample) == (
        "A dog.",
        None,
        False,
    )
    assert (stored.version, dict(stored.gazes)) == (VERSION, {})


def test_version_2_file_is_read() -> None:
    stored = file.load(Path(__file__).parent / "version_2.npz")
    assert stored.request.picture is not None and stored.request.sample
    assert (stored.version, stored.request.target, stored.request.changes) == (VERSION, None, ())


def test_version_3_file_is_read() -> None:
    stored = file.load(Path(__file__).parent / "version_3.npz")
    assert (stored.request.text, stored.request.target, stored.version) == (
        "A dog.",
        "Ein Hund.",
        VERSION,
    )
    assert list(stored.maps) == ["encoder self", "decoder self", "encoder-decoder"]


@SOME
@given(traces())
def test_half_precision_stays_within_tolerance(trace: Trace) -> None:
    stored = file.trace_from_bytes(file.trace_to_bytes(trace, half=True))
    assert_equal(trace, stored, tolerance=0.002)
    for attention in stored.maps.values():
        sums = attention.weights.sum(-1)
        np.testing.assert_allclose(sums, np.round(sums), atol=1e-5)


def test_half_precision_keeps_flat_rows_over_many_areas() -> None:
    trace = fakes.trace(source="ab", target="cd", layers=1, heads=1)
    fields = dict(trace.fields) | {"source": fakes.text_field("source", "ab" * 2000)}
    many = fakes.attention_map(
        "encoder-decoder", fields["target"], fields["source"], layers=1, heads=1
    )
    weights = np.full_like(many.weights, 0.5 / many.grid.count)
    weights[..., 7] += 0.5
    trace = replace(trace, fields=fields, maps={many.site: replace(many, weights=weights)})
    assert_equal(
        trace, file.trace_from_bytes(file.trace_to_bytes(trace, half=True)), tolerance=0.002
    )


def test_half_precision_halves_the_file() -> None:
    trace = fakes.trace()
    assert len(file.trace_to_bytes(trace, half=True)) < 0.6 * len(file.trace_to_bytes(trace))


def test_equal_traces_give_equal_files(monkeypatch: pytest.MonkeyPatch) -> None:
    first = file.trace_to_bytes(fakes.trace())
    monkeypatch.setattr(time, "time", lambda: 2_000_000_000.0)
    assert file.trace_to_bytes(fakes.trace()) == first


def test_loaded_trace_is_read_only() -> None:
    for half in (False, True):
        stored = file.trace_from_bytes(file.trace_to_bytes(fakes.trace(), half))
        with pytest.raises(ValueError, match="read-only"):
            stored.maps["encoder self"].weights[:] = 0


def test_numpy_reads_the_file_on_its_own() -> None:
    trace = fakes.trace()
    with np.load(io.BytesIO(file.trace_to_bytes(trace)), allow_pickle=False) as archive:
        np.testing.assert_array_equal(
            archive["map.encoder self.weights"], trace.maps["encoder self"].weights
        )
        assert json.loads(archive["trace.json"])["version"] == VERSION


def test_paths_and_open_files_are_accepted(tmp_path: Path) -> None:
    trace, buffer = fakes.trace(), io.BytesIO()
    file.save(trace, tmp_path / "a.npz")
    file.save(trace, str(tmp_path / "b.npz"), half=True)
    file.save(trace, buffer)
    assert_equal(trace, file.load(tmp_path / "a.npz"))
    assert_equal(trace, file.load(str(tmp_path / "b.npz")), tolerance=0.002)
    assert_equal(trace, file.load(buffer))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "b.npz"]


def refused(content: bytes) -> str:
    """Return the message with which a file is refused."""
    with pytest.raises(InputError) as refusal:
        file.trace_from_bytes(content)
    sentence = str(refusal.value)
    assert sentence.endswith(".") and "\n" not in sentence and len(sentence) < 400
    return sentence


Entries = dict[str, bytes]


def packed(change: Callable[[Entries], Any], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return the fake trace's file after a change to its entries."""
    with zipfile.ZipFile(io.BytesIO(file.trace_to_bytes(fakes.trace()))) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def documented(change: Callable[[dict[str, Any]], Any]) -> bytes:
    """Return the fake trace's file after a change to its JSON document."""

    def edit(entries: Entries) -> None:
        document = json.loads(entries[file.DOCUMENT])
        change(document)
        entries[file.DOCUMENT] = json.dumps(document).encode()

    return packed(edit)


def npy(array: Any, version: tuple[int, int] = (1, 0), pickled: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version, allow_pickle=pickled)
    return buffer.getvalue()


def header(shape: str, kind: str = "'<f4'") -> bytes:
    """Return an array entry with an arbitrary header, followed by four bytes."""
    text = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + b"\0\0\0\0"


def test_repacked_file_is_accepted() -> None:
    for how in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        assert_equal(fakes.trace(), file.trace_from_bytes(packed(lambda entries: None, how)))


def test_unknown_entries_are_ignored() -> None:
    assert_equal(
        fakes.trace(),
        file.trace_from_bytes(documented(lambda document: document.update(mood="good"))),
    )


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"\x89PNG\r\n\x1a\n" + b"x" * 500, b"x" * 10**6, npy(np.zeros(3))]
)
def test_foreign_file_is_refused(content: bytes) -> None:
    assert "not a trace" in refused(content)


def test_foreign_archive_is_refused() -> None:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.zeros(3))
    assert "not a trace" in refused(buffer.getvalue())
    assert "not a trace" in refused(documented(lambda document: document.update(format="other")))
    assert "not a trace" in refused(packed(lambda entries: entries.update({file.DOCUMENT: b"[1]"})))


def test_newer_version_is_refused() -> None:
    sentence = refused(documented(lambda document: document.update(version=VERSION + 1)))
    assert (
        f"version {VERSION + 1}" in sentence
        and f"up to {VERSION}" in sentence
        and "Update" in sentence
    )


def test_truncated_file_is_refused() -> None:
    content = file.trace_to_bytes(fakes.trace(source="ab", target="c", layers=1, heads=1))
    for length in range(0, len(content), 97):
        assert "not a trace" in (sentence := refused(content[:length])) or "damaged" in sentence


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_flipped_bytes_are_refused_or_harmless(data: st.DataObject) -> None:
    trace = fakes.trace(source="ab", target="c", layers=1, heads=1)
    content = bytearray(file.trace_to_bytes(trace))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        stored = file.trace_from_bytes(bytes(content))
    except InputError as refusal:
        assert str(refusal).endswith(".")
    else:
        assert_equal(trace, stored)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.update(version=0),
        lambda document: document.update(version="1"),
        lambda document: document.update(version=True),
        lambda document: document.pop("request"),
        lambda document: document["request"].pop("seed"),
        lambda document: document["request"].update(beam="4"),
        lambda document: document["request"].update(text=None),
        lambda document: document.update(fields=[1, 2]),
        lambda document: document.update(fields={}),
        lambda document: document["fields"].pop(),
        lambda document: document["fields"][0].update(labels=[1] * 18),
        lambda document: document["fields"][0].update(name="../x"),
        lambda document: document["output"].update(alternatives=[[["a"]]] * 24),
        lambda document: document["output"].update(alternatives=[[["a", float("nan")]]] * 24),
        lambda document: document["maps"][0].update(site="unknown"),
        lambda document: document["maps"][0]["grid"].update(max_width=4),
        lambda document: document["maps"][0]["grid"].update(width=10**400),
        lambda document: document["maps"][0]["grid"].update(width=18.0),
        lambda document: document["maps"][0]["grid"].update(height=-1),
        lambda document: document.update(details={"seconds": 3}),
    ],
)
def test_document_violating_the_specification_is_refused(
    change: Callable[[dict[str, Any]], Any],
) -> None:
    assert "damaged" in refused(documented(change))


@pytest.mark.parametrize(
    "entry",
    [
        b"",
        b"\x93NUMPY",
        npy(np.zeros((2, 4, 24, 80), dtype=np.float64)),
        npy(np.zeros((2, 4, 24, 80), dtype=">f4")),
        npy(np.asfortranarray(np.zeros((2, 4, 24, 80), dtype=np.float32))),
        npy(np.zeros((2, 4, 24, 80), dtype=np.float32), version=(2, 0)),
        npy(np.array([{"a": 1}], dtype=object), pickled=True),
        npy(np.zeros((2, 4, 24, 79), dtype=np.float32)),
        npy(np.full((2, 4, 24, 80), np.nan, dtype=np.float32)),
        npy(np.full((2, 4, 24, 80), np.nan, dtype=np.float16)),
        npy(np.full((2, 4, 24, 80), 1.0, dtype=np.float32)),
        header("(1000000000000,)"),
        header("(-1,)"),
        header("(1,) + (1,)"),
        header("(1, 1, 1, 1)", "'O'"),
        header("__import__('os').system('true')"),
        header("(" * 500),
        header("(1"),
    ],
    ids=range(18),
)
def test_array_violating_the_specification_is_refused(entry: bytes) -> None:
    assert "damaged" in refused(packed(lambda entries: entries.update({WEIGHTS: entry})))


def test_missing_array_is_refused() -> None:
    assert "damaged" in refused(packed(lambda entries: entries.pop(WEIGHTS)))


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"null", b'{"format": 1' + b"0" * 10_000 + b"}"],
)
def test_document_must_be_a_json_object(text: bytes) -> None:
    assert refused(packed(lambda entries: entries.update({file.DOCUMENT: text})))


def zeros(size: int) -> bytes:
    """Return a trace file with an additional entry that unpacks to `size` zero bytes."""
    return packed(lambda entries: entries.update({"bomb.npy": bytes(size)}))


def peak_of(content: bytes) -> int:
    """Return the peak number of bytes allocated while a file is refused."""
    tracemalloc.start()
    try:
        refused(content)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_zip_bomb_is_refused_before_unpacking(monkeypatch: pytest.MonkeyPatch) -> None:
    content = zeros(64 * 2**20)
    monkeypatch.setattr(file, "MAX_BYTES", 32 * 2**20)
    assert "64." in (sentence := refused(content)) and "32 MiB" in sentence
    assert peak_of(content) < 4 * 2**20


def test_zip_bomb_with_false_size_is_not_unpacked() -> None:
    content = zeros(64 * 2**20)
    lying = content.replace(struct.pack("<L", 64 * 2**20), struct.pack("<L", 1000))
    assert lying != content
    assert "damaged" in refused(lying)
    assert peak_of(lying) < 8 * 2**20


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_methods_are_refused(how: int) -> None:
    assert "packed in a way" in refused(packed(lambda entries: None, how))


def test_huge_document_is_refused() -> None:
    content = packed(
        lambda entries: entries.update({file.DOCUMENT: b" " * (file.MAX_DOCUMENT_BYTES + 1)})
    )
    assert "8 MiB" in refused(content)


def test_endless_list_of_contents_is_refused() -> None:
    content = packed(
        lambda entries: entries.update({f"{number:04}.npy": b"" for number in range(2000)})
    )
    assert "list of contents" in refused(content)


def test_file_too_large_to_inspect_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = file.trace_to_bytes(fakes.trace())
    monkeypatch.setattr("areaviz.trace.safe_files.MAX_BYTES", 1000)
    assert "The file takes" in refused(content)
    monkeypatch.setattr(file, "MAX_BYTES", 1000)
    with pytest.raises(InputError, match="Make a trace of a shorter text"):
        file.trace_to_bytes(fakes.trace())


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.npz", tmp_path):
        with pytest.raises(InputError, match="cannot be opened .*Choose another file"):
            file.load(path)


class FullDisk(io.BytesIO):
    """A file on a full disk."""

    def write(self, content: Any) -> int:
        raise OSError(28, "No space left on device")


def test_full_disk_leaves_only_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BackendError, match="No space left.*Free some space"):
        file.save(fakes.trace(), path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npz"]
    assert path.read_bytes() == b"old"
    with pytest.raises(BackendError, match="No space left.*Free some space"):
        file.save(fakes.trace(), FullDisk())


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for folder in ("missing", "file"):
        with pytest.raises(BackendError, match="choose another folder"):
            file.save(fakes.trace(), tmp_path / folder / "a.npz")
