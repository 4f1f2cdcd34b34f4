"""Columns of files, and guesses of their roles.

The form of a column comes first. Guesses from the name and from the cells follow, and then the
types of metadata.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Self

from areaviz.trace.errors import InputError, check_choice, shorten

# The common form of all files: columns of cells, each with a role.


# A cell is a text, the references of one example, or None for a missing output.
Cell = str | tuple[str, ...] | None

MAX_ROWS, MAX_COLUMNS = 20_000, 200
MAX_ROW_CHARACTERS = 1 << 18
"""Maximum length of a row in characters. Parsing a row takes many times its size in memory."""
MAX_TEXT_BYTES = 96 * 2**20
"""Limit on the memory of a file's cells in bytes.

It counts Python's own sizes, because one rare character makes every character of a text take 4
bytes.
"""

SOURCE, REFERENCE, OUTPUT, SCORE = "source", "reference", "output", "score"
LINKS, LINKS_FROM_0, LINKS_FROM_1 = "links", "links-from-0", "links-from-1"
BOXES, FACTS, FILE, ID = "boxes", "facts", "file", "id"
METADATA, CORPUS, IGNORE, SYSTEM = "metadata", "corpus", "ignore", "system"
ROLES: Mapping[str, str] = {
    SOURCE: "Source",
    REFERENCE: "Reference",
    OUTPUT: "Output of a system",
    SCORE: "Score of a system",
    METADATA: "Metadata",
    ID: "Name of the example",
    SYSTEM: "Name of the system of a row",
    FILE: "Picture, sound or clip",
    LINKS: "Gold links",
    LINKS_FROM_0: "Gold links, counted from 0",
    LINKS_FROM_1: "Gold links, counted from 1",
    BOXES: "Boxes",
    FACTS: "Facts",
    CORPUS: "Corpus of word frequencies",
    IGNORE: "Ignore",
}
"""The roles that a user can give to a column, with their titles."""
OF_SYSTEMS = (OUTPUT, SCORE)
"""Roles to which a system can be added, as in "output:alpha"."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file, or a file with one value per line."""

    name: str
    cells: tuple[Cell, ...]
    role: str = METADATA
    # The system of an output or a score, or "" if it is unknown.
    system: str = ""
    # Whether the role is certain. If it is not, the user is asked to check it.
    is_sure: bool = True
    # The file of the column, and the line of its first cell there.
    file: str = ""
    first_line: int = 1
    # The metric of a score. If it is "", the name of the column is the metric.
    metric: str = ""

    @property
    def given_role(self) -> str:
        """The role as a user writes it, such as "output:alpha"."""
        return f"{self.role}:{self.system}" if self.system else self.role

    def with_role(self, given: str) -> Self:
        """Return this column with the role that a user gave, such as "score:alpha".

        Raises:
            InputError: the role does not exist.
        """
        role, _, system = given.partition(":")
        check_choice("column role", role, tuple(ROLES))
        if system and role not in OF_SYSTEMS:
            raise InputError(
                f'The role "{shorten(given)}" names a system, but only an output or a score has'
                f' one. Write "{role}".'
            )
        return replace(self, role=role, system=system, is_sure=True)

    @property
    def texts(self) -> tuple[str, ...]:
        """One text per cell: the first of several references, or "" for a missing cell."""
        if set(map(type, self.cells)) == {str}:
            return self.cells  # type: ignore[return-value]
        return tuple(map(get_cell_text, self.cells))

    def where(self, place: int) -> str:
        """Return the line of a cell for error messages, such as 'Line 3 of "a.csv"'.

        The number is right if the file has one example per line.

        Args:
            place: the index of the cell, from 0.
        """
        return f'Line {self.first_line + place:,} of "{shorten(self.file or self.name)}"'


@dataclass(frozen=True, slots=True)
class Content:
    """The content of one file."""

    # The displayed kind of file, such as "CSV".
    kind: str
    columns: tuple[Column, ...]
    # Sentences for the user.
    notes: tuple[str, ...] = ()
    # Whether the file is a list of values without a header, one per line.
    is_plain: bool = False
    # Whether the file has ratings or marked errors.
    has_marks: bool = False


