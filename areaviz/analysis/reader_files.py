"""What a reader keeps: the files of their own sets, and the list of their analyses.

All of it lies in a folder of the reader's, named by the mark that the rows of analyses have too
(`areaviz/ui/shell/reader.py`), so nobody finds what is another's.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from areaviz.data.examples import Dataset, Files
from areaviz.data.set_files import Roles
from areaviz.notes.store_schema import now
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.files import PRIVATE_FILE, private_folder, write_whole

# Below the folder of analyses.
FOLDER = "readers"
# Analyses that a reader's list has; the oldest go.
MAX_ENTRIES = 50
# Of the files of all readers' sets together; the sets that were opened longest ago go.
MAX_BYTES = 2 * 2**30
_MARK = re.compile(r"[0-9a-f]{64}")
# Of a set, and of an entry of the list.
_SET_ID = re.compile(r"[0-9a-f]{24}")
_ROLES = "roles.json"
# What Python raises for JSON that holds something else.
_DAMAGE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Entry:
    """An analysis that its reader can open again."""

    # The parameters of its address.
    params: Mapping[str, str]
    # The set's name, and how many examples it has.
    dataset: str
    examples: int
    # What was run on it, for people.
    runs: tuple[str, ...]
    # The digest of the set.
    digest: str
    # When it was opened last, ISO 8601 in UTC.
    opened: str = ""

    @property
    def id(self) -> str:
        """Names its file: the same analysis is one entry, however often it is opened."""
        what = json.dumps([self.digest, sorted(self.params.items())])
        return sha256(what.encode("ascii")).hexdigest()[:24]


def set_id(dataset: Dataset) -> str:
    """What an address calls a reader's own set."""
    return dataset.digest[:24]


def is_set_id(name: str) -> bool:
    """Whether an address names a reader's own set by this."""
    return _SET_ID.fullmatch(name) is not None


