"""A user's files on the server: datasets, lists of analyses, and shared links.

Disk errors and the limits on disk space come first.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from areaviz.samples.dataset import Dataset, Files, hash_content
from areaviz.sets.joined_files import Chosen, format_roles, parse_roles
from areaviz.sets.notes.store import format_current_time
from areaviz.shares import (
    ADDRESS_FACTOR,
    ALL_KEPT_MEGABYTES,
    ANALYSES_LISTED,
    KEPT_MEGABYTES,
    SHARED_LINKS,
    SHARED_LINKS_ALL,
    VISITORS_LISTED,
)
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.safe_files import PRIVATE_FILE, make_private_folder, write_whole

# Conversion of disk errors while a user's data are stored into messages for users.


@contextmanager
def translate_disk_errors(doing: str) -> Iterator[None]:
    """Raise errors of the disk as a BackendError with a message for users.

    Args:
        doing: completes "Something went wrong while ..." in the error.

    Raises:
        BackendError: the disk failed.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise BackendError(
            f"Something went wrong while {doing} ({reason}). The results are kept. Fix the cause,"
            " then try again."
        ) from error


# Limits on the disk space of uploaded datasets. The users who store most lose datasets first.
#
# Users are notified of the removed datasets at their next visit.


MEGABYTE = 10**6
# The file in a dataset's folder that names its files and their roles.
ROLES = "roles.json"
# Files in a user's folder: the names of datasets removed to make room, and a pseudonym of the
# network address from which the user's datasets came.
EVICTED_FILE, NETWORK_FILE = "evicted", "network"
# The file with the key of the pseudonyms. Without the key, a pseudonym does not reveal an address.
_KEY = ".key"
# Largest number of removed datasets that a user is notified of, and characters per name.
_MAX_EVICTED, LONGEST_NAME = 20, 100
# Exceptions that Python raises for JSON with unexpected content.
DAMAGE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class _KeptSet:
    """A stored dataset in a user's folder."""

    folder: Path
    # The time when it was last opened, in nanoseconds since 1970.
    opened: int
    size: int
    # The pseudonym of the network address, or the user's id if the address is unknown.
    network: str

    @property
    def reader(self) -> str:
        """The id of the user."""
        return self.folder.parent.name


def note_network(readers: Path, own: Path, network: str) -> None:
    """Record the network of a user's datasets, so that new cookies do not multiply quotas.

    Args:
        readers: the folder that contains the folders of all users.
        own: the user's folder.
        network: the network address, "" if it is unknown.
    """
    if not network:
        return
    key = readers / _KEY
    if not key.exists():
        write_whole(key, secrets.token_bytes(32), PRIVATE_FILE)
    pseudonym = hmac.digest(key.read_bytes(), network.encode(), "sha256").hex()
    write_whole(own / NETWORK_FILE, pseudonym.encode(), PRIVATE_FILE)


def make_room(readers: Path, new: Path) -> None:
    """Remove datasets while a user, a network or all users together store too much.

    First a user above the user quota loses datasets, then a network above the address quota. If all
    datasets together are still too large, the network that stores most loses datasets. The user of
    this network who stores most loses them, so a user who stores little loses nothing.

    Args:
        readers: the folder that contains the folders of all users.
        new: the folder of the dataset that was just stored, which is not removed.
    """
    kept = _list_kept_sets(readers)
    share = KEPT_MEGABYTES.value() * MEGABYTE
    while old := [one for one in kept if one.folder != new]:
        by_reader, by_network = _sum_sizes(kept)
        too_large = [one for one in old if by_reader[one.reader] > share]
        if not too_large:
            is_full = sum(by_network.values()) > ALL_KEPT_MEGABYTES.value() * MEGABYTE
            most = max(by_network[one.network] for one in old)
            if most <= share * ADDRESS_FACTOR.value() and not is_full:
                return
            too_large = [one for one in old if by_network[one.network] == most]
        largest = max(by_reader[one.reader] for one in too_large)
        gone = min(
            (one for one in too_large if by_reader[one.reader] == largest),
            key=lambda one: one.opened,
        )
        _record_removed_set(gone.folder)
        remove_folder(gone.folder)
        kept.remove(gone)


