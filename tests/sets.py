"""Helpers that read datasets of lines, tables and media in tests."""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.media.formats import is_medium
from areaviz.samples.dataset import Dataset, Files
from areaviz.sets.dataset import read_set
from areaviz.sets.files import is_table_name
from areaviz.sets.roles import LINKS_FROM_0, REFERENCE, SOURCE


def read_lines(
    source: str, files: Files, references: Sequence[str] = (), links: str = ""
) -> Dataset:
    """Read line-aligned files, in the given roles, as one dataset."""
    chosen = {source: SOURCE, **dict.fromkeys(references, REFERENCE)}
    if links:
        chosen[links] = LINKS_FROM_0
    return read_set({name: files[name] for name in chosen}, chosen).dataset


def read_table(table: str, files: Files) -> Dataset:
    """Read a table and the media files that it names."""
    others = {name: content for name, content in files.items() if not is_table_name(name)}
    return read_set({**others, table: files[table]}).dataset


def read_media(files: Files) -> Dataset:
    """Read a dataset of pictures, sounds or clips without a table."""
    return read_set({name: files[name] for name in files if is_medium(name)}).dataset
