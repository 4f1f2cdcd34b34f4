"""How files are read as one set of examples: which of them is what, so that they can be read again.

The files of a set of texts may hold outputs of systems, too: what each wrote for the sentences; and
scores of these outputs that another tool gave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from areaviz.data.example_files import read_column, read_files, read_lines, read_table
from areaviz.data.examples import Dataset, Files
from areaviz.data.file_kinds import (
    TABLES,
    check_kinds,
    ending_of,
    likely_links,
    likely_source,
)
from areaviz.data.media import is_medium
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown

# Parts of a name that say that the file has scores.
_SCORES = ("score", "comet", "bleurt", "metricx")


@dataclass(frozen=True, slots=True)
class Roles:
    """What each file of a set is, by name; with neither table nor source it is of files alone.

    Args:
        table: the one table.
        source: the text with the sentences to run.
        references: texts with references, line by line.
        links: a text with gold links, "" for none.
        outputs: texts with what systems wrote, line by line, one for each system.
        scores: texts or tables with scores of these outputs, line by line.
        corpus: a text whose word frequencies count, "" for none.
    """

    table: str = ""
    source: str = ""
    references: tuple[str, ...] = ()
    links: str = ""
    outputs: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    corpus: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """The roles that `entries` gave; ValueError where they are of other kinds."""
        references, outputs = tuple(values["references"]), tuple(values["outputs"])
        # Roles that were kept before there were scores and corpora have none.
        scores, corpus = tuple(values.get("scores", ())), values.get("corpus", "")
        table, source, links = values["table"], values["source"], values["links"]
        names = [table, source, links, corpus, *references, *outputs, *scores]
        if not all(isinstance(name, str) for name in names):
            raise ValueError("A name of a file is no text.")
        return cls(table, source, references, links, outputs, scores, corpus)

    @property
    def entries(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        return asdict(self)

    def read(self, files: Files) -> Dataset:
        """The set of these files; InputError where they cannot be used as one."""
        if self.table:
            return read_table(self.table, files)
        if self.source:
            return read_lines(self.source, files, self.references, self.links)
        return read_files(files)

    def read_outputs(self, files: Files, dataset: Dataset) -> dict[str, tuple[str, ...]]:
        """What each system wrote, by the name of its file.

        Raises:
            InputError: a file is no UTF-8 text, is too large, or has not a line for each example.
        """
        return {name: read_output(name, files, dataset) for name in self.outputs}


def read_output(name: str, files: Files, dataset: Dataset) -> tuple[str, ...]:
    """The lines of a file of outputs, one for each example of a set.

    Raises:
        InputError: as `Roles.read_outputs`.
    """
    lines = tuple(read_column(name, files))
    wanted = len(dataset.examples)
    if len(lines) != wanted:
        raise InputError(
            f'"{shown(name)}" has {len(lines):,} lines but "{shown(dataset.name)}" has'
            f" {wanted:,} examples; outputs need one line for each example, in the same order."
        )
    return lines


def likely_roles(names: Sequence[str]) -> Roles:
    """What files are by their names, which a reader may then change.

    Args:
        names: of all files.

    Raises:
        InputError: a file is of a kind that is not read here.
    """
    check_kinds(names)
    scores = tuple(name for name in names if is_scores(name))
    names = [name for name in names if name not in scores]
    tables = [name for name in names if ending_of(name) in TABLES]
    if tables:
        return Roles(table=tables[0])
    texts = [name for name in names if not is_medium(name)]
    if not texts:
        return Roles()
    source = likely_source(texts)
    others = [name for name in texts if name != source]
    links = likely_links(others) or ""
    corpus = next((name for name in others if name != links and is_corpus(name)), "")
    rest = [name for name in others if name not in (links, corpus)]
    outputs = [name for name in rest if is_output(name)]
    references = tuple(name for name in rest if name not in outputs)
    return Roles("", source, references, links, tuple(outputs), scores, corpus)


def is_scores(name: str) -> bool:
    """Whether a name says that the file has scores of outputs."""
    return any(part in name.lower() for part in _SCORES)


def is_corpus(name: str) -> bool:
    """Whether a name says that the file is a corpus, whose word frequencies count."""
    return any(part in name.lower() for part in ("corpus", "train"))


def is_output(name: str) -> bool:
    """Whether a name says that a system wrote what is in the file."""
    return any(part in name.lower() for part in ("output", "hyp"))
