"""Guesses of the role of each column from its name, its cells and the other columns.

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
# Minimum share of words that a text has in common with a similar reference. In a text without
# spaces, pairs of characters count instead of words.
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
    """Give the first language column the role of source, and the other ones that of reference.

    If there is a source already, all of them become references.
    """
    is_known = any(column.role == SOURCE for column in columns)
    found = []
    for column in columns:
        if column.role == LANGUAGE:
            role = REFERENCE if is_known else SOURCE
            column, is_known = replace(column, role=role), True
        found.append(column)
    return found


def _assign_texts_like_references(columns: Sequence[Column]) -> list[Column]:
    """Give texts without a role the role of output if they resemble the reference."""
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
    # A column with few distinct values is a category and not a text.
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
    """Keep a role for the column with the most usual name. Other columns become metadata.

    Such metadata are marked as uncertain unless they are ids. A column that repeats the cells of
    the kept one is ignored.
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
    """Ignore a column that repeats the cells of a column with its role in another file.

    Files of scores often repeat the scored texts, and files of a test set repeat the names of
    documents. Two systems can produce equal outputs, so an output is ignored only in a file of
    scores.
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

    The first rule that applies decides:

    1. The name of a score can contain the system.
    2. The name of the score's file can start with the system.
    3. If there is only one system, the score belongs to it.
    4. In a file with outputs, the score could belong to any of them. It becomes metadata, and the
       user is asked to check this.
    5. In another file, it belongs to the first system without scores.

    A column of numbers whose name ends with a system's name, such as "chrf_0" in a table of this
    app, is a score, too.

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
    """Turn scores in a file of sources into metadata, because they describe the sources.

    An example is a score of difficulty. This function is for datasets without outputs.
    """
    leading = {column.file for column in columns if column.role in (SOURCE, FILE)}
    found = []
    for column in columns:
        if column.role == SCORE and column.file in leading:
            column = replace(column, role=METADATA, system="", is_sure=False)
        found.append(column)
    return found


def _with_system(column: Column, systems: Sequence[str]) -> Column:
    """Return a score with its metric and its system, which is "" if it is unknown."""
    if column.system and (system := find_system(column.system, systems)):
        return replace(column, system=system)
    is_file = column.name == column.file
    if system := _find_system_by_file(column.file, systems):
        metric = column.metric or (
            _find_metric_by_file(column.file, system) if is_file else column.name
        )
        return replace(column, system=system, metric=metric)
    # If the name contains no system, the whole name is the metric.
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
    """Return the names of the systems with outputs, in the order of their columns."""
    return [one.system or one.name for one in columns if one.role == OUTPUT]


def find_system(name: str, systems: Sequence[str]) -> str:
    """Return the system to which a name refers, or "" if there is none.

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
    """Return the system with which the name of a file starts, or "".

    If several systems match, return the longest name.
    """
    stem = PurePosixPath(file).stem
    fitting = []
    for system in systems:
        start = PurePosixPath(system).stem
        rest = stem[len(start) :]
        if start and stem.startswith(start) and (not rest or rest[0] in "._- "):
            fitting.append(system)
    return max(fitting, key=len, default="")


def _find_metric_by_file(file: str, system: str) -> str:
    """Return the metric in the name of a file of scores, such as "comet" in "alpha.comet.txt"."""
    path = PurePosixPath(file)
    rest = path.stem[len(PurePosixPath(system).stem) :].lstrip("._- ")
    ending = path.suffix.removeprefix(".")
    return rest or (ending if find_metric_in(ending) else "Score")


def _ignore_if_empty(column: Column) -> Column:
    """Ignore a metadata column without any value."""
    if column.role in (METADATA, SYSTEM) and not any(column.cells):
        return replace(column, role=IGNORE)
    return column
