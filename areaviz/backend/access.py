"""Access control for an app or a model server: access tokens, and the app's two cookies.

The program reads a token from a file. It keeps only the digest if that is enough, and compares in
constant time. One cookie holds the user's id, and the other one proves that the browser sent the
token. The gateway in front of the app sets both, and the pages read them. All ports of a host share
cookies, so both names contain the port.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import re
import secrets
import time
from pathlib import Path

from areaviz.trace.errors import BackendError, InputError

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
EVERY_ADDRESS = ("0.0.0.0", "::")

MIN_LENGTH, MAX_LENGTH, MIN_DIFFERENT = 16, 512, 8
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
_ADVICE = "Write a new one with: python -m areaviz serve token FILE"

# Environment variable with the key of admission (`make_admission_key`). Empty if no token is
# needed.
KEY_SETTING = "AREAVIZ_ADMISSION_KEY"

ADMITTED_DAYS, READER_DAYS = 30, 400
_DAY = 24 * 60 * 60
_READER = re.compile(r"[0-9a-f]{32}")


def is_loopback(host: str | None) -> bool:
    """Return whether an address is reachable only from this machine. None means every address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def make_local_address(host: str, port: int) -> str:
    """Return the local URL of a server that listens at a host and port."""
    host = "127.0.0.1" if host in EVERY_ADDRESS else host
    return f"http://{bracket_host(host)}:{port}"


def bracket_host(host: str) -> str:
    """Return a host as it appears in a URL, with brackets around an IPv6 address."""
    return f"[{host}]" if ":" in host else host


def compute_digest(token: str) -> str:
    """Return the SHA-256 of a token, which recognises it without storing it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def is_token(given: str, digest: str) -> bool:
    """Return whether a digest belongs to this token, in constant time."""
    return hmac.compare_digest(compute_digest(given), digest)


def check_token(token: str) -> str:
    """Return the token if it is strong enough.

    Raises:
        InputError: if the token can be guessed, or cannot be sent in a header.
    """
    if not MIN_LENGTH <= len(token) <= MAX_LENGTH or not _TOKEN.fullmatch(token):
        raise InputError(
            f"An access token has {MIN_LENGTH} to {MAX_LENGTH} letters, digits or any of ._~+/=-"
            f" and no spaces. {_ADVICE}."
        )
    if len(set(token)) < MIN_DIFFERENT:
        raise InputError(
            f"An access token has at least {MIN_DIFFERENT} different characters. {_ADVICE}."
        )
    return token


def read_token(path: Path) -> str:
    """Return the token in a file, without the line break at its end.

    Raises:
        InputError: if the file contains no valid token.
    """
    try:
        with path.open("rb") as file:
            # One character more than allowed and a line break are read, to detect a token that is
            # too long.
            content = file.read(MAX_LENGTH + 3)
    except OSError as error:
        raise InputError(
            f"The token file {path} cannot be read ({error.strerror}). {_ADVICE}."
        ) from error
    return check_token(content.decode("ascii", "replace").rstrip("\r\n"))


def write_token(path: Path) -> None:
    """Write a random token of 256 bits to a new file that only its owner can read.

    Raises:
        InputError: if the file exists. It is not changed.
        BackendError: if the file cannot be written.
    """
    try:
        # The file is private from its first byte. With a later `chmod`, other users could read it
        # briefly.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise InputError(
            f"{path} exists already and was not changed. Choose another name."
        ) from error
    except OSError as error:
        raise BackendError(
            f"{path} could not be written ({error.strerror}). Choose another folder."
        ) from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(32) + "\n")


def name_reader_cookie(port: int) -> str:
    """Return the name of the cookie that holds the user's id."""
    return f"areaviz_reader_{port}"


def make_reader_id() -> str:
    """Return the id of a new user: 32 random hexadecimal digits."""
    return secrets.token_hex(16)


def is_reader(value: str) -> bool:
    """Return whether a value has the form of a user's id."""
    return _READER.fullmatch(value) is not None


def name_admission_cookie(port: int) -> str:
    """Return the name of the cookie that proves admission."""
    return f"areaviz_admission_{port}"


def make_admission_key(token: str) -> str:
    """Return the key that signs admissions, in hexadecimal. A new token revokes all admissions."""
    secret = token.encode("utf-8", "surrogatepass")
    return hmac.new(secret, b"areaviz admission", hashlib.sha256).hexdigest()


def make_admission(key: str, now: float | None = None) -> str:
    """Return the cookie value for a user admitted now: the time in seconds and its signature.

    The app therefore stores nothing, and users stay admitted after a restart.
    """
    second = str(int(time.time() if now is None else now))
    return f"{second}.{_sign(key, second)}"


def is_admission(value: str, key: str, now: float | None = None) -> bool:
    """Return whether the key signed this value at most `ADMITTED_DAYS` ago."""
    second, _, signature = value.partition(".")
    if not second.isascii() or not second.isdigit() or len(second) > 12:
        return False
    genuine = hmac.compare_digest(signature.encode(), _sign(key, second).encode())
    age = (time.time() if now is None else now) - int(second)
    return genuine and age <= ADMITTED_DAYS * _DAY


def set_cookie(name: str, value: str, days: int, secure: bool, framed: bool, base: str = "") -> str:
    """Return the header that sets a cookie which scripts cannot read.

    Args:
        name: name of the cookie.
        value: value of the cookie.
        days: lifetime in the browser.
        secure: whether the browser uses https.
        framed: whether other websites may show the app in a frame.
        base: the base path of the app, "" for none.
    """
    site = "SameSite=Lax"
    if framed:
        site = "SameSite=None; Secure"
    elif secure:
        site += "; Secure"
    return f"{name}={value}; Path={base or '/'}; Max-Age={days * _DAY}; HttpOnly; {site}"


def _sign(key: str, second: str) -> str:
    return hmac.new(bytes.fromhex(key), second.encode(), hashlib.sha256).hexdigest()
