"""The models of a release. A wheel contains the small ones, and the digests of all of them."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from areaviz.data.downloads import fetch_files
from areaviz.data.paths import BUNDLE, CHECKPOINTS, IS_CLONE, MODEL_DIGESTS
from areaviz.texts.catalogue import message
from areaviz.trace.errors import BackendError, InputError, shorten
from areaviz.trace.request import Progress
from areaviz.trace.safe_files import write_whole_file

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
