"""The two cookies of the app: who is reading, and who was admitted with the access token.

The door in front of the app sets them; the pages read them. Both names have the port in them,
because cookies of one host are shared by all its ports.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time

SETTING = "AREAVIZ_ADMISSION_KEY"
"""Environment variable: the key of admission, as `admission_key` makes it; empty or absent where no
token is wanted.
"""

ADMITTED_DAYS, READER_DAYS = 30, 400
_DAY = 24 * 60 * 60
_READER = re.compile(r"[0-9a-f]{32}")


def reader_cookie(port: int) -> str:
    """The name of the cookie that holds the reader's id."""
    return f"areaviz_reader_{port}"


def new_reader() -> str:
    """A new reader's id: 32 hexadecimal digits, by chance."""
    return secrets.token_hex(16)


def is_reader(value: str) -> bool:
    """Whether this can be a reader's id."""
    return _READER.fullmatch(value) is not None


def admission_cookie(port: int) -> str:
    """The name of the cookie that shows admission."""
    return f"areaviz_admission_{port}"


def admission_key(token: str) -> str:
    """The key that signs admissions, in hexadecimal; another token has another key, so it ends all
    admissions.
    """
    return hmac.new(
        token.encode("utf-8", "surrogatepass"), b"areaviz admission", hashlib.sha256
    ).hexdigest()


def admission(key: str, now: float | None = None) -> str:
    """The value of the cookie for somebody who is admitted now: the second, and its signature."""
    second = str(int(time.time() if now is None else now))
    return f"{second}.{_signature(key, second)}"


def is_admission(value: str, key: str, now: float | None = None) -> bool:
    """Whether that key made the value, not more than `ADMITTED_DAYS` ago."""
    second, _, signature = value.partition(".")
    if not second.isascii() or not second.isdigit() or len(second) > 12:
        return False
    genuine = hmac.compare_digest(signature.encode(), _signature(key, second).encode())
    age = (time.time() if now is None else now) - int(second)
    return genuine and age <= ADMITTED_DAYS * _DAY


def set_cookie(name: str, value: str, days: int, secure: bool, framed: bool) -> str:
    """The header that sets a cookie which no script reads; framed: whether pages of others may hold
    the app.
    """
    site = "None; Secure" if framed else "Lax; Secure" if secure else "Lax"
    return f"{name}={value}; Path=/; Max-Age={days * _DAY}; HttpOnly; SameSite={site}"


def _signature(key: str, second: str) -> str:
    return hmac.new(bytes.fromhex(key), second.encode(), hashlib.sha256).hexdigest()
