"""A user's files on this server: uploaded datasets and the list of analyses.

They are in the user's folder. Its name is the user id that the rows of analyses also contain
(`areaviz/app/run.py`), so users cannot find each other's files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from areaviz.analysis.disk_errors import translate_disk_errors
from areaviz.analysis.stored_sets import (
    DAMAGE,
    EVICTED_FILE,
    LONGEST_NAME,
    MEGABYTE,
    NETWORK_FILE,
    ROLES,
    make_room,
    note_network,
    remove_folder,
)
from areaviz.intake.joined_columns import Chosen
from areaviz.intake.stored_roles import format_roles, parse_roles
from areaviz.notes.store_schema import format_current_time
from areaviz.samples.dataset import Dataset, Files, hash_content
from areaviz.shares.limits import ANALYSES_LISTED, KEPT_MEGABYTES
from areaviz.trace.errors import InputError
from areaviz.trace.safe_files import PRIVATE_FILE, make_private_folder, write_whole

# The name of the folder with the folders of all users, within the folder of analyses.
FOLDER = "readers"
_MARK = re.compile(r"[0-9a-f]{64}")
# The pattern of the id of a dataset and of an entry of the list.
_SET_ID = re.compile(r"[0-9a-f]{24}")


@dataclass(frozen=True, slots=True)
class Entry:
    """An analysis that its user can open again."""

    # The parameters of its URL.
    params: Mapping[str, str]
    # The name of the dataset, and the number of its examples.
    dataset: str
    examples: int
    # The names of the analysed systems.
    runs: tuple[str, ...]
    # The digest of the dataset.
    digest: str
    # The time when it was last opened, ISO 8601 in UTC.
    opened: str = ""

    @property
    def id(self) -> str:
        """The name of its file, which depends only on the dataset and the parameters."""
        what = json.dumps([self.digest, sorted(self.params.items())])
        return sha256(what.encode("ascii")).hexdigest()[:24]


def set_id(dataset: Dataset) -> str:
    """Return the name of an uploaded dataset in URLs."""
    return dataset.digest[:24]


def is_set_id(name: str) -> bool:
    """Return whether a name in a URL can be that of an uploaded dataset."""
    return _SET_ID.fullmatch(name) is not None


class ReaderFiles:
    """The folder of one user. Every method raises BackendError if the disk fails."""

    def __init__(self, analyses: Path, mark: str, network: str = "") -> None:
        """Open a user's folder.

        Args:
            analyses: the folder of analyses.
            mark: the user's id, 64 hexadecimal digits.
            network: the user's network address, "" if it is unknown (`find_network`).
        """
        if not _MARK.fullmatch(mark):
            raise ValueError("A reader's mark has 64 hexadecimal digits.")
        self._all = analyses / FOLDER
        self._own, self._network = self._all / mark, network

    def keep_set(self, dataset: Dataset, files: Files, chosen: Chosen) -> None:
        """Store all files of a dataset or none of them. Identical files are stored once.

        A stored dataset may be uploaded again with other outputs or metadata, which replace its
        files.

        Args:
            dataset: the dataset that the files contain.
            files: the uploaded files.
            chosen: the roles that the user chose for the files.

        Raises:
            InputError: the dataset alone is larger than the user's quota.
        """
        folder = self._own / set_id(dataset)
        contents = sha256()
        for name, content in sorted(files.items()):
            contents.update(f"{name!r} {hash_content(name, content)}\n".encode())
        about = {"roles": format_roles(chosen), "contents": contents.hexdigest()}
        if self._is_kept(folder, about):
            return
        size = sum(_measure_size(content) for content in files.values())
        share = KEPT_MEGABYTES.value() * MEGABYTE
        if size > share:
            raise InputError(
                f"The files of this set have {size / MEGABYTE:,.1f} MB, so they cannot be kept."
                f" {KEPT_MEGABYTES.said()}"
            )
        names = {}
        with translate_disk_errors("keeping the files of the set"):
            make_private_folder(folder)
            # Remove the roles first: a dataset without roles is ignored if writing fails halfway.
            (folder / ROLES).unlink(missing_ok=True)
            for number, (name, content) in enumerate(sorted(files.items())):
                # An uploaded file may have any name, so it is stored under a number.
                names[str(number)] = name
                data = content.read_bytes() if isinstance(content, Path) else content
                write_whole(folder / str(number), data, PRIVATE_FILE)
            about_set = {"files": names, "name": dataset.name[:LONGEST_NAME], **about}
            # Write the roles last: a folder without roles does not count as a dataset.
            write_whole(folder / ROLES, json.dumps(about_set).encode("ascii"), PRIVATE_FILE)
            note_network(self._all, self._own, self._network)
            make_room(self._all, folder)

    def list_evicted_sets(self) -> list[str]:
        """Return the names of the user's datasets that were removed to make room."""
        with suppress(OSError, *DAMAGE):
            return [str(name) for name in json.loads((self._own / EVICTED_FILE).read_bytes())]
        return []

    def forget_evicted(self) -> None:
        """Forget the names of removed datasets after the user has seen them."""
        with translate_disk_errors("changing the list of removed sets"):
            (self._own / EVICTED_FILE).unlink(missing_ok=True)

    def _is_kept(self, folder: Path, about: Mapping[str, object]) -> bool:
        """Return whether these files are already stored with these roles."""
        with suppress(OSError, *DAMAGE):
            kept = json.loads((folder / ROLES).read_bytes())
            # Datasets of older versions have no digest of their files and are left as they are.
            if "contents" not in kept:
                return True
            return all(kept[key] == value for key, value in about.items())
        return False

    def open_set(self, name: str) -> tuple[Files, Chosen]:
        """Return the files of a stored dataset and the roles that the user chose.

        Args:
            name: the name of the dataset in URLs.

        Raises:
            InputError: this user has no such dataset.
        """
        folder = self._own / name
        if not is_set_id(name) or not (folder / ROLES).exists():
            raise InputError(
                "The files of this set are not kept here for you: they were deleted, or they"
                " belong to another user. Choose them again."
            )
        with translate_disk_errors("reading the files of the set"):
            try:
                about = json.loads((folder / ROLES).read_bytes())
                files = {str(given): folder / str(int(at)) for at, given in about["files"].items()}
                chosen = parse_roles(about["roles"], files)
            except DAMAGE as error:
                raise InputError(
                    "What is kept of this set is damaged. Choose its files again."
                ) from error
            (folder / ROLES).touch()
        return files, chosen

    def note(self, entry: Entry) -> None:
        """Put an analysis at the top of the user's list."""
        with translate_disk_errors("noting the analysis"):
            make_private_folder(self._own)
            content = json.dumps(asdict(entry) | {"opened": format_current_time()})
            write_whole(self._own / f"{entry.id}.json", content.encode("ascii"), PRIVATE_FILE)
            for path in self._list_newest_first()[int(ANALYSES_LISTED.value()) :]:
                path.unlink(missing_ok=True)

    def entries(self) -> list[Entry]:
        """Return the user's analyses, the last opened one first. Damaged entries are left out."""
        found = []
        with translate_disk_errors("reading the list of analyses"):
            for path in self._list_newest_first():
                with suppress(OSError, *DAMAGE):
                    found.append(_parse_entry(json.loads(path.read_bytes())))
        return found

    def remove_entry(self, name: str) -> None:
        """Remove an analysis from the list by the id of its entry. Its dataset is kept."""
        if _SET_ID.fullmatch(name):
            with translate_disk_errors("changing the list of analyses"):
                (self._own / f"{name}.json").unlink(missing_ok=True)

    def remove(self, digest: str) -> None:
        """Remove the analyses of a dataset from the list, and the files of the dataset."""
        with translate_disk_errors("deleting the files of the set"):
            for entry in self.entries():
                if entry.digest == digest:
                    (self._own / f"{entry.id}.json").unlink(missing_ok=True)
            folder = self._own / digest[:24]
            if is_set_id(digest[:24]) and folder.is_dir():
                remove_folder(folder)

    def _list_newest_first(self) -> list[Path]:
        paths = [(path.stat().st_mtime_ns, path) for path in self._own.glob("*.json")]
        return [path for _, path in sorted(paths, reverse=True)]


def remove_old_files(analyses: Path, before: float) -> int:
    """Remove lists and datasets not opened since a time, and return the number of removed ones."""
    removed = 0
    for path in (analyses / FOLDER).glob("*/*.json"):
        if path.stat().st_mtime < before:
            path.unlink(missing_ok=True)
            removed += 1
    for path in (analyses / FOLDER).glob("*/*/"):
        mark = path / ROLES
        # A crash while a dataset was written leaves a folder without roles.
        about = mark if mark.exists() else path
        if about.stat().st_mtime < before:
            remove_folder(path)
            removed += 1
    for reader in (analyses / FOLDER).glob("*/"):
        if {path.name for path in reader.iterdir()} <= {EVICTED_FILE, NETWORK_FILE}:
            for name in (EVICTED_FILE, NETWORK_FILE):
                (reader / name).unlink(missing_ok=True)
    return removed


def _measure_size(content: bytes | Path) -> int:
    return content.stat().st_size if isinstance(content, Path) else len(content)


def _parse_entry(values: Mapping[str, object]) -> Entry:
    """Return the entry that JSON values describe.

    Raises:
        ValueError: the values have wrong types. Other errors of `DAMAGE` are possible too.
    """
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