class ReaderFiles:
    """One reader's folder; every method raises BackendError where the disk fails."""

    def __init__(self, analyses: Path, mark: str) -> None:
        """Opens the folder of the reader with a mark, 64 hexadecimal digits, below `analyses`."""
        if not _MARK.fullmatch(mark):
            raise ValueError("A reader's mark has 64 hexadecimal digits.")
        self._all = analyses / FOLDER
        self._own = self._all / mark

    def keep_set(self, dataset: Dataset, files: Files, roles: Roles) -> None:
        """Keep the files of a set, whole or not at all; one that is kept already stays."""
        folder = self._own / set_id(dataset)
        if (folder / _ROLES).exists():
            return
        names = {}
        with _disk_errors("keeping the files of the set"):
            private_folder(folder)
            for number, (name, content) in enumerate(sorted(files.items())):
                # A file of a reader's may have any name, so it lies here under a number.
                names[str(number)] = name
                data = content.read_bytes() if isinstance(content, Path) else content
                write_whole(folder / str(number), data, PRIVATE_FILE)
            about = json.dumps({"files": names, "roles": roles.entries})
            # Written last: a set without its roles is none.
            write_whole(folder / _ROLES, about.encode("ascii"), PRIVATE_FILE)
        self._make_room(folder)

    def open_set(self, name: str) -> tuple[Files, Roles]:
        """The files of a kept set and what they are.

        Args:
            name: what an address calls it.

        Raises:
            InputError: this reader keeps no such set.
        """
        folder = self._own / name
        if not is_set_id(name) or not (folder / _ROLES).exists():
            raise InputError(
                "The files of this set are not kept here for you: they were deleted, or another"
                " reader has them; choose them again."
            )
        with _disk_errors("reading the files of the set"):
            try:
                about = json.loads((folder / _ROLES).read_bytes())
                files = {str(given): folder / str(int(at)) for at, given in about["files"].items()}
                roles = Roles.of(about["roles"])
            except _DAMAGE as error:
                raise InputError(
                    "What is kept of this set is damaged; choose its files again."
                ) from error
            (folder / _ROLES).touch()
        return files, roles

    def note(self, entry: Entry) -> None:
        """Put an analysis at the top of the reader's list."""
        with _disk_errors("noting the analysis"):
            private_folder(self._own)
            content = json.dumps(asdict(entry) | {"opened": now()})
            write_whole(self._own / f"{entry.id}.json", content.encode("ascii"), PRIVATE_FILE)
            for path in self._newest()[MAX_ENTRIES:]:
                path.unlink(missing_ok=True)

    def entries(self) -> list[Entry]:
        """The reader's analyses, the one opened last first; what cannot be read is left out."""
        found = []
        with _disk_errors("reading the list of analyses"):
            for path in self._newest():
                with suppress(OSError, *_DAMAGE):
                    found.append(_entry(json.loads(path.read_bytes())))
        return found

    def remove_entry(self, name: str) -> None:
        """Take an analysis off the list, by the id of its entry; its set stays."""
        if _SET_ID.fullmatch(name):
            with _disk_errors("changing the list of analyses"):
                (self._own / f"{name}.json").unlink(missing_ok=True)

    def remove(self, digest: str) -> None:
        """Remove the analyses of a set from the list, and the set's files."""
        with _disk_errors("deleting the files of the set"):
            for entry in self.entries():
                if entry.digest == digest:
                    (self._own / f"{entry.id}.json").unlink(missing_ok=True)
            folder = self._own / digest[:24]
            if is_set_id(digest[:24]) and folder.is_dir():
                _remove_folder(folder)

    def _newest(self) -> list[Path]:
        paths = [(path.stat().st_mtime_ns, path) for path in self._own.glob("*.json")]
        return [path for _, path in sorted(paths, reverse=True)]

    def _make_room(self, new: Path) -> None:
        """Remove the sets that were opened longest ago, of any reader, where all are too large."""
        sizes = {}
        for path in self._all.glob(f"*/*/{_ROLES}"):
            files = list(path.parent.iterdir())
            size = sum(file.stat().st_size for file in files)
            sizes[path.parent] = (path.stat().st_mtime_ns, size)
        total = sum(size for _, size in sizes.values())
        for folder in sorted(sizes, key=sizes.__getitem__):
            if total > MAX_BYTES and folder != new:
                _remove_folder(folder)
                total -= sizes[folder][1]


def remove_old_files(analyses: Path, before: float) -> int:
    """Remove lists and sets of all readers that nobody opened since a time; returns how many."""
    removed = 0
    for path in (analyses / FOLDER).glob("*/*.json"):
        if path.stat().st_mtime < before:
            path.unlink(missing_ok=True)
            removed += 1
    for path in (analyses / FOLDER).glob("*/*/"):
        mark = path / _ROLES
        # A set whose files were not all written, by a crash, has no roles.
        about = mark if mark.exists() else path
        if about.stat().st_mtime < before:
            _remove_folder(path)
            removed += 1
    return removed


def _remove_folder(folder: Path) -> None:
    """The roles go first: a set without them is none, should the rest fail."""
    (folder / _ROLES).unlink(missing_ok=True)
    shutil.rmtree(folder)


def _entry(values: Mapping[str, object]) -> Entry:
    """The entry that JSON gave; an error of `_DAMAGE` where it gave something else."""
    entry = Entry(**values)  # type: ignore[arg-type]
    texts = [entry.dataset, entry.digest, entry.opened, *entry.runs]
    texts += [*entry.params.keys(), *entry.params.values()]
    if not all(isinstance(text, str) for text in texts) or type(entry.examples) is not int:
        raise ValueError("An entry has values of other kinds.")
    return Entry(
        dict(entry.params),
        entry.dataset,
        entry.examples,
        tuple(entry.runs),
        entry.digest,
        entry.opened,
    )


@contextmanager
def _disk_errors(doing: str) -> Iterator[None]:
    """Raise what goes wrong with the disk as BackendError, in one sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise BackendError(
            f"Something went wrong while {doing} ({reason}); the results are kept: fix that, then"
            " try again."
        ) from error