def get_cell_text(cell: Cell) -> str:
    """Return a cell as one text: the first of several references, or "" for a missing cell."""
    if isinstance(cell, tuple):
        return cell[0] if cell else ""
    return cell or ""


def make_too_many_error(name: str, most: int, what: str) -> InputError:
    """Return the error for a file with more than `most` items, such as "rows"."""
    return InputError(
        f'"{shorten(name)}" has more than {most:,} {what}, which is the limit. Split the file.'
    )


class TextBudget:
    """A limit on the memory of a file's texts, counted while the file is read."""

    def __init__(self, name: str) -> None:
        """Start at 0 bytes. `name` is the name of the file for errors."""
        self.name = name
        self.taken = 0

    def add(self, texts: Iterable[str]) -> None:
        """Add the memory of texts to the sum.

        Raises:
            InputError: the texts of the file take too much memory.
        """
        self.taken += sum(map(sys.getsizeof, texts))
        if self.taken > MAX_TEXT_BYTES:
            raise InputError(
                f'The texts of "{shorten(self.name)}" take more than {MAX_TEXT_BYTES >> 20} MB of'
                " memory, which is the limit. Split the file."
            )


def check_header(name: str, header: Sequence[str]) -> None:
    """Check that a header has names, at most `MAX_COLUMNS` of them, and no name twice.

    Raises:
        InputError: one of the checks fails.
    """
    if not any(header):
        raise InputError(
            f'"{shorten(name)}" has no header. Write the names of the columns into its first line.'
        )
    if len(header) > MAX_COLUMNS:
        raise InputError(
            f'"{shorten(name)}" has {len(header):,} columns, but the limit is {MAX_COLUMNS}. Remove'
            " some columns."
        )
    seen: set[str] = set()
    for title in header:
        if title and title.lower() in seen:
            raise InputError(
                f'"{shorten(name)}" has two columns called "{shorten(title)}". Rename one of them.'
            )
        seen.add(title.lower())


def make_columns_from_rows(
    name: str, header: Sequence[str], rows: Sequence[Sequence[str]], first_line: int = 2
) -> tuple[Column, ...]:
    """Return the columns of rows that are as long as the header.

    A column without a name is named by its position, such as "column 3". It is left out if all its
    cells are empty, too.

    Raises:
        InputError: there are no rows.
    """
    if not rows:
        raise InputError(f'"{shorten(name)}" has a header but no rows. Add a row for each example.')
    found = []
    for number, (title, cells) in enumerate(zip(header, zip(*rows, strict=True), strict=True), 1):
        if title or any(cells):
            title = title or f"column {number}"
            found.append(Column(title, cells, file=name, first_line=first_line))
    return tuple(found)


# Guesses of the role of a column from its name alone.


