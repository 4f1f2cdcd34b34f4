"""What ribbon and grid send to the browser: a header of plain values and arrays, as one message."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.drawing.select import NAMES
from areaviz.trace.query import words
from areaviz.trace.record import Field, FloatArray, IntArray

Arrays = Mapping[str, npt.NDArray[Any]]


def payload(header: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Header and arrays; `header["id"]` changes with the content of both."""
    digest = hashlib.sha256(pack(header, arrays)).hexdigest()[:16]
    return {"header": {"id": digest, **header}, "arrays": arrays}


def packed(made: Mapping[str, Any], **more: object) -> bytes:
    """A payload and a few more header entries as the bytes that travel."""
    return pack({**made["header"], **more}, made["arrays"])


def title(field: Field) -> str:
    """What a field is called above its items."""
    return NAMES.get(field.name, field.name).capitalize()


def text_arrays(field: Field) -> dict[str, npt.NDArray[Any]]:
    """Of a text `start` and `end` of every item in characters, and `word`, the first item of every
    word.
    """
    firsts = np.array([start for start, _ in words(field)], dtype=np.int64)
    columns = {"start": field.anchors[:, 0], "end": field.anchors[:, 1], "word": firsts}
    return {
        name: narrow(values, max(len(field.raw), len(field)) + 1)
        for name, values in columns.items()
    }


def quantised(values: FloatArray, dtype: type[np.unsignedinteger[Any]]) -> npt.NDArray[Any]:
    """Weights 0..1 as unsigned integers on a square-root scale: value = (stored / largest)^2.

    The scale keeps small weights apart: 8 bits are exact to 0.8 points near 1 and to 0.04 points
    near 0.01.
    """
    top = np.iinfo(dtype).max
    stored: npt.NDArray[Any] = np.rint(np.sqrt(np.clip(values, 0, 1)) * top).astype(dtype)
    return stored


def narrow(values: IntArray, largest: int) -> npt.NDArray[Any]:
    """Whole numbers in the fewest bytes the browser has an array for: 2, or 4 where `largest` needs
    them.
    """
    return values.astype(np.uint16 if largest < 1 << 16 else np.uint32)


def pack(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """One message for the browser: header length (uint32), header (JSON), then the arrays, each
    8-byte aligned.

    The header gains `arrays`: name -> [bytes an element, offset from the end of the header,
    elements]. Everything is little-endian and unsigned.
    """
    places: dict[str, list[int]] = {}
    chunks: list[bytes] = []
    offset = 0
    for name, values in arrays.items():
        places[name] = [values.itemsize, offset, values.size]
        chunks.append(_aligned(values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()))
        offset += len(chunks[-1])
    text = json.dumps({**header, "arrays": places}, ensure_ascii=False, separators=(",", ":"))
    head = text.encode("utf-8", "replace")  # a lone surrogate stays one character, so offsets hold
    head += b" " * (-(len(head) + 4) % 8)
    return b"".join([len(head).to_bytes(4, "little"), head, *chunks])


def _aligned(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)
