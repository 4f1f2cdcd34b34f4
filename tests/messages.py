"""Read the messages that components get in the browser."""

from __future__ import annotations

import json
from typing import Any


def header_of(message: bytes) -> dict[str, Any]:
    """Return the plain values of a message that `message.serialise_message` made."""
    size = int.from_bytes(message[:4], "little")
    found: dict[str, Any] = json.loads(message[4 : 4 + size])
    return found
