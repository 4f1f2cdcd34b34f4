"""The room for readers' own sets: whoever keeps most loses sets first, and is told."""

from __future__ import annotations

import hmac
import json
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from areaviz.shares.limits import ADDRESS_FACTOR, ALL_KEPT_MEGABYTES, KEPT_MEGABYTES
from areaviz.trace.files import PRIVATE_FILE, write_whole

MEGA = 10**6
# The file in the folder of a set that names its files and says what they are.
ROLES = "roles.json"
# Files in a reader's folder: the names of the sets that were removed to make room, and a
# pseudonym of the network address that the reader's sets came from.
EVICTED, NETWORK = "evicted", "network"
# The key of the pseudonyms, beside the folders of readers: without it a pseudonym is no address.
_KEY = ".key"
# The most names of removed sets that a reader is told, and their characters.
_MAX_EVICTED, LONGEST_NAME = 20, 100
# The exceptions that Python raises for JSON with other content.
DAMAGE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class _KeptSet:
    """A set in some reader's folder."""

    folder: Path
    # When it was opened last, in nanoseconds.
    opened: int
    size: int
    # The pseudonym of the network address, or the reader's mark where the address is unknown.
    network: str

    @property
    def reader(self) -> str:
        """The reader's mark."""
        return self.folder.parent.name


def note_network(readers: Path, own: Path, network: str) -> None:
    """Note which network a reader's sets come from, so that fresh cookies do not multiply shares.

    Args:
        readers: the folder with the folders of all readers.
        own: the reader's folder.
        network: the address, "" where it is unknown.
    """
    if not network:
        return
    key = readers / _KEY
    if not key.exists():
        write_whole(key, secrets.token_bytes(32), PRIVATE_FILE)
    pseudonym = hmac.digest(key.read_bytes(), network.encode(), "sha256").hex()
    write_whole(own / NETWORK, pseudonym.encode(), PRIVATE_FILE)


def make_room(readers: Path, new: Path) -> None:
    """Remove sets while a reader, a network or all readers keep too much.

    A reader above the share of a reader loses sets, then a network above the share of an address.
    Where all sets together are still too large, the network that keeps most loses sets. Within a
    network it is the reader who keeps most. So a reader who keeps little loses nothing.

    Args:
        readers: the folder with the folders of all readers.
        new: the folder of the set that was just kept, which stays.
    """
    kept = _kept_sets(readers)
    share = KEPT_MEGABYTES.value() * MEGA
    while old := [one for one in kept if one.folder != new]:
        by_reader, by_network = _sizes(kept)
        too_large = [one for one in old if by_reader[one.reader] > share]
        if not too_large:
            is_full = sum(by_network.values()) > ALL_KEPT_MEGABYTES.value() * MEGA
            most = max(by_network[one.network] for one in old)
            if most <= share * ADDRESS_FACTOR.value() and not is_full:
                return
            too_large = [one for one in old if by_network[one.network] == most]
        largest = max(by_reader[one.reader] for one in too_large)
        gone = min(
            (one for one in too_large if by_reader[one.reader] == largest),
            key=lambda one: one.opened,
        )
        _tell(gone.folder)
        remove_folder(gone.folder)
        kept.remove(gone)


def _sizes(kept: list[_KeptSet]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the bytes that each reader keeps, and those of each network."""
    by_reader: dict[str, int] = {}
    by_network: dict[str, int] = {}
    for one in kept:
        by_reader[one.reader] = by_reader.get(one.reader, 0) + one.size
        by_network[one.network] = by_network.get(one.network, 0) + one.size
    return by_reader, by_network


def _kept_sets(readers: Path) -> list[_KeptSet]:
    found = []
    for path in readers.glob(f"*/*/{ROLES}"):
        # Another process may remove a set meanwhile.
        with suppress(FileNotFoundError):
            size = sum(file.stat().st_size for file in path.parent.iterdir())
            reader = path.parent.parent
            network = reader.name
            with suppress(FileNotFoundError):
                network = (reader / NETWORK).read_text()
            found.append(_KeptSet(path.parent, path.stat().st_mtime_ns, size, network))
    return found


def _tell(gone: Path) -> None:
    """Note the name of a set for its reader, who is told at the next visit."""
    name, notes = gone.name, gone.parent / EVICTED
    with suppress(OSError, *DAMAGE):
        about = json.loads((gone / ROLES).read_bytes())
        name = str(about.get("name") or ", ".join(about["files"].values()))[:LONGEST_NAME]
    earlier: list[str] = []
    with suppress(OSError, *DAMAGE):
        earlier = list(json.loads(notes.read_bytes()))
    names = json.dumps([name, *earlier][:_MAX_EVICTED])
    write_whole(notes, names.encode("ascii"), PRIVATE_FILE)


def remove_folder(folder: Path) -> None:
    """Remove a set. Its roles go first, so that no half-removed set is left if the rest fails."""
    (folder / ROLES).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)
