"""Guesses of the role of plain files, which have one value per line and no header."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from areaviz.data.metadata import is_missing, number_of
from areaviz.intake.columns import (
    CORPUS,
    LINKS,
    METADATA,
    OUTPUT,
    REFERENCE,
    SCORE,
    SOURCE,
    Column,
)
from areaviz.samples.dataset import LINK

_SOURCE = frozenset(("en", "eng", "english", "src", "source"))
_REFERENCE = frozenset(("ref", "refs", "reference", "references", "gold", "human", "target", "tgt"))
_OUTPUT = frozenset(
    ("output", "outputs", "hyp", "hyps", "hypothesis", "mt", "system", "sys", "pred", "translated")
)
_METADATA = frozenset(("domain", "domains", "doc", "docs", "docid", "docids", "genre", "meta"))
_SYSTEMS = ("sys", "model")
_SCORES = ("score", "comet", "bleurt", "metricx")
_LINKS = ("align", "link")
_CORPUS = ("corpus", "train")
_ENDINGS = frozenset(("txt", "text", "tok", "raw", "out", "lst"))


def is_corpus_name(name: str) -> bool:
    """Return whether a name suggests a corpus for word frequencies."""
    return any(part in name.lower() for part in _CORPUS)


def is_score_name(name: str) -> bool:
    """Return whether a name suggests a file with scores of outputs."""
    return any(part in name.lower() for part in _SCORES)


def guess_plain_roles(
    columns: Sequence[Column], has_source: bool, systems: Collection[str] = ()
) -> list[Column]:
    """Return plain files in the roles that their names and cells suggest.

    Args:
        columns: one column per file.
        has_source: whether another file has the sources.
        systems: systems that a table of scores names. A file with such a name has outputs.
    """
    if len(columns) == 1 and not has_source and not is_corpus_name(columns[0].name):
        # If there is only one file, it is the input, even if it contains numbers.
        return [replace(columns[0], role=SOURCE)]
    found = [_guess_role_alone(column, systems) for column in columns]
    texts = [at for at, column in enumerate(found) if column.role == METADATA and column.is_sure]
    texts = [at for at in texts if not _is_known_metadata(found[at])]
    if not texts:
        return found
    if not has_source:
        source = _find_source(found, texts)
        # The guess is certain if there is only one text, or if its name says that it is a source.
        is_sure = len(texts) == 1 or bool(_split_name(found[source].name) & _SOURCE)
        found[source] = replace(found[source], role=SOURCE, is_sure=is_sure)
        texts.remove(source)
        stem = _find_stem(found[source].name)
    else:
        stem = ""
    for at, role, is_sure in _guess_target_roles(found, texts, stem):
        system = found[at].name if role == OUTPUT else ""
        found[at] = replace(found[at], role=role, system=system, is_sure=is_sure)
    return found


def _guess_role_alone(column: Column, systems: Collection[str]) -> Column:
    """Return a file in the role that its own name and cells suggest, or as metadata."""
    if column.role != METADATA:
        return column
    name = column.name
    if name in systems:
        return replace(column, role=OUTPUT, system=name)
    texts = [text for text in column.texts if text.strip()]
    if is_corpus_name(name):
        return replace(column, role=CORPUS)
    if texts and all(map(_is_number, texts)) and any(number_of(one) is not None for one in texts):
        return replace(column, role=SCORE, is_sure=True)
    is_named_links = any(part in name.lower() for part in _LINKS)
    if is_named_links or (texts and all(map(_has_links, texts))):
        return replace(column, role=LINKS)
    return column


def _is_number(text: str) -> bool:
    return number_of(text) is not None or is_missing(text)


def _has_links(text: str) -> bool:
    return all(LINK.fullmatch(part) for part in text.split())


def _is_known_metadata(column: Column) -> bool:
    return bool(_split_name(column.name) & _METADATA)


def _find_source(columns: Sequence[Column], texts: Sequence[int]) -> int:
    for at in texts:
        if _split_name(columns[at].name) & _SOURCE:
            return at
    return texts[0]


def _guess_target_roles(
    columns: Sequence[Column], texts: Sequence[int], stem: str
) -> list[tuple[int, str, bool]]:
    """Return for each text except the source its index, its role, and whether this is certain.

    The words in a file's name decide first. Otherwise a file named like the source, such as
    "test.de" for "test.en", is a reference. If there is a reference, the remaining files are
    outputs.

    Args:
        columns: one column per file.
        texts: indices of the texts in `columns`.
        stem: the source's name without its language, or "".
    """
    found: dict[int, tuple[str, bool]] = {}
    for at in texts:
        words = _split_name(columns[at].name)
        name = columns[at].name.lower()
        if words & _OUTPUT or "output" in name or "hyp" in name:
            found[at] = OUTPUT, True
        elif words & _REFERENCE:
            found[at] = REFERENCE, True
        elif any(word.startswith(_SYSTEMS) for word in words):
            found[at] = OUTPUT, False
    is_named = any(role == REFERENCE for role, _ in found.values())
    for at in texts:
        if at not in found and stem and _find_stem(columns[at].name) == stem:
            found[at] = REFERENCE, not is_named
    has_reference = any(role == REFERENCE for role, _ in found.values())
    rest = [at for at in texts if at not in found]
    for at in rest:
        # Without any hint, a single text is the reference.
        role = OUTPUT if has_reference else REFERENCE
        found[at] = role, len(rest) == 1 and not has_reference
    return [(at, *found[at]) for at in texts]


def _split_name(name: str) -> set[str]:
    """Return the words of a file's name without trailing numbers, such as "ref" for "ref2"."""
    parts = re.split(r"[._\- ]+", PurePosixPath(name).name.lower())
    return {part.rstrip("0123456789") for part in parts}


def _find_stem(name: str) -> str:
    """Return a file's name up to its language, such as "newstest" for "newstest.de.txt"."""
    parts = PurePosixPath(name).name.split(".")
    while len(parts) > 1 and (parts[-1].lower() in _ENDINGS or parts[-1].isdigit()):
        parts.pop()
    return ".".join(parts[:-1]) if len(parts) > 1 else parts[0]
