"""Datasets of the user: every format, and every way in which a file can be wrong."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from areaviz.media.formats import SOUND
from areaviz.samples import dataset
from areaviz.samples.dataset import Dataset, Example
from areaviz.sets import dataset as dataset_builder
from areaviz.sets import files as intake_files
from areaviz.sets import roles, text_files
from areaviz.sets.text_files import decode_lines
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from tests.sets import read_lines, read_media, read_table


def png(colour: str = "red") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (4, 3), colour).save(buffer, "PNG")
    return buffer.getvalue()


def test_aligned_files_with_two_references_and_links() -> None:
    files = {
        "a.en": b"one\ntwo words\n",
        "a.de": b"eins\nzwei\n",
        "b.de": b"ein\n\n",
        "a.links": b"0-0\n0-0 1p0\n",
    }
    found = read_lines("a.en", files, ("a.de", "b.de"), "a.links")
    first, second = found.examples
    assert (first.name, first.text, first.references) == ("1", "one", ("eins", "ein"))
    assert second.references == ("zwei",)
    assert second.sure == {(0, 0)} and second.possible == {(0, 0), (1, 0)}


@pytest.mark.parametrize("text", [b"a\r\nb", b"a\nb\n", b"\xef\xbb\xbfa\nb", b"a\rb\r\n"])
def test_line_breaks_and_bom_are_understood(text: bytes) -> None:
    assert [one.text for one in read_lines("x.txt", {"x.txt": text}).examples] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "x.jsonl",
            (
                b'{"id": "s1", "source": "A dog.", "references": ["Ein Hund.", "Hund."], "more":'
                b" 1}\n\n"
            ),
        ),
        ("x.csv", b"ID,Text,Target\ns1,A dog.,Ein Hund.\n"),
        ("x.tsv", b"id\tsentence\ttranslation\ns1\tA dog.\tEin Hund.\n"),
        ("x.csv", b"\xef\xbb\xbfid;text;reference\r\ns1;A dog.;Ein Hund.\r\n"),
        ("x.csv", b"id\ttext\treference\ns1\tA dog.\tEin Hund.\n"),
    ],
)
def test_tables_are_read_by_column_name(name: str, content: bytes) -> None:
    (example,) = read_table(name, {name: content}).examples
    assert (example.name, example.text, example.references[0]) == ("s1", "A dog.", "Ein Hund.")


def test_pictures_are_found_among_the_files_and_decoded(tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(png("blue"))
    files: dict[str, bytes | Path] = {
        "x.csv": b"image,caption\nfolder/a.png,red\nb.png,blue\n",
        "a.png": png(),
        "b.png": tmp_path / "b.png",
    }
    found = read_table("x.csv", files)
    assert set(found.files) == {"a.png", "b.png"} and found.kind == "photos"
    colours = []
    for example in found.examples:
        picture = found.asked(Request("m", ""), example).picture
        assert picture is not None
        picture.check()
        colours.append(picture.pixels[0, 0].tolist())
    assert colours == [[255, 0, 0], [0, 0, 255]]


def test_pictures_alone_are_a_dataset() -> None:
    found = read_media({"b.png": png(), "a.JPG": png(), "notes.txt": b"x"})
    assert [(one.name, one.file) for one in found.examples] == [
        ("a.JPG", "a.JPG"),
        ("b.png", "b.png"),
    ]


def test_path_in_a_table_is_never_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(png())
    table = json.dumps({"picture": str(tmp_path / "secret.png")}).encode()
    with pytest.raises(
        InputError, match=r'names the file "secret.png", which is not among the chosen files'
    ):
        read_table("x.jsonl", {"x.jsonl": table})


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.jsonl", b"", "has no entries"),
        ("x.jsonl", b"{]", "Line 1 .* is not a JSON object"),
        ("x.jsonl", b'{"text": "a"}\n[1]', "Line 2 .* is not a JSON object"),
        ("x.jsonl", b"[" * 100_000, "is not a JSON object"),
        (
            "x.jsonl",
            b'{"words": "a"}',
            "no column is a source or names files. The columns are: words.",
        ),
        ("x.csv", b"text,target\n ,b\n", "has no examples. It needs at least one text or file"),
        ("x.csv", b"text\n\xff\n", "Line 2 .* is not UTF-8"),
        ("x.csv", b'text\n"' + b"a" * 200_000, "cannot be read as CSV"),
        ("x.jsonl", b'{"text": "a b", "links": "0-1 x"}', 'has the link "x"'),
    ],
)
def test_unusable_file_is_refused_in_one_sentence(name: str, content: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_table(name, {name: content})


def test_files_of_different_length_are_refused() -> None:
    with pytest.raises(InputError, match='"a.de" has 1 lines or rows, but "a.en" has 2'):
        read_lines("a.en", {"a.en": b"x\ny", "a.de": b"x"}, ("a.de",))


def test_read_set_refuses_too_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (text_files, text_files, intake_files):
        monkeypatch.setattr(module, "MAX_ROWS", 2)
    assert len(read_lines("x", {"x": b"a\nb\n"}).examples) == 2
    with pytest.raises(InputError, match="more than 2 lines, which is the limit"):
        read_lines("x", {"x": b"a\nb\nc"})
    assert len(read_table("x.csv", {"x.csv": b"text\na\n\nb\n"}).examples) == 2
    with pytest.raises(InputError, match="more than 2 rows, which is the limit"):
        read_table("x.csv", {"x.csv": b"text\na\nb\nc"})


def test_read_set_refuses_too_long_rows_and_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_files, "MAX_ROW_CHARACTERS", 20)
    for table in ("x.csv", "x.jsonl"):
        with pytest.raises(InputError, match="row that ends in line 2 .* more than 20 characters"):
            read_table(table, {table: (b"text\n" if table == "x.csv" else b"\n") + b"a" * 81})
    with pytest.raises(InputError, match="row that ends in line 11 "):
        read_table("x.csv", {"x.csv": b'text\n"' + b"a\n" * 20})
    monkeypatch.setattr(text_files, "MAX_MEGABYTES", 0)
    with pytest.raises(InputError, match="MB, but the limit is 0 MB"):
        read_lines("x", {"x": b"a" * (2 << 20)})


@given(st.binary(max_size=300), st.sampled_from(["x.csv", "x.tsv", "x.jsonl", "x.txt"]))
def test_random_bytes_give_dataset_or_error(content: bytes, name: str) -> None:
    try:
        found = (
            read_lines(name, {name: content})
            if name == "x.txt"
            else read_table(name, {name: content})
        )
    except InputError as error:
        assert str(error).endswith(".")
    else:
        assert isinstance(found, Dataset) and found.examples


def test_digest_covers_every_picture(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    files: dict[str, bytes | Path] = {"a.png": tmp_path / "a.png", "b.png": png("blue")}
    first = read_media(files)
    assert read_media({**files, "a.png": png()}).digest == first.digest, "in memory or on the disk"
    assert read_media({**files, "b.png": png("green")}).digest != first.digest
    about = (tmp_path / "a.png").stat()
    other = bytearray(png())
    other[-20] ^= 1
    (tmp_path / "a.png").write_bytes(other)
    os.utime(tmp_path / "a.png", ns=(about.st_atime_ns, about.st_mtime_ns))
    assert read_media(files).digest != first.digest, "as large, and as old by its own account"
    assert read_media(files).earlier_digest == first.earlier_digest != first.digest


def test_digest_without_pictures_is_unchanged() -> None:
    found = read_lines(
        "a.en", {"a.en": b"A dog.\nA cat.\n", "a.de": b"Ein Hund.\nEine Katze.\n"}, ("a.de",)
    )
    assert found.digest == "5b9806ac3c2c98d2d030e5e4c728ffaf9c023a95cf9991622804c1c2d4364a0f"
    assert found.earlier_digest == ""


def test_unreadable_picture_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='"a.png" cannot be read .No such file'):
        read_media({"a.png": tmp_path / "a.png"})


def test_digest_distinguishes_datasets() -> None:
    one, other, same = (read_lines("x", {"x": text}) for text in (b"a\nb", b"a\nc", b"a\nb\n"))
    assert one.digest == same.digest != other.digest


@given(st.text(st.sampled_from("a é\U0001f415\r\n\ufeff"), max_size=30), st.booleans())
def test_decoded_lines_equal_lines_of_whole_text(text: str, marked: bool) -> None:
    data = (b"\xef\xbb\xbf" if marked else b"") + text.encode()
    expected = re.split("\r\n|\r|\n", data.decode("utf-8-sig"))
    if len(expected) > 1 and not expected[-1]:
        expected.pop()
    found = [line.rstrip("\r\n") for line in decode_lines("x", data)]
    assert found == (expected if data else [])


def test_digest_matches_earlier_versions() -> None:
    """Analyses, notes and slices of a dataset are stored under its digest."""
    texts, pictures = read_lines("x", {"x": b"a dog\n"}), read_media({"a.png": b"1"})
    assert texts.digest == "2b10d0651c38659c8c98e5142997818cd0b1137da5af1145949565f5c2a999c0"
    assert pictures.digest == "9f7fd1e8f09fbb8d60d23edd9850fd2255cbafc39bceb4e41f6ab5be6b945eac"


def test_digest_equals_explicit_digest_of_all_examples() -> None:
    for content in (b"a dog", b"a dog\n\xf0\x9f\x90\x95\n" * 3):
        found = read_lines("x", {"x": content})
        marks = ", ".join(one.mark for one in found.examples)
        written = f"({marks},)" if len(found.examples) == 1 else f"({marks})"
        assert found.digest == hashlib.sha256(written.encode()).hexdigest()


@pytest.mark.parametrize(
    ("column", "part", "what"), [("boxes", "dog 0 0 1 1;", "boxes"), ("links", "0-1 ", "links")]
)
def test_boxes_and_links_are_limited(
    column: str, part: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def table(parts: int, rows: int) -> bytes:
        listed = (
            part * parts if what == "boxes" else " ".join(f"0-{number}" for number in range(parts))
        )
        return f"{json.dumps({'text': 'a', column: listed})}\n".encode() * rows

    monkeypatch.setattr(dataset, "MAX_MARKS", 5)
    monkeypatch.setattr(dataset_builder, "MAX_BOXES", 12)
    monkeypatch.setattr(dataset_builder, "MAX_LINKS", 12)
    assert len(read_table("x.jsonl", {"x.jsonl": table(5, 2)}).examples) == 2
    with pytest.raises(
        InputError,
        match=f'Line 1 of "x.jsonl" has more than 5 {what}, which is the limit. Remove',
    ):
        read_table("x.jsonl", {"x.jsonl": table(6, 2)})
    with pytest.raises(InputError, match=f"more than 12 {what}, which is the limit. Split"):
        read_table("x.jsonl", {"x.jsonl": table(5, 3)})


def test_memory_of_all_texts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roles, "MAX_TEXT_BYTES", 3 << 20)
    assert read_lines("x", {"x": b"a" * 200_000 + b"\n" + b"b" * 200_000}).examples
    wide = (
        "a" * 200_000 + "\U0001f415\n"
    ).encode() * 4  # four bytes per character because of the dog, one without it
    with pytest.raises(
        InputError, match="take more than 3 MB of memory, which is the limit. Split"
    ):
        read_lines("x", {"x": wide})
    row = json.dumps({"text": "\U0001f415" + "a" * 200_000}, ensure_ascii=False)
    with pytest.raises(InputError, match="of memory"):
        read_table("x.jsonl", {"x.jsonl": f"{row}\n".encode() * 4})


def test_much_too_long_line_is_never_decoded() -> None:
    with pytest.raises(InputError, match="row that ends in line 2 .* more than 262,144 characters"):
        read_lines("x", {"x": b"a\n" + b"b" * (5 << 18)})


def test_pictures_are_digits_if_all_answers_are() -> None:
    files = {"a.png": b"a", "b.png": b"b"}
    seen = (Example("1", "", ("7",), "a.png"), Example("2", "", (), "b.png"))
    assert Dataset("s", seen, files).texts == "digits"
    assert Dataset("s", (replace(seen[0], references=()), seen[1]), files).texts == ""
    assert Dataset("s", (*seen, Example("3", "", ("a dog",), "b.png")), files).texts == ""
    assert Dataset("s", (replace(seen[0], text="What is it?"),), files).texts == "sentences"
    # Recordings of digits belong to the speech recogniser.
    assert Dataset("s", seen, files, medium=SOUND).texts == ""
