"""Guessing the role of each column from its name, its cells and the other columns.

A guess that could be wrong is marked as uncertain, and the user is asked to check it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from areaviz.data.metadata import parse_numbers
from areaviz.intake.columns import (
    FILE,
    ID,
    IGNORE,
    METADATA,
    OUTPUT,
    REFERENCE,
    SCORE,
    SOURCE,
    SYSTEM,
    Cell,
    Column,
)
from areaviz.intake.names import EITHER, LANGUAGE, RANKS, find_metric_in

# Number of examples that are compared to decide whether a text resembles the reference.
_COMPARED = 200
# Minimum share of common words, or of common character pairs in text without spaces.
_ALIKE_WORDS, _ALIKE_PAIRS = 0.25, 0.2


def guess_roles(columns: Sequence[Column]) -> list[Column]:
    """Return columns in their most probable roles.

    Args:
        columns: the columns of all files, in the roles that their names suggest.
    """
    found = _assign_languages(list(columns))
    has_reference = any(column.role == REFERENCE for column in found)
    for at, column in enumerate(found):
        if column.role == EITHER:
            found[at] = replace(column, role=OUTPUT if has_reference else REFERENCE)
    found = _assign_texts_like_references(found)
    for role in (SOURCE, ID, FILE):
        found = _keep_only_one(found, role)
    found = _without_repeats(found)
    return [_ignore_if_empty(column) for column in found]


def _assign_languages(columns: list[Column]) -> list[Column]:
    """Use the first of several languages as the source, all others as references."""
    is_known = any(column.role == SOURCE for column in columns)
    found = []
    for column in columns:
        if column.role == LANGUAGE:
            role = REFERENCE if is_known else SOURCE
            column, is_known = replace(column, role=role), True
        found.append(column)
    return found


def _assign_texts_like_references(columns: Sequence[Column]) -> list[Column]:
    """Use unnamed texts that resemble the reference as outputs."""
    known = next((column for column in columns if column.role == REFERENCE), None)
    if known is None:
        return list(columns)
    found = []
    for column in columns:
        if column.role == METADATA and column.is_sure and _has_resemblance(column, known):
            column = replace(column, role=OUTPUT, system=column.name, is_sure=False)
        found.append(column)
    return found


def _has_resemblance(column: Column, reference: Column) -> bool:
    texts, wanted = column.texts, reference.texts
    # A few repeated values are a category; numbers are not texts.
    is_varied = len(set(texts)) > len(texts) / 2
    if len(texts) != len(wanted) or not is_varied or parse_numbers(texts) is not None:
        return False
    places = range(0, len(texts), max(1, len(texts) // _COMPARED))
    has_words = sum(len(texts[place].split()) for place in places) / len(places) > 1.2
    shares = []
    for place in places:
        one, other = (_split_units(text[place], has_words) for text in (texts, wanted))
        shares.append(len(one & other) / max(1, min(len(one), len(other))))
    least = _ALIKE_WORDS if has_words else _ALIKE_PAIRS
    is_long = has_words or sum(map(len, texts)) > 4 * len(texts)
    return is_long and sum(shares) / len(shares) > least


def _split_units(text: str, has_words: bool) -> set[str]:
    """Return the words of a text, or its character pairs if it has no spaces."""
    text = text.lower()
    return set(text.split()) if has_words else set(map("".join, zip(text, text[1:], strict=False)))


def _keep_only_one(columns: Sequence[Column], role: str) -> list[Column]:
    """Keep a role for the column with the most usual name; others become uncertain metadata.

    A source that repeats the kept one is redundant and is ignored.
    """
    having = [column for column in columns if column.role == role]
    if len(having) < 2:
        return list(columns)
    best = min(having, key=_rank_column)
    found = []
    for column in columns:
        if column.role == role and column is not best:
            if column.cells == best.cells:
                column = replace(column, role=IGNORE)
            else:
                column = replace(column, role=METADATA, is_sure=role == ID)
        found.append(column)
    return found


def _rank_column(column: Column) -> tuple[bool, int]:
    return not column.is_sure, RANKS.get(column.name.lower(), len(RANKS))


def _without_repeats(columns: Sequence[Column]) -> list[Column]:
    """Ignore columns of one file that repeat those of another in one role.

    Files of scores often repeat the scored texts, and test sets repeat documents. Two systems can
    produce equal outputs, so an output is ignored only in a file of scores.
    """
    with_scores = {column.file for column in columns if column.role == SCORE}
    seen: dict[tuple[str, tuple[Cell, ...]], str] = {}
    found = []
    for column in columns:
        is_repeated = column.role in (REFERENCE, METADATA) and column.name != column.file
        is_scored = column.role == OUTPUT and column.file in with_scores
        if column.role == OUTPUT or is_repeated:
            file = seen.setdefault((column.role, column.cells), column.file)
            if file != column.file and (is_repeated or is_scored):
                column = replace(column, role=IGNORE)
        found.append(column)
    return found


def assign_scores(columns: Sequence[Column], models: Sequence[str] = ()) -> list[Column]:
    """Assign every score to one of the systems with outputs.

    A score belongs to the system in its own name. If there is none, it belongs to the system with
    whose name its file starts, and otherwise to the only system. A further file of scores belongs
    to the first system without scores. A number whose name ends in a system's name, such as
    "chrf_0" in a table of this app, is a score too.
    A score that could belong to several systems becomes uncertain metadata.

    Args:
        columns: the columns of all files.
        models: further systems, whose outputs are produced later.
    """
    systems = [*list_systems(columns), *models]
    if not systems:
        return _without_outputs(columns)
    free = list(systems)
    given: dict[str, str] = {}
    with_outputs = {column.file for column in columns if column.role == OUTPUT}
    found = []
    for column in columns:
        if column.role == METADATA and (named := _number_of_system(column, systems)):
            column = named
        elif column.role == SCORE and column.system not in systems:
            column = _with_system(column, systems)
            if not column.system and column.file in with_outputs:
                column = replace(column, role=METADATA, is_sure=False)
            elif not column.system and (free or column.file in given):
                system = given.setdefault(column.file, free[0] if free else "")
                column = replace(column, system=system, is_sure=False)
        if column.role == SCORE and column.system in free:
            free.remove(column.system)
        found.append(column)
    return found


def _without_outputs(columns: Sequence[Column]) -> list[Column]:
    """Use scores of sources, such as a difficulty, as metadata if there are no outputs."""
    leading = {column.file for column in columns if column.role in (SOURCE, FILE)}
    found = []
    for column in columns:
        if column.role == SCORE and column.file in leading:
            column = replace(column, role=METADATA, system="", is_sure=False)
        found.append(column)
    return found


def _with_system(column: Column, systems: Sequence[str]) -> Column:
    """Return a score with its metric and its system, "" if the system is unknown."""
    if column.system and (system := find_system(column.system, systems)):
        return replace(column, system=system)
    is_file = column.name == column.file
    if system := _find_system_by_file(column.file, systems):
        metric = column.metric or (
            _find_metric_by_file(column.file, system) if is_file else column.name
        )
        return replace(column, system=system, metric=metric)
    # If the name contains no system, all of it names the metric.
    metric = "Score" if is_file else column.name
    if column.metric and not column.system:
        metric = column.metric
    only = systems[0] if len(systems) == 1 else ""
    return replace(column, system=only, metric=metric, is_sure=not column.system)


def _number_of_system(column: Column, systems: Sequence[str]) -> Column | None:
    for system in systems:
        for join in "_.- ":
            if column.name.lower().endswith(f"{join}{system.lower()}"):
                if parse_numbers(column.texts) is None:
                    return None
                metric = column.name[: -len(system) - 1]
                return replace(column, role=SCORE, system=system, metric=metric)
    return None


def list_systems(columns: Iterable[Column]) -> list[str]:
    """Return the systems with outputs, in order."""
    return [one.system or one.name for one in columns if one.role == OUTPUT]


def find_system(name: str, systems: Sequence[str]) -> str:
    """Return the system that a name refers to, "" for none.

    Upper case, punctuation between words, folders and extensions such as ".txt" are ignored.
    """
    keys = {_make_comparison_key(system): system for system in reversed(systems)}
    stems = {
        _make_comparison_key(PurePosixPath(system).stem): system for system in reversed(systems)
    }
    for key in (_make_comparison_key(name), _make_comparison_key(PurePosixPath(name).stem)):
        if key and (found := keys.get(key) or stems.get(key)):
            return found
    return ""


def _make_comparison_key(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _find_system_by_file(file: str, systems: Sequence[str]) -> str:
    """Return the system whose name a file's name starts with, the longest of several, or ""."""
    stem = PurePosixPath(file).stem
    fitting = []
    for system in systems:
        start = PurePosixPath(system).stem
        rest = stem[len(start) :]
        if start and stem.startswith(start) and (not rest or rest[0] in "._- "):
            fitting.append(system)
    return max(fitting, key=len, default="")


def _find_metric_by_file(file: str, system: str) -> str:
    """Return what a file of scores measures by its name: "comet" of "alpha.comet.txt"."""
    path = PurePosixPath(file)
    rest = path.stem[len(PurePosixPath(system).stem) :].lstrip("._- ")
    ending = path.suffix.removeprefix(".")
    return rest or (ending if find_metric_in(ending) else "Score")


def _ignore_if_empty(column: Column) -> Column:
    """Ignore a metadata column without any value."""
    if column.role in (METADATA, SYSTEM) and not any(column.cells):
        return replace(column, role=IGNORE)
    return column
