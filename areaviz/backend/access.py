"""Access tokens: made, read from a file, kept as a digest alone, and compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import re
import secrets
from pathlib import Path

from areaviz.trace.errors import BackendError, InputError

MIN_LENGTH, MAX_LENGTH, MIN_DIFFERENT = 16, 512, 8
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
_ADVICE = "write a new one with: python -m areaviz serve token FILE"


def digest_of(token: str) -> str:
    """SHA-256 in hexadecimal: what is kept of a token where only its bearer has to be known."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def opens(given: str, digest: str) -> bool:
    """Whether a token is the one of that digest; takes as long whatever they share."""
    return hmac.compare_digest(digest_of(given), digest)


def check_token(token: str) -> str:
    """The token, if it is one; InputError where it is short enough to guess or no header could
    carry it.
    """
    if not MIN_LENGTH <= len(token) <= MAX_LENGTH or not _TOKEN.fullmatch(token):
        raise InputError(
            f"An access token has {MIN_LENGTH} to {MAX_LENGTH} letters, digits or any of ._~+/=-"
            f" and no blanks; {_ADVICE}."
        )
    if len(set(token)) < MIN_DIFFERENT:
        raise InputError(
            f"An access token has at least {MIN_DIFFERENT} different characters; {_ADVICE}."
        )
    return token


def read_token(path: Path) -> str:
    """The token that a file holds, without the line break at its end; InputError where there is
    none.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_LENGTH + 3)
    except OSError as error:
        raise InputError(
            f"The token file {path} cannot be read ({error.strerror}); {_ADVICE}."
        ) from error
    return check_token(content.decode("ascii", "replace").rstrip("\r\n"))


def write_token(path: Path) -> None:
    """Write a new random token, 256 bits, to a file that only its owner can read; an existing file
    is left as it is.

    Raises:
        InputError: the file is there already.
        BackendError: it cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise InputError(
            f"{path} is there already and is left as it is; choose another name."
        ) from error
    except OSError as error:
        raise BackendError(
            f"{path} could not be written ({error.strerror}); choose another folder."
        ) from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(32) + "\n")


def is_loopback(host: str | None) -> bool:
    """Whether only this machine reaches what listens at that address; no address at all means every
    one.
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False
