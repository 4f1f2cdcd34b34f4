"""Limits on the disk space of uploaded datasets. The users who store most lose datasets first.

Users are notified of the removed datasets at their next visit.
"""

from __future__ import annotations

import hmac
import json
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from areaviz.shares.limits import ADDRESS_FACTOR, ALL_KEPT_MEGABYTES, KEPT_MEGABYTES
from areaviz.trace.safe_files import PRIVATE_FILE, write_whole

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
