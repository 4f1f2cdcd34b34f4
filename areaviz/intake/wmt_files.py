"""Test sets of WMT. XML files (since 2021) have all texts, and SGM files (before) have one side.

A side is the sources, the references, or the outputs of systems.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError

from areaviz.intake.columns import (
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
from areaviz.intake.texts import decode_text
from areaviz.trace.errors import InputError, shorten

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

    SGM is not XML, because an ampersand need not be escaped. Its few tags are therefore parsed by
    this module. A file can contain the outputs of several systems, one after another.

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
