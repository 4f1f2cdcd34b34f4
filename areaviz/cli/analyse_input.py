"""Input of `analyse`: a sample set, a file or a folder, and the files that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from areaviz.intake.columns import LINKS, OUTPUT, REFERENCE, SCORE, SOURCE
from areaviz.intake.dataset_builder import BuiltDataset, bring_beside, build_dataset
from areaviz.intake.files import find_media_beside, is_table_name
from areaviz.intake.joined_columns import open_files
from areaviz.media.formats import is_medium
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.trace.errors import InputError, shorten


@dataclass(frozen=True, slots=True)
class Given:
    """The files that the command names, and the roles that it gives to columns."""

    source: str
    references: Sequence[Path] = ()
    links: Path | None = None
    outputs: Sequence[Path] = ()
    scores: Sequence[Path] = ()
    # Roles of columns and files, each as "NAME=ROLE".
    columns: Sequence[str] = ()
    # Names of the models to run. Files of scores may refer to these models' outputs.
    models: Sequence[str] = ()


def read_given(given: Given) -> BuiltDataset:
    """Read the set and all files that belong to it.

    Raises:
        InputError: the files cannot be used as one set.
        FileNotFoundError: a file is missing.
    """
    files: dict[str, Path] = {}
    chosen: dict[str, str] = {}
    named = [(path, REFERENCE) for path in given.references]
    named += [(given.links, LINKS)] if given.links else []
    named += [(path, OUTPUT) for path in given.outputs]
    named += [(path, SCORE) for path in given.scores]
    if given.source not in SAMPLE_SETS:
        _add_source(Path(given.source), files, chosen)
    for path, role in named:
        if path.name in files:
            raise InputError(
                f'Two of the files are called "{shorten(path.name)}", but every file of a set'
                " needs its own name. Rename one of them."
            )
        files[path.name] = path
        chosen[path.name] = role
    for column in given.columns:
        name, separator, role = column.rpartition("=")
        if not separator:
            raise InputError(
                f'--column is "{shorten(column)}". Write NAME=ROLE, such as domain=metadata or'
                " mt=output:alpha."
            )
        chosen[name] = role
    opened = open_files(files, chosen, given.models)
    if given.source in SAMPLE_SETS:
        return bring_beside(SAMPLE_SETS[given.source](), opened, given.models)
    return build_dataset(files, opened, given.models)


def _add_source(place: Path, files: dict[str, Path], chosen: dict[str, str]) -> None:
    """Add the files of `place` to `files`, and the roles that they have for certain to `chosen`.

    Args:
        place: a file of examples, whose media in the same folder are added too, or a folder.
        files: the paths by file name.
        chosen: the roles by file name.
    """
    if not place.exists():
        raise InputError(
            f'"{place}" is not a file, folder or sample set. The sample sets are:'
            f" {', '.join(SAMPLE_SETS)}."
        )
    if place.is_dir():
        files.update(_list_files(place))
        return
    files[place.name] = place
    files.update(find_media_beside(place))
    if not is_table_name(place.name) and not is_medium(place.name):
        chosen[place.name] = SOURCE


def _list_files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by name: its table and media.

    A folder without a table gives its media, or all of its files if it has no media.
    """
    found = {one.name: one for one in sorted(folder.iterdir()) if one.is_file()}
    media = {name: path for name, path in found.items() if is_medium(name)}
    tables = [name for name in found if is_table_name(name)]
    if len(tables) > 1:
        raise InputError(
            f'"{folder}" has several tables ({", ".join(tables)}). Give the path of one of them.'
        )
    if tables:
        return {tables[0]: found[tables[0]], **media}
    return media or found