def _sum_sizes(kept: list[_KeptSet]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the bytes that each user stores, and the bytes of each network."""
    by_reader: dict[str, int] = {}
    by_network: dict[str, int] = {}
    for one in kept:
        by_reader[one.reader] = by_reader.get(one.reader, 0) + one.size
        by_network[one.network] = by_network.get(one.network, 0) + one.size
    return by_reader, by_network


def _list_kept_sets(readers: Path) -> list[_KeptSet]:
    found = []
    for path in readers.glob(f"*/*/{ROLES}"):
        # Another process may remove a dataset in the meantime.
        with suppress(FileNotFoundError):
            size = sum(file.stat().st_size for file in path.parent.iterdir())
            reader = path.parent.parent
            network = reader.name
            with suppress(FileNotFoundError):
                network = (reader / NETWORK_FILE).read_text()
            found.append(_KeptSet(path.parent, path.stat().st_mtime_ns, size, network))
    return found


def _record_removed_set(gone: Path) -> None:
    """Record the name of a removed dataset for the user's next visit."""
    name, notes = gone.name, gone.parent / EVICTED_FILE
    with suppress(OSError, *DAMAGE):
        about = json.loads((gone / ROLES).read_bytes())
        name = str(about.get("name") or ", ".join(about["files"].values()))[:LONGEST_NAME]
    earlier: list[str] = []
    with suppress(OSError, *DAMAGE):
        earlier = list(json.loads(notes.read_bytes()))
    names = json.dumps([name, *earlier][:_MAX_EVICTED])
    write_whole(notes, names.encode("ascii"), PRIVATE_FILE)


def remove_folder(folder: Path) -> None:
    """Remove a dataset.

    The file of its roles goes first, so a failure leaves no usable half of it.
    """
    (folder / ROLES).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)


# A user's files on this server: uploaded datasets and the list of analyses.
#
# They are in the user's folder. Its name is the user id that the rows of analyses also contain
# (`areaviz/app/run.py`), so users cannot find each other's files.


# The name of the folder with the folders of all users, within the folder of analyses.
READERS_FOLDER = "readers"
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
        self._all = analyses / READERS_FOLDER
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
    for path in (analyses / READERS_FOLDER).glob("*/*.json"):
        if path.stat().st_mtime < before:
            path.unlink(missing_ok=True)
            removed += 1
    for path in (analyses / READERS_FOLDER).glob("*/*/"):
        mark = path / ROLES
        # A crash while a dataset was written leaves a folder without roles.
        about = mark if mark.exists() else path
        if about.stat().st_mtime < before:
            remove_folder(path)
            removed += 1
    for reader in (analyses / READERS_FOLDER).glob("*/"):
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


# Links that open one user's analysis for other users until the owner withdraws them.
#
# A link contains a random token. The folder of a link is named by the SHA-256 of the token, so
# nobody can open the link with the help of stored files. The folder is in the owner's folder:
# `shares/OWNER/ID`. Each user who opened the link has a separate file there, so simultaneous visits
# do not overwrite each other. Removing `share.json` withdraws a link.


# The folder of links within the folder of analyses, and the file that says what a link opens.
LINKS_FOLDER, ABOUT = "shares", "share.json"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{32}")
# Number of random bytes per token.
_TOKEN_BYTES = 24
WITHDRAWN = (
    "This link opens no analysis: it was withdrawn or is incomplete. Ask its owner for a new link."
)


class Mode(StrEnum):
    """The permissions of users of a shared analysis."""

    READ = "read"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class SharedAnalysis:
    """The analysis that a link opens."""

    # The digest of the dataset, its name, and its name in URLs.
    digest: str
    dataset: str
    address: str
    # The systems: names of outputs from files, and requests of models as URL parameters.
    outputs: tuple[str, ...]
    models: tuple[Mapping[str, str], ...]
    mode: Mode
    # True if the names of the systems are hidden.
    is_blind: bool = False
    # True if the page shows the themes of failure without a click.
    has_themes: bool = False


@dataclass(frozen=True, slots=True)
class Visit:
    """The times when one user first and last opened a link, ISO 8601 in UTC."""

    first: str
    last: str


@dataclass(frozen=True, slots=True)
class SharedLink:
    """A link that was not withdrawn.

    Args:
        id: the SHA-256 of its token.
        owner: the id of the user who made it.
        made: the time when it was made, ISO 8601 in UTC.
        analysis: the analysis that it opens.
        visits: one per user who opened it, the latest first.
    """

    id: str
    owner: str
    made: str
    analysis: SharedAnalysis
    visits: tuple[Visit, ...] = ()


