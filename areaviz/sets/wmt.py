"""Test sets and human evaluations of WMT."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from areaviz.sets.rated_outputs import (
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
from areaviz.sets.roles import (
    MAX_ROWS,
    METADATA,
    OUTPUT,
    REFERENCE,
    SOURCE,
    Cell,
    Column,
    TextBudget,
    make_too_many_error,
)
from areaviz.sets.text_files import decode_text
from areaviz.trace.errors import InputError, shorten

# Test sets of WMT. XML files (since 2021) have all texts, and SGM files (before) have one side.
#
# A side is the sources, the references, or the outputs of systems.


# Maximum number of tags. Each element takes about 100 bytes of memory.
_MAX_TAGS = 2_000_000
_SIDES = {"src": SOURCE, "ref": REFERENCE, "hyp": OUTPUT}
# Attributes of a document that describe its segments.
_ABOUT = ("domain", "genre", "origlang", "testsuite")
Segment = tuple[str, str]


class _Segments:
    """The segments of an XML file, each with the texts and metadata found so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.found: dict[Segment, dict[str, str]] = {}
        # The role and system of each name in `found`, in order of appearance.
        self.roles: dict[str, tuple[str, str]] = {"doc": (METADATA, "")}
        self.budget = TextBudget(name)

    def add(self, segment: Segment, column: str, text: str) -> None:
        """Add a text of a segment.

        Raises:
            InputError: the segment already has a text with this name, or there are too many.
        """
        cells = self.found.setdefault(segment, {"doc": segment[0]})
        if column in cells:
            raise InputError(
                f'"{shorten(self.name)}" has segment {shorten(segment[1])} of document'
                f' "{shorten(segment[0])}" twice in "{shorten(column)}". Remove one of them.'
            )
        self.budget.add((text,))
        cells[column] = text
        if len(self.found) > MAX_ROWS:
            raise make_too_many_error(self.name, MAX_ROWS, "segments")


def read_wmt_xml(name: str, data: bytes) -> tuple[Column, ...]:
    """Read the sources, references, outputs and metadata of a test set in WMT's XML.

    If a system has no output for a segment, its cell is None.

    Raises:
        InputError: the file is not XML, declares entities or a document type, or is not a test set.
    """
    if data.count(b"<") > _MAX_TAGS:
        raise make_too_many_error(name, _MAX_TAGS, "tags")
    segments = _Segments(name)
    for document in _parse_root(name, data).iter("doc"):
        _add_document(segments, document)
    if not segments.found:
        raise InputError(
            f'"{shorten(name)}" is XML, but not a test set of WMT: it has no <doc> with <src> and'
            " <seg>. Choose such a file, or save the examples as CSV."
        )
    columns = []
    # Put the metadata of documents before the texts.
    roles = sorted(segments.roles.items(), key=lambda item: item[1][0] != METADATA)
    for column, (role, system) in roles:
        cells: tuple[Cell, ...] = tuple(one.get(column) for one in segments.found.values())
        columns.append(Column(column, cells, role, system, file=name))
    return tuple(columns)


def _parse_root(name: str, data: bytes) -> Element:
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root: Element = fromstring(data, forbid_dtd=True)
    except DefusedXmlException as error:
        raise InputError(
            f'"{shorten(name)}" declares entities or a document type. They can fill the memory, so'
            " they are not read. Remove the <!DOCTYPE …> part."
        ) from error
    except (ParseError, ValueError, LookupError, RecursionError) as error:
        raise InputError(
            f'"{shorten(name)}" cannot be read as XML ({shorten(str(error))}). Check the file.'
        ) from error
    return root


def _add_document(segments: _Segments, document: Element) -> None:
    name = document.get("id") or document.get("docid") or ""
    parts = [part for part in document if part.tag in _SIDES]
    # Read sources first, wherever they are, because they define the segments.
    parts.sort(key=lambda part: part.tag != "src")
    known: set[Segment] = set()
    for part in parts:
        role = _SIDES[part.tag]
        who = part.get("translator" if role == REFERENCE else "system") or "A"
        column = role if role == SOURCE else f"{role}.{who}"
        segments.roles.setdefault(column, (role, who if role == OUTPUT else ""))
        for number, element in enumerate(part.iter("seg"), 1):
            segment = name, element.get("id") or str(number)
            if role == SOURCE:
                known.add(segment)
            elif segment not in known:
                raise InputError(
                    f'"{shorten(segments.name)}" has a <{part.tag}> for segment'
                    f' {shorten(segment[1])} of document "{shorten(name)}", which has no source.'
                    " Add the source or remove the segment."
                )
            segments.add(segment, column, "".join(element.itertext()).strip())
    for about in _ABOUT:
        if value := document.get(about):
            segments.roles.setdefault(about, (METADATA, ""))
            for segment in known:
                segments.found[segment][about] = value


