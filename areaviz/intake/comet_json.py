"""Reading of the JSON that `comet-score --to_json` writes: scores, and the error spans of xCOMET.

The JSON has a list for each file of outputs. The entries have `src`, `mt`, `ref` and `COMET`. The
metric xCOMET adds `errors`, with text, confidence, severity, start and end (Guerreiro et al. 2024).
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from areaviz.data.raters import AUTOMATIC
from areaviz.intake.rated_outputs import (
    Mark,
    RatedSegment,
    Rating,
    Segments,
    get_objects,
    get_text,
    score_in,
)
from areaviz.trace.errors import InputError, shorten

Entry = tuple[str, Any]
METRIC = "COMET"
RATER = f"xCOMET{AUTOMATIC}"
"""Name of the rater for errors that xCOMET marks."""
_SPANS = ("errors", "error_spans")


def is_comet_json(value: object) -> bool:
    """Return whether a JSON value has scores or error spans of COMET.

    It may be a file of `comet-score --to_json`. It may also be an object with `mt` and `errors` or
    `error_spans`, or a list of such objects.
    """
    if isinstance(value, list):
        return bool(value) and _is_marked(value[0])
    if not isinstance(value, dict) or not value:
        return False
    lists = list(value.values())
    of_files = all(isinstance(one, list) and bool(one) for one in lists)
    return _is_marked(value) or (of_files and all(_is_scored(one[0]) for one in lists))


def _is_scored(value: object) -> bool:
    return isinstance(value, dict) and "mt" in value and METRIC in value


def _is_marked(value: object) -> bool:
    return isinstance(value, dict) and "mt" in value and any(name in value for name in _SPANS)


def read_comet_json(name: str, entries: Sequence[Entry]) -> list[RatedSegment]:
    """Return the segments with the scores of all systems and the errors that xCOMET marks.

    Outputs without the name of their system get the name of the file.

    Raises:
        InputError: an entry has another form, or an error's text is not in its output.
    """
    segments = Segments(name)
    of_file = PurePosixPath(name).stem
    seen: dict[str, Counter[str]] = {}
    for where, value in entries:
        if isinstance(value, list):
            lists = {"": value}
        elif isinstance(value, dict) and "mt" not in value:
            lists = value
        else:
            lists = {"": [value]}
        for path in lists:
            of_path = f' of "{shorten(path)}"' if path else ""
            for number, one in enumerate(get_objects(where, lists, path), 1):
                of_entry = f"{where}, entry {number:,}{of_path}"
                system = PurePosixPath(PureWindowsPath(path).as_posix()).name
                system = system or get_text(of_entry, one, "system", of_file)
                _add_scored(segments, seen.setdefault(system, Counter()), of_entry, (system, one))
    return list(segments.found.values())


def _add_scored(
    segments: Segments, seen: Counter[str], where: str, said: tuple[str, Mapping[str, Any]]
) -> None:
    """Add an output with its score and the errors marked in it.

    Args:
        segments: the segments to which the output is added.
        seen: how often the system had each source before. The n-th output for a source belongs to
            the n-th segment with this source.
        where: the place of the entry, for error messages.
        said: the name of the system, and the entry.
    """
    system, values = said
    source, output = get_text(where, values, "src", ""), get_text(where, values, "mt")
    reference = get_text(where, values, "ref", "")
    seen[source] += 1
    references = (reference,) if reference else ()
    segment = segments.add((source, seen[source]), where, source, references=references)
    segments.add_output(segment, where, system, output)
    score = score_in(where, values, METRIC)
    if score is not None:
        segment.scores[system] = {METRIC: score}
    for spans in _SPANS:
        if spans in values:
            marks = []
            for number, one in enumerate(get_objects(where, values, spans), 1):
                marks.append(_parse_mark(f"{where}, error {number:,}", one, output))
            segments.add_rating(segment, system, Rating(RATER, None, tuple(marks)))


def _parse_mark(where: str, values: Mapping[str, Any], output: str) -> Mark:
    start, end = values.get("start"), values.get("end")
    text = get_text(where, values, "text", "").strip()
    severity = get_text(where, values, "severity")
    confidence = score_in(where, values, "confidence")
    if type(start) is not int or type(end) is not int or not 0 <= start < end:
        raise InputError(
            f'{where} needs a whole number as "start" and a larger one as "end". Correct them.'
        )
    place = _find_error_place(output, text, start, end)
    if place is None:
        raise InputError(
            f'{where} marks "{shorten(text)}" from character {start:,} to {end:,}, but the output'
            f" ({len(output):,} characters) does not contain this text. Score the outputs again."
        )
    note = "" if confidence is None else f"confidence {confidence:.2f}"
    return Mark(*place, severity, "", note)


def _find_error_place(output: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of an error without the white space around it, or None if it is not found.

    The tokenizer of xCOMET can change a text, and can count the space before it. If the text is not
    at the given place, the nearest occurrence in the output is used.
    """
    there = output[start : min(end, len(output))]
    if there.strip() and (not text or _normalise_text(there) == _normalise_text(text)):
        start += len(there) - len(there.lstrip())
        return start, start + len(there.strip())
    places = []
    at = output.find(text) if text else -1
    while at >= 0:
        places.append(at)
        at = output.find(text, at + 1)
    if not places:
        return None
    nearest = min(places, key=lambda place: abs(place - start))
    return nearest, nearest + len(text)


def _normalise_text(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split())