class SharedLinks:
    """All shared links. Every method raises BackendError if the disk fails."""

    def __init__(self, analyses: Path) -> None:
        """Open the links within the folder of analyses."""
        self._all = analyses / LINKS_FOLDER

    def make(self, owner: str, analysis: SharedAnalysis) -> str:
        """Make a link and return its token, which is not stored.

        Args:
            owner: the id of the user who shares.
            analysis: the analysis that the link opens.

        Raises:
            InputError: the user, or all users together, share too many analyses.
        """
        if not _MARK.fullmatch(owner):
            raise ValueError("A reader's mark has 64 hexadecimal digits.")
        with translate_disk_errors("making the link"):
            if len(list((self._all / owner).glob(f"*/{ABOUT}"))) >= SHARED_LINKS.value():
                raise InputError(SHARED_LINKS.refusal())
            if len(list(self._all.glob(f"*/*/{ABOUT}"))) >= SHARED_LINKS_ALL.value():
                raise InputError(SHARED_LINKS_ALL.refusal())
            token = secrets.token_urlsafe(_TOKEN_BYTES)
            folder = self._all / owner / _derive_link_id(token)
            make_private_folder(folder)
            about = {"made": format_current_time(), "analysis": asdict(analysis)}
            write_whole(folder / ABOUT, json.dumps(about).encode("ascii"), PRIVATE_FILE)
        return token

    def open(self, token: str) -> SharedLink:
        """Return the link with a token, without its visits.

        Raises:
            InputError: there is no such link, or it was withdrawn.
        """
        if not _TOKEN.fullmatch(token):
            raise InputError(WITHDRAWN)
        with translate_disk_errors("opening the link"):
            for folder in self._all.glob(f"*/{_derive_link_id(token)}"):
                link = _read_link(folder)
                if link is not None:
                    return link
        raise InputError(WITHDRAWN)

    def note_visit(self, link: SharedLink, reader: str) -> None:
        """Record that a user opened a link. Visits of the owner are not recorded.

        Args:
            link: the opened link.
            reader: the id of the user.
        """
        if reader == link.owner:
            return
        folder = self._all / link.owner / link.id
        path = folder / f"{reader}.json"
        with translate_disk_errors("opening the link"):
            listed = sum(_MARK.fullmatch(one.stem) is not None for one in folder.glob("*.json"))
            if not path.exists() and listed >= VISITORS_LISTED.value():
                return
            time = format_current_time()
            earlier = _read_visit(path)
            visit = Visit(earlier.first if earlier else time, time)
            # A missing folder means that the link was withdrawn in the meantime, so it is not
            # recreated.
            write_whole(path, json.dumps(asdict(visit)).encode("ascii"), PRIVATE_FILE)

    def list_for(self, owner: str) -> list[SharedLink]:
        """Return a user's links with their visits, the latest link first."""
        found: list[SharedLink] = []
        if not _MARK.fullmatch(owner):
            return found
        with translate_disk_errors("reading the list of links"):
            for folder in (self._all / owner).glob("*/"):
                link = _read_link(folder, with_visits=True)
                if link is not None:
                    found.append(link)
        return sorted(found, key=lambda link: link.made, reverse=True)

    def withdraw(self, link: SharedLink, reader: str) -> None:
        """Withdraw a link at once.

        Args:
            link: the link to withdraw.
            reader: the id of the user who asks for it.

        Raises:
            InputError: the link belongs to another user.
        """
        if reader != link.owner:
            raise InputError(
                "Another user shared this analysis, and only that user can withdraw it."
            )
        with translate_disk_errors("withdrawing the link"):
            _remove_link(self._all / link.owner / link.id)

    def withdraw_of_set(self, owner: str, digest: str) -> int:
        """Withdraw all links of a user to analyses of a dataset, and return the number of links."""
        links = [link for link in self.list_for(owner) if link.analysis.digest == digest]
        for link in links:
            self.withdraw(link, owner)
        return len(links)


def remove_old_links(analyses: Path, before: float) -> int:
    """Remove links that were made before a time and not opened since, and return their number.

    Args:
        analyses: the folder of analyses.
        before: the time in seconds since 1970.
    """
    removed = 0
    for folder in (analyses / LINKS_FOLDER).glob("*/*/"):
        with suppress(FileNotFoundError):
            times = [path.stat().st_mtime for path in folder.iterdir()]
            if max(times, default=folder.stat().st_mtime) < before:
                _remove_link(folder)
                removed += 1
    return removed


def _derive_link_id(token: str) -> str:
    return sha256(token.encode("ascii")).hexdigest()


def _remove_link(folder: Path) -> None:
    """Remove a link.

    `share.json` goes first, so the link is withdrawn even if a later step fails.
    """
    (folder / ABOUT).unlink(missing_ok=True)
    # A user who opens the link now may still write into the folder. It is then removed later.
    shutil.rmtree(folder, ignore_errors=True)


def _read_link(folder: Path, with_visits: bool = False) -> SharedLink | None:
    """Return the link of a folder, None if it was withdrawn or is damaged."""
    with suppress(FileNotFoundError, *DAMAGE):
        about = json.loads((folder / ABOUT).read_bytes())
        analysis = _parse_analysis(about["analysis"])
        visits: list[Visit] = []
        if with_visits:
            read = [
                _read_visit(path) for path in folder.glob("*.json") if _MARK.fullmatch(path.stem)
            ]
            visits = sorted(filter(None, read), key=lambda one: one.last, reverse=True)
        made = str(about["made"])
        return SharedLink(folder.name, folder.parent.name, made, analysis, tuple(visits))
    return None


def _parse_analysis(values: Mapping[str, object]) -> SharedAnalysis:
    """Return the analysis that JSON values describe. Other values raise an error of `DAMAGE`."""
    read = SharedAnalysis(**values)  # type: ignore[arg-type]
    models = tuple({str(key): str(one[key]) for key in one} for one in read.models)
    texts = (str(read.digest), str(read.dataset), str(read.address))
    outputs = tuple(map(str, read.outputs))
    switches = bool(read.is_blind), bool(read.has_themes)
    return SharedAnalysis(*texts, outputs, models, Mode(read.mode), *switches)


def _read_visit(path: Path) -> Visit | None:
    with suppress(FileNotFoundError, *DAMAGE):
        values = json.loads(path.read_bytes())
        return Visit(str(values["first"]), str(values["last"]))
    return None