EITHER, LANGUAGE = "either", "language"
"""Preliminary roles: a column that is a reference or an output, and a text in some language."""
_NAMES: Mapping[str, tuple[str, ...]] = {
    SOURCE: (
        *("source", "src", "text", "sentence", "input", "story", "points", "source_text"),
        *("src_text", "source_segment", "original"),
    ),
    REFERENCE: (
        *("reference", "references", "ref", "refs", "ref_text", "reference_text", "gold"),
        *("post_edit", "pe", "target_reference", "caption", "captions", "human_translation"),
    ),
    OUTPUT: (
        *("output", "outputs", "hyp", "hyps", "hypothesis", "hypotheses", "mt", "pred"),
        *("prediction", "predictions", "system_output", "model_output", "machine_translation"),
        *("mt_text", "generated", "generated_text", "response", "completion"),
    ),
    EITHER: (
        *("translation", "translations", "target", "targets", "tgt", "target_text", "tgt_text"),
        *("target_segment", "answer", "tree"),
    ),
    SYSTEM: ("system", "sys", "sysid", "system_id", "model"),
    ID: (
        *("name", "id", "segment_id", "seg_id", "globalsegid", "docsegid", "number", "index"),
        *("line", "segment"),
    ),
    FILE: ("file", "filename", "picture", "image", "sound", "audio", "clip", "video"),
    LINKS: ("links", "alignment", "alignments", "gold_links"),
    BOXES: ("boxes",),
    FACTS: ("facts",),
}
NAMED_ROLES: Mapping[str, str] = {name: role for role, names in _NAMES.items() for name in names}
"""Maps the whole name of a column, in lower case, to its role."""
RANKS: Mapping[str, int] = {name: n for n, name in enumerate(NAMED_ROLES)}
"""Maps names of columns to their priority. The column with the smallest number gets the role."""
# Roles by the first or last word of names such as "output_alpha" or "my reference".
_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("output", "outputs", "hyp", "mt", "pred", "prediction", "hypothesis"), OUTPUT),
    **dict.fromkeys(("ref", "refs", "reference", "references", "gold"), REFERENCE),
    **dict.fromkeys(("src", "source"), SOURCE),
    **dict.fromkeys(("translation", "target", "tgt", "targets"), EITHER),
}
_METRICS = frozenset(
    (
        *("comet", "xcomet", "cometkiwi", "bleurt", "metricx", "bleu", "sentbleu", "chrf", "ter"),
        *("da", "esa", "score", "scores", "mqm", "bertscore", "bartscore", "meteor", "rouge"),
        *("spbleu", "wer", "cer", "gemba", "yisi", "prism"),
    )
)
_GENERIC = frozenset(("score", "scores"))
# Words that follow "source" or "output" in the name of a column that only describes a text, such as
# "source_lang".
_ABOUT = frozenset(
    (
        *("lang", "language", "locale", "id", "ids", "doc", "document", "file", "filename", "url"),
        *("domain", "length", "len", "tokens", "words", "chars", "type", "date", "time", "system"),
        *("path", "name", "count", "error", "errors"),
    )
)
_LANGUAGES = frozenset(
    (
        *("ar", "bg", "bn", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "gu", "he"),
        *("hi", "hr", "hu", "id", "is", "it", "ja", "kk", "km", "ko", "lt", "lv", "nl", "no", "pl"),
        *("ps", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "sw", "ta", "th", "tr", "uk", "ur", "vi"),
        *("xh", "zh", "zu", "eng", "deu", "ger", "fra", "fre", "ces", "rus", "zho", "jpn", "spa"),
        *("english", "german", "french", "czech", "russian", "chinese", "japanese", "spanish"),
    )
)
_LANGUAGE = re.compile(r"(?:translation|text|sentence)[._](\w+)|(\w+)")


def guess_role_by_name(column: Column) -> Column:
    """Return a column in the role that its name suggests, or as metadata without a suggestion.

    The role can be `EITHER` or `LANGUAGE`, which the other columns decide later. A score's name
    contains a metric, and the rest of the name is the system.
    """
    if column.role != METADATA:
        return column
    whole = column.name.strip().lower()
    parts = [part for part in re.split(r"[\W_]+", column.name) if part]
    if score := _make_score_column(column, parts):
        return score
    key = re.sub(r"[\s\-.]+", "_", whole)
    if key in NAMED_ROLES and whole not in _LANGUAGES - {"id"}:
        role = NAMED_ROLES[key]
        return replace(column, role=role, is_sure=role != EITHER)
    if _is_language(whole):
        return replace(column, role=LANGUAGE, is_sure=False)
    return _guess_role_by_words(column, parts)


def _is_language(name: str) -> bool:
    found = _LANGUAGE.fullmatch(name)
    if not found:
        return False
    code = found[1] or found[2]
    # In "en_US", "eng_Latn" and "zh-Hans", the language comes first.
    return re.split(r"[_-]", code)[0] in _LANGUAGES and (len(code) <= 8 or "_" not in code)


