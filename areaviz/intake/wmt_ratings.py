"""Human evaluations of WMT as JSON Lines, with one line per segment (2025) or per rating (2024).

The format of 2025 is that of `wmt25-genmt-humeval.jsonl`. Each system has numbered scores, raters
and marked errors, or a list of ratings in control tasks. The format of 2024 is that of
`wmt24_esa.jsonl`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from areaviz.intake.rated_outputs import (
    RatedSegment,
    Rating,
    Segments,
    get_object,
    get_objects,
    get_text,
    own_place,
    parse_marks,
    score_in,
)
from areaviz.trace.errors import InputError, shorten

Entry = tuple[str, Any]
SEPARATOR = "_#_"
"""Separator of languages, domain, document and segment in the names of segments in 2025."""
# Keys for one system with the number of the rater: human1, errors1, annotator1, human2.
_ROUND = re.compile(r"(?:human|errors|annotator)(\d{1,3})")
_FLAT = ("esa_score", "esa_spans", "mqm_spans", "da_score")


def is_wmt_ratings(value: object) -> bool:
    """Return whether a JSON value is a line of a human evaluation of WMT."""
    if not isinstance(value, dict):
        return False
    is_nested = {"scores", "src_text", "tgt_text"} <= value.keys()
    is_flat = {"src", "tgt", "system"} <= value.keys() and any(one in value for one in _FLAT)
    return is_nested or is_flat


def read_wmt_ratings(name: str, entries: Sequence[Entry]) -> list[RatedSegment]:
    """Return the segments of a human evaluation.

    Args:
        name: the name of the file, for error messages.
        entries: the objects in the lines, each with its place for error messages.

    Raises:
        InputError: a line has another form.
    """
    segments = Segments(name)
    for number, (where, values) in enumerate(entries):
        if not is_wmt_ratings(values):
            raise InputError(
                f"{where} is not a line of a human evaluation of WMT. It needs src_text, tgt_text"
                " and scores, or src, tgt, system and esa_score."
            )
        if "scores" in values:
            _add_segment(segments, number, where, values)
        else:
            _add_rating(segments, where, values)
    return list(segments.found.values())


def _add_segment(segments: Segments, number: int, where: str, values: Mapping[str, Any]) -> None:
    """Add a line of 2025, which has all outputs and all ratings of a segment."""
    name = get_text(where, values, "doc_id", "")
    source = get_text(where, values, "src_text")
    about = {"name": name, "metadata": _parse_segment_name(name), "origin": own_place(values)}
    segment = segments.add((number,), where, source, **about)
    outputs = get_object(where, values, "tgt_text")
    for system in outputs:
        segments.add_output(segment, where, system, get_text(where, outputs, system))
    scores = get_object(where, values, "scores")
    for system, given in scores.items():
        of_system = f'{where}, system "{shorten(system)}"'
        if system not in outputs:
            raise InputError(f'{of_system} has scores but no output in "tgt_text". Add it.')
        for rating in _parse_ratings(of_system, given, outputs[system]):
            segments.add_rating(segment, system, rating)


def _parse_segment_name(name: str) -> dict[str, str]:
    """Return the languages, domain and document in the name of a segment, or {} for other names."""
    parts = name.split(SEPARATOR)
    if len(parts) < 3:
        return {}
    found = {"langs": parts[0], "domain": parts[1]}
    return {**found, "doc": SEPARATOR.join(parts[:-1])} if len(parts) > 3 else found


def _parse_ratings(where: str, given: object, output: str) -> list[Rating]:
    """Return the ratings of one output.

    Args:
        where: the output, for error messages.
        given: an object with numbered keys, such as "human1", or the list of a control task.
        output: the text of the output.
    """
    if isinstance(given, list):
        values = {"ratings": given}
        return [
            _parse_rating(where, one, "", output) for one in get_objects(where, values, "ratings")
        ]
    if not isinstance(given, dict):
        raise InputError(f"{where} has ratings that are not an object in braces. Correct them.")
    rounds = dict.fromkeys(found[1] for name in given if (found := _ROUND.fullmatch(name)))
    return [_parse_rating(where, given, number, output) for number in rounds]


def _parse_rating(where: str, values: Mapping[str, Any], number: str, output: str) -> Rating:
    rater = get_text(where, values, f"annotator{number}", f"rater {number}".strip())
    places = range(len(output) + 1)
    marks = parse_marks(where, values, f"errors{number}", places)
    others = tuple(get_objects(where, values, f"other_errors{number}"))
    return Rating(rater, score_in(where, values, f"human{number}"), marks, others)


def _add_rating(segments: Segments, where: str, values: Mapping[str, Any]) -> None:
    """Add a line of 2024, which is one rating of one output."""
    metadata = {}
    for title, field in (("langs", "langs"), ("domain", "domain"), ("doc", "doc_id")):
        if text := get_text(where, values, field, ""):
            metadata[title] = text
    source, line = get_text(where, values, "src"), values.get("line_id")
    key = (metadata.get("langs"), metadata.get("doc"), str(line), source)
    name = "" if line is None else str(line)
    segment = segments.add(key, where, source, name=name, metadata=metadata)
    system, output = get_text(where, values, "system"), get_text(where, values, "tgt")
    segments.add_output(segment, where, system, output)
    score = "esa_score" if "esa_score" in values else "da_score"
    spans = "esa_spans" if "esa_spans" in values else "mqm_spans"
    rating = Rating(
        get_text(where, values, "annotator", "rater"),
        score_in(where, values, score),
        parse_marks(where, values, spans, range(len(output) + 1)),
    )
    segments.add_rating(segment, system, rating)
