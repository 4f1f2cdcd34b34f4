"""Downloads of files that are checked by SHA-256. Failures give clear errors."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from areaviz.trace.errors import BackendError
from areaviz.trace.request import Progress

if TYPE_CHECKING:
    import pooch


def fetch_files(
    folder: Path,
    base_url: str,
    checksums: Mapping[str, str],
    *,
    room: str,
    progress: Progress | None = None,
) -> list[Path]:
    """Fetch files into `folder`.

    Complete files that already exist are not fetched again. A file appears only after its checksum
    was verified.

    Args:
        folder: Destination of the files. Their names may contain folders.
        base_url: Address that precedes the names, with a slash at its end.
        checksums: SHA-256 in hexadecimal by file name.
        room: Disk space that the files need, for the error message if the disk is full.
        progress: Called with the share done, 0..1, and the name of each finished file.

    Raises:
        BackendError: There is no network, a file is missing or unexpected, or the folder is not
            writable. The message says what to do.
    """
    # Imported here, because a machine that downloads nothing needs neither pooch nor requests.
    import pooch

    store = pooch.create(folder, base_url, registry=dict(checksums))
    pooch.get_logger().setLevel("WARNING")
    paths = []
    for number, name in enumerate(checksums, start=1):
        paths.append(_fetch_file(store, name, room))
        if progress:
            progress(number / len(checksums), name)
    return paths


def _fetch_file(store: pooch.Pooch, name: str, room: str) -> Path:
    """Fetch one file. A failure leaves no partial file, and its error says what to do."""
    import requests

    host = urlsplit(store.base_url).hostname
    try:
        return Path(store.fetch(name))
    except requests.HTTPError as error:
        status = "an error" if error.response is None else error.response.status_code
        raise BackendError(
            f"{host} answered {status} for {name}. Try again later, and report it to this"
            " project if it fails again."
        ) from error
    except requests.RequestException as error:
        raise BackendError(
            f"Could not reach {host}. Check the network or the proxy and try again."
        ) from error
    except OSError as error:
        reason = "no space is left" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise BackendError(
            f"Cannot write {store.path / name}: {reason}. Free {room} or choose another"
            " folder with --folder."
        ) from error
    except ValueError as error:
        raise BackendError(
            f"{name} from {host} is not the expected file (its SHA-256 differs) and was not"
            " kept. Try again, and report it to this project if it fails again."
        ) from error
