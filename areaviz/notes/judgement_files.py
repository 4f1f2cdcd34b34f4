"""Lossless export and import of ratings as JSON Lines. `marot.py` handles Marot's TSV."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields

from areaviz.notes.error_spans import Judgement, parse_spans
from areaviz.notes.exchange import MAX_MEGABYTES
from areaviz.trace.errors import InputError

MAX_JUDGEMENTS = 100_000
# Maximum number of bytes of a first line that is parsed to recognise a file.
_MAX_LINE = 4 << 20
_NUMBER = "number"
_TEXTS = [one.name for one in fields(Judgement) if one.type == "str"]
_NEEDED = ("dataset", _NUMBER, "model", "rater", "source", "output", "spans")


def to_jsonl(judgements: Sequence[Judgement]) -> bytes:
    """Return ratings as JSON Lines, one per line. Examples are numbered from 1."""
    lines = []
    for one in judgements:
        values: dict[str, object] = {_NUMBER: one.example + 1}
        values |= {name: value for name, value in asdict(one).items() if name != "example"}
        lines.append(f"{json.dumps(values, ensure_ascii=False)}\n")
    return "".join(lines).encode("utf-8", "surrogatepass")


def from_jsonl(data: bytes) -> list[Judgement]:
    """Read the ratings in a file that `to_jsonl` wrote.

    Raises:
        InputError: The file is of another kind or too large.
    """
    text = decode_text(data, "judgements")
    lines = [line for line in text.split("\n") if line.strip()]
    check_count(len(lines))
    return [_parse_judgement(f"Judgement {number:,}", line) for number, line in enumerate(lines, 1)]


def is_own_jsonl(data: bytes) -> bool:
    """Return whether the first line of a file is a rating that `to_jsonl` wrote."""
    start = data.lstrip(b"\xef\xbb\xbf \r\n\t").split(b"\n", 1)[0]
    if len(start) > _MAX_LINE:
        return False
    try:
        values = json.loads(start)
    except (ValueError, RecursionError):
        return False
    return isinstance(values, dict) and {"dataset", "spans"} <= values.keys()


def check_size(data: bytes) -> None:
    """Raise InputError for a file that is too large."""
    if len(data) > MAX_MEGABYTES << 20:
        raise InputError(
            f"The file has {len(data) >> 20} MB, but the limit is {MAX_MEGABYTES} MB. Split it."
        )


def decode_text(data: bytes, what: str) -> str:
    """Return the text of a file.

    Args:
        data: the content of the file.
        what: a noun for the content of the file, for error messages.

    Raises:
        InputError: the file is too large, or not UTF-8.
    """
    check_size(data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"The file of {what} is not a UTF-8 text. Save it as UTF-8.") from error


def check_count(count: int) -> None:
    """Raise InputError if a file has too many lines."""
    if count > MAX_JUDGEMENTS:
        raise InputError(
            f"The file has more than {MAX_JUDGEMENTS:,} lines, which is the limit. Split it."
        )


def _parse_judgement(where: str, line: str) -> Judgement:
    """Return the rating of a line. `where` identifies the line in errors."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, Mapping):
        raise InputError(f"{where} is not a JSON object. Export some to see the expected format.")
    missing = [name for name in _NEEDED if name not in values]
    if missing:
        raise InputError(
            f"{where} lacks {', '.join(missing)}. Export some to see the expected format."
        )
    texts = {name: values.get(name, "") for name in _TEXTS}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise InputError(f"{where} has no text as {name}. Correct or remove it.")
    number, version, score = values[_NUMBER], values.get("version", 0), values.get("score")
    if type(number) is not int or type(version) is not int or number < 1:
        raise InputError(
            f"{where} has no whole number as its example or version. Correct or remove it."
        )
    if not (score is None or type(score) in (int, float)):
        raise InputError(f"{where} has a score that is not a number. Correct it or leave it out.")
    try:
        spans = parse_spans(values["spans"])
        found = Judgement(
            **texts,
            example=number - 1,
            version=version,
            spans=spans,
            score=None if score is None else float(score),
        )
        return found.checked()
    except InputError as error:
        raise InputError(f"{where} cannot be imported: {error}") from error