_TAG = re.compile(r"<(/?)(srcset|refset|tstset|doc|seg)\b([^>]*)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_ANY_TAG = re.compile(r"<[^<>]*>")
_SETS = {"srcset": SOURCE, "refset": REFERENCE, "tstset": OUTPUT}


def read_sgm(name: str, data: bytes) -> tuple[Column, ...]:
    """Read the segments of one side of a test set in WMT's SGM.

    SGM is not XML, because an ampersand need not be escaped. Its few tags are therefore parsed
    here. A file can contain the outputs of several systems, one after another.

    Raises:
        InputError: the file has no segments, or they are damaged.
    """
    sides: dict[tuple[str, str], dict[Segment, str]] = {}
    about: dict[Segment, dict[str, str]] = {}
    budget = TextBudget(name)
    for side, segment, metadata, text in _iterate_sgm_segments(name, decode_text(name, data)):
        texts = sides.setdefault(side, {})
        if segment in texts:
            raise InputError(
                f'"{shorten(name)}" has segment {shorten(segment[1])} of document'
                f' "{shorten(segment[0])}" twice. Remove one of them.'
            )
        budget.add((text,))
        texts[segment] = text
        about.setdefault(segment, {}).update(metadata)
        if len(about) > MAX_ROWS:
            raise make_too_many_error(name, MAX_ROWS, "segments")
    if not sides:
        raise InputError(
            f'"{shorten(name)}" has no segments in a <srcset>, <refset> or <tstset>. Choose another'
            " file."
        )
    columns = [Column("doc", tuple(document for document, _ in about), file=name)]
    for key in ("genre", "origlang"):
        if any(key in metadata for metadata in about.values()):
            values = tuple(metadata.get(key, "") for metadata in about.values())
            columns.append(Column(key, values, file=name))
    for (role, system), texts in sides.items():
        title = role if len(sides) == 1 else f"{role}.{system}"
        cells: tuple[Cell, ...] = tuple(texts.get(segment) for segment in about)
        columns.append(Column(title, cells, role, system if role == OUTPUT else "", file=name))
    return tuple(columns)


def _iterate_sgm_segments(
    name: str, text: str
) -> Iterator[tuple[tuple[str, str], Segment, dict[str, str], str]]:
    """Yield each segment as (role, system), (document, id), metadata of the document, and text."""
    role, system = "", ""
    document: dict[str, str] = {}
    identity, begun, number = "", -1, 0
    for tag in _TAG.finditer(text):
        closes, kind, attributes = bool(tag[1]), tag[2].lower(), _parse_attributes(tag[3])
        if kind in _SETS and not closes:
            role, system, number = _SETS[kind], attributes.get("sysid", ""), 0
        elif kind == "doc" and not closes:
            document, number = attributes, 0
        elif kind == "seg" and not closes:
            if begun >= 0:
                line = text.count("\n", 0, tag.start()) + 1
                raise InputError(
                    f'Line {line:,} of "{shorten(name)}" begins a <seg> inside another one. Close'
                    " the first one."
                )
            number += 1
            identity, begun = attributes.get("id") or str(number), tag.end()
        elif kind == "seg" and begun >= 0:
            inner = html.unescape(_ANY_TAG.sub("", text[begun : tag.start()]))
            who = document.get("sysid", system) if role == OUTPUT else ""
            metadata: dict[str, str] = {}
            for key in ("genre", "origlang"):
                if key in document:
                    metadata[key] = document[key]
            if role:
                segment = document.get("docid", ""), identity
                yield (role, who), segment, metadata, " ".join(inner.split())
            begun = -1
    if begun >= 0:
        line = text.count("\n", 0, begun) + 1
        raise InputError(
            f'Line {line:,} of "{shorten(name)}" begins a <seg> that is never closed. Close it.'
        )


def _parse_attributes(text: str) -> dict[str, str]:
    found = {}
    for name, double, single, bare in _ATTRIBUTE.findall(text):
        found[name.lower()] = html.unescape(double or single or bare)
    return found


# Human evaluations of WMT as JSON Lines, with one line per segment (2025) or per rating (2024).
#
# The format of 2025 is that of `wmt25-genmt-humeval.jsonl`. Each system has numbered scores, raters
# and marked errors, or a list of ratings in control tasks. The format of 2024 is that of
# `wmt24_esa.jsonl`.


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
