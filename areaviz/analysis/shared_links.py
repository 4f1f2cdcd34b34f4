"""Links that open one user's analysis for other users until the owner withdraws them.

A link contains a random token. The folder of a link is named by the SHA-256 of the token, so nobody
can open the link with the help of stored files. The folder is in the owner's folder:
`shares/OWNER/ID`. Each user who opened the link has a separate file there, so simultaneous visits
do not overwrite each other. Removing `share.json` withdraws a link.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from areaviz.analysis.disk_errors import translate_disk_errors
from areaviz.analysis.stored_sets import DAMAGE
from areaviz.notes.store_schema import format_current_time
from areaviz.shares.limits import SHARED_LINKS, SHARED_LINKS_ALL, VISITORS_LISTED
from areaviz.trace.errors import InputError
from areaviz.trace.safe_files import PRIVATE_FILE, make_private_folder, write_whole

# The folder of links within the folder of analyses, and the file that says what a link opens.
FOLDER, ABOUT = "shares", "share.json"
_MARK = re.compile(r"[0-9a-f]{64}")
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
        self._all = analyses / FOLDER

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
    for folder in (analyses / FOLDER).glob("*/*/"):
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
