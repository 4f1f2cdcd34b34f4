"""Locations of files: the app's folders, checked downloads, and the models of a release.

Other modules take their paths from the first section.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from areaviz.texts.catalogue import message
from areaviz.trace.errors import BackendError, InputError, shorten
from areaviz.trace.request import Progress
from areaviz.trace.safe_files import write_whole_file

if TYPE_CHECKING:
    import pooch


# The locations of all files: the app and its pages, configuration, models, samples and corpora.
#
# In a clone of the repository the files are next to the package. A wheel contains the app, its
# samples and the small models inside the package, where `setup.py` puts them.


_PACKAGE = Path(__file__).resolve().parents[1]
BUNDLE = _PACKAGE / "bundle"
"""Folder in an installed package with the files that a clone has next to the package."""

IS_CLONE = (_PACKAGE.parent / "app.py").exists() and not BUNDLE.exists()
ROOT = _PACKAGE.parent if IS_CLONE else BUNDLE
"""The clone of the repository, or the bundle, which contains all paths below."""

APP, PAGES = ROOT / "app.py", ROOT / "pages"
CONFIGURATION = ROOT / ".streamlit"
"""Streamlit's configuration. Streamlit searches the working directory, so the app is started in
`ROOT`.
"""
CHECKPOINTS, ASSETS = ROOT / "checkpoints", ROOT / "assets"
HOME, HERO, OPENINGS = ASSETS / "home.npz", ASSETS / "hero.npz", ASSETS / "openings"
LOOKS, CARDS, ANALYSIS = OPENINGS / "looks.json", ASSETS / "cards", ASSETS / "analysis"
"""The stored files that the pages first show, in the order of the names above: a translation's
trace for the gallery, the trace of Home, the traces of the other pages (see
`areaviz.backend.backend`), the list of their default views, the pictures of Home, and the rows of
Analyse (see `areaviz.sets.run`).

The command `areaviz openings` writes them.
"""
README = ROOT / "README.md"
FINDINGS, RESULTS = ROOT / "docs" / "findings.md", ROOT / "docs" / "results.md"
FORMS = CHECKPOINTS / "tables"
"""Folder of the tables of trained area keys. See `areaviz.app.key_forms`."""

MODEL_DIGESTS = CHECKPOINTS / "models.sha256"
"""List of digests in a bundle: one for every file of every model of the release, including models
that are not bundled.
"""

CHECKPOINTS_SETTING, DATA_SETTING = "AREAVIZ_CHECKPOINTS", "AREAVIZ_DATA"
FOLDERS_SETTING = "AREAVIZ_MODELS"
"""Setting with the external models that the app shows next to its own. Their paths are separated by
the system's path separator.
"""


def find_checkpoints_folder() -> Path:
    """Return the folder of the models.

    The environment variable AREAVIZ_CHECKPOINTS comes first, then the folder of fetched models,
    then the models that came with the package.
    """
    chosen = os.environ.get(CHECKPOINTS_SETTING)
    if chosen:
        return Path(chosen).expanduser()
    # Without platformdirs, the folder of fetched models is unknown, so none can have been fetched.
    if IS_CLONE or find_spec("platformdirs") is None:
        return CHECKPOINTS
    fetched = find_fetched_models_folder()
    return fetched if fetched.exists() else CHECKPOINTS


def list_external_model_folders() -> tuple[str, ...]:
    """Return the folders of external models: AREAVIZ_MODELS, which `serve --model` sets."""
    given = os.environ.get(FOLDERS_SETTING, "").split(os.pathsep)
    return tuple(place for place in given if place)


def find_fetched_models_folder() -> Path:
    """Return the default folder of `areaviz data get models`."""
    return own_folder("checkpoints")


def find_data_folder() -> Path:
    """Return the folder of the corpora: AREAVIZ_DATA, or data/ in the working directory."""
    return Path(os.environ.get(DATA_SETTING) or "data").expanduser()


def own_folder(name: str) -> Path:
    """Return a folder that the app writes to.

    For a clone it is in the working directory. Otherwise it is in the user's application data,
    because the folder of a package is not writable.
    """
    if IS_CLONE:
        return Path(name)
    # Imported here, because a clone does not need platformdirs.
    from platformdirs import user_data_path

    return user_data_path("areaviz", appauthor=False) / name


# Downloads of files that are checked by SHA-256. Failures give clear errors.


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


# The models of a release. A wheel contains the small ones, and the digests of all of them.


MODELS_SETTING, ROOM = "AREAVIZ_MODELS_ADDRESS", "150 MB"
CARD = "/card.json"


def get_models(folder: Path, address: str, progress: Progress | None = None) -> list[str]:
    """Put every model of this release into `folder`, and return their names.

    Models that came with the package are copied. The others are fetched from `address`, a folder of
    models such as a clone's `checkpoints`. Complete files are kept.

    Raises:
        InputError: This is a clone, which has all models, or the address is not set.
        BackendError: A file is not available, or does not belong to this release.
    """
    if IS_CLONE:
        raise InputError(
            f"This clone of the repository already has all models. They are in {CHECKPOINTS}."
        )
    if not address.startswith(("http://", "https://")):
        raise InputError(
            f"Set {MODELS_SETTING} to the address of the models of this release, such as"
            " https://example.org/areaviz/checkpoints, and run this again."
        )
    digests = read_digests(MODEL_DIGESTS)
    _copy_whole(BUNDLE / "checkpoints", folder, digests)
    fetch_files(folder, address.rstrip("/") + "/", digests, room=ROOM, progress=progress)
    # Files that several models share are in a folder without a card.
    return sorted(name.removesuffix(CARD) for name in digests if name.endswith(CARD))


def to_get_models() -> str:
    """Return instructions for getting the missing models, as the end of a sentence."""
    if IS_CLONE:
        return message("restore the folder from the repository")
    return message(
        "fetch the models of this release: set AREAVIZ_MODELS_ADDRESS, then areaviz data get models"
    )


def check_model_name(name: str, known: Collection[str]) -> str:
    """Return the name if it is one of the available models.

    Raises:
        InputError: The model is not available. The message says how to get it if it is a model of
            this release, or if no model is available.
    """
    if name in known:
        return name
    released = {} if IS_CLONE else read_digests(MODEL_DIGESTS)
    if not known or f"{name}{CARD}" in released:
        raise InputError(f'The model "{shorten(name)}" is not here. To get it, {to_get_models()}.')
    raise InputError(f'Model "{shorten(name)}" does not exist. Choose one of: {", ".join(known)}.')


def read_digests(path: Path) -> dict[str, str]:
    """Read a list of digests: file name -> SHA-256.

    Raises:
        BackendError: The package lacks the list.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise BackendError(f"{path} is missing. Install areaviz again.") from error
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


def _copy_whole(source: Path, folder: Path, digests: Mapping[str, str]) -> None:
    """Copy the files that the package has, so that only the rest is fetched."""
    try:
        for name in digests:
            here, there = source / name, folder / name
            if here.exists() and not there.exists():
                there.parent.mkdir(parents=True, exist_ok=True)
                with write_whole_file(there) as draft:
                    shutil.copyfile(here, draft)
    except OSError as error:
        raise BackendError(
            f"Cannot write to {folder}: {error.strerror or error}. Free {ROOM} or choose"
            " another folder with --folder."
        ) from error