def _make_score_column(column: Column, parts: list[str]) -> Column | None:
    """Return the column as a score if its name has a metric and its cells are numbers."""
    metrics = [part for part in parts if find_metric_in(part)]
    if not metrics or parse_numbers(column.texts) is None:
        return None
    # In "comet_score" the metric is COMET, because "score" is a general word.
    special = [part for part in metrics if find_metric_in(part) not in _GENERIC] or metrics
    rest = [part for part in parts if part not in metrics]
    if len(metrics) == len(parts):
        return replace(column, role=SCORE, metric=column.name)
    return replace(column, role=SCORE, system=_join_parts(column.name, rest), metric=special[0])


def find_metric_in(part: str) -> str:
    """Return the metric in a part of a name, such as "comet" in "comet22", or "" for none."""
    found = part.lower().rstrip("0123456789")
    found = found.removesuffix("qe") if found.removesuffix("qe") in _METRICS else found
    return found if found in _METRICS else ""


def _join_parts(name: str, parts: list[str]) -> str:
    """Return the section of a name from the first to the last of the given parts.

    If a metric separates the parts, they are joined by a dot instead.
    """
    found = name[name.find(parts[0]) : name.rfind(parts[-1]) + len(parts[-1])]
    inside = [part for part in re.split(r"[\W_]+", found) if part]
    return found if inside == parts else ".".join(parts)


def _guess_role_by_words(column: Column, parts: list[str]) -> Column:
    """Return a column in the role that the first or last word of its name suggests.

    Examples are "output_alpha", "alpha (mt)" and "ref 2".
    """
    if len(parts) < 2:
        lone = column.name.strip().lower()
        if re.fullmatch(r"ref[a-d]?\d*|reference\d+|caption\d+", lone):
            return replace(column, role=REFERENCE)
        if found := re.fullmatch(r"(?:output|hyp|mt|pred)(\d+)", lone):
            return replace(column, role=OUTPUT, system=found[1])
        return column
    if parts[-1].lower() in _ABOUT or parts[0].lower() in _ABOUT:
        return column
    for at, rest in ((0, parts[1:]), (-1, parts[:-1])):
        role = _WORDS.get(parts[at].lower(), "")
        if role == OUTPUT:
            return replace(column, role=OUTPUT, system=_join_parts(column.name, rest))
        if role == EITHER:
            system = _join_parts(column.name, rest)
            return replace(column, role=OUTPUT, system=system, is_sure=False)
        if role:
            return replace(column, role=role, is_sure=at == 0)
    return column


# Guesses of the role of each column from its name, its cells and the other columns.
#
# A guess that could be wrong is marked as uncertain, and the user is asked to check it.


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


# The type of a column of metadata: numbers, categories, or free text.


MAX_CATEGORIES = 30
"""Maximum number of distinct values in a column of categories. More values count as free text."""
MISSING = frozenset(("", "nan", "na", "n/a", "none", "null"))
"""Contents of a cell, in lower case, that mean a missing value."""


def number_of(cell: str) -> float | None:
    """Return the finite number that a cell contains, or None for any other text."""
    try:
        value = float(cell)
    except ValueError:
        return None
    # Python reads "1_000" as a number. Other programs do not write numbers so, so it is text here.
    return value if math.isfinite(value) and "_" not in cell else None


def is_missing(cell: str) -> bool:
    """Return whether a cell is empty or means a missing value, such as "n/a"."""
    return cell.strip().lower() in MISSING


def parse_numbers(values: Sequence[str]) -> tuple[float, ...] | None:
    """Return a column as numbers, NaN where a value is missing.

    Args:
        values: The cells of the column.

    Returns:
        One number for each cell, or None if a cell holds text or no cell holds a number.
    """
    found: list[float] = []
    for value in values:
        number = number_of(value)
        if number is None and not is_missing(value):
            return None
        found.append(math.nan if number is None else number)
    return tuple(found) if any(map(math.isfinite, found)) else None


def list_categories(values: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct values of a column in alphabetical order, without the empty one.

    Args:
        values: The cells of the column.

    Returns:
        At most `MAX_CATEGORIES` values, or () for a column of free text or without values.
    """
    found = {value for value in values if value}
    return tuple(sorted(found)) if len(found) <= MAX_CATEGORIES else ()
