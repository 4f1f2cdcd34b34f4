"""Valid files of every upload format, their readers, and bombs that need much memory."""

from __future__ import annotations

import csv
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import soundfile
from PIL import Image

from areaviz.media.clips import decode_clip
from areaviz.media.pictures import decode_picture
from areaviz.media.sounds import decode_sound
from areaviz.samples.dataset import Dataset
from areaviz.sets.notes import exchange
from areaviz.sets.notes.notes import Annotation
from areaviz.trace import file as codec
from areaviz.trace.areas import AreaGrid
from areaviz.trace.file import open_trace
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.views.ribbon.ribbon import make_ribbon_payload
from tests import fakes
from tests.sets import read_lines, read_table

MEGA = 1 << 20


@dataclass(frozen=True, slots=True)
class Format:
    """A file format.

    Args:
        good: a valid file.
        read: reads a file as the app does, up to what the app shows.
        bombs: small files that need much memory.
    """

    good: bytes
    read: Callable[[bytes], object]
    bombs: Callable[[], Iterable[bytes]] = tuple


def formats() -> Mapping[str, Format]:
    """Return every format by name."""
    pictures = {
        kind: Format(_picture(kind), decode_picture)
        for kind in ("JPEG", "WEBP", "GIF", "BMP", "TIFF")
    }
    notes = {
        f"notes {kind}": Format(exchange.to_bytes(_notes(), kind), partial(_read_notes, kind))
        for kind in exchange.FORMATS
    }
    return {
        "PNG": Format(_picture("PNG"), decode_picture, _png_bombs),
        **pictures,
        "sound WAV": Format(_sound("WAV"), decode_sound),
        "sound FLAC": Format(_sound("FLAC"), decode_sound),
        "clip GIF": Format(_clip("GIF"), decode_clip, _clip_bombs),
        "clip WEBP": Format(_clip("WEBP"), decode_clip),
        "clip PNG": Format(_clip("PNG"), decode_clip),
        "CSV": Format(
            _table(","), lambda data: _used(read_table("a.csv", {"a.csv": data})), _csv_bombs
        ),
        "TSV": Format(_table("\t"), lambda data: _used(read_table("a.tsv", {"a.tsv": data}))),
        "JSON Lines": Format(
            _json_lines(), lambda data: _used(read_table("a.jsonl", {"a.jsonl": data})), _json_bombs
        ),
        "texts": Format(
            _texts(), lambda data: _used(read_lines("a.txt", {"a.txt": data})), _text_bombs
        ),
        "links": Format(b"0-0 1p2\n2-1\n\n", lambda data: _used(_linked(data))),
        "trace npz": Format(
            codec.trace_to_bytes(fakes.trace("A dog runs.", "Ein Hund rennt.", 1, 2)),
            _trace,
            _trace_bombs,
        ),
        "picture trace npz": Format(
            codec.trace_to_bytes(fakes.doubly_trace(grid=2, layers=1, heads=2)), _trace
        ),
        **notes,
        "notes csv": replace(
            notes["notes csv"], bombs=lambda: [b"," * (19 * MEGA), b"a\n" * (9 * MEGA), b'"' * MEGA]
        ),
        "notes jsonl": replace(
            notes["notes jsonl"], bombs=lambda: [b"{}\n" * (6 * MEGA), b"[" * (19 * MEGA)]
        ),
        "notes parquet": replace(notes["notes parquet"], bombs=_parquet_bombs),
    }


def _picture(kind: str) -> bytes:
    y, x = np.mgrid[:40, :56]
    file = io.BytesIO()
    Image.fromarray(np.stack([x * 4, y * 6, x + y], 2).astype(np.uint8)).save(
        file, kind, quality=80
    )
    return file.getvalue()


def _sound(kind: str) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.sin(np.arange(4000) / 9), 8000, format=kind)
    return file.getvalue()


def _clip(kind: str, frames: int = 4, side: int = 24) -> bytes:
    """Return a clip of a square that moves over a grey background."""
    images = []
    for number in range(frames):
        pixels = np.full((side, side, 3), 90, np.uint8)
        pixels[4:9, number % (side - 5) :][:, :5] = 255
        images.append(Image.fromarray(pixels))
    file = io.BytesIO()
    images[0].save(file, kind, save_all=True, append_images=images[1:], duration=80)
    return file.getvalue()


def _clip_bombs() -> list[bytes]:
    """Return clips with many frames, and clips with few but large frames."""
    return [_clip("GIF", 3000), _clip("GIF", 60, 1500)]


def _table(separator: str) -> bytes:
    file = io.StringIO()
    rows = [["id", "source", "target", "links"]]
    rows += [[f"{n}", f'A "small" dog, {n}\nruns', "Ein Hund", "0-0 1p1"] for n in range(6)]
    csv.writer(file, delimiter=separator).writerows(rows)
    return file.getvalue().encode()


def _json_lines() -> bytes:
    rows = [
        {"id": n, "text": f"Zwölf Hunde {n}", "references": ["Twelve dogs", "12 dogs"]}
        for n in range(6)
    ]
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def _texts() -> bytes:
    return "".join(f"Ein kleiner Hund läuft über die Wiese, {n}.\n" for n in range(6)).encode()


def _notes() -> list[Annotation]:
    note = Annotation(
        "d" * 64, 3, "model", "Style", "minor", "=1+1 “so”\nzwei", "Ada", "i0", "2026-01-01", 1
    )
    return [replace(note, id=f"i{number}", example=number) for number in range(6)]


def _used(found: Dataset) -> int:
    """Check every request that has a text, as the page does before it runs a set."""
    asked = [Request("model", one.text).checked() for one in found.examples if one.text.strip()]
    return len(asked) + len(found.digest)


def _linked(data: bytes) -> Dataset:
    text = b"a b c\n" * max(1, data.count(b"\n"))
    return read_lines("a", {"a": text, "links": data}, links="links")


def _read_notes(kind: str, data: bytes) -> int:
    return len(exchange.from_bytes(data, kind))


def _trace(data: bytes) -> object:
    """Read a trace, draw its ribbons, and save it again."""
    trace = open_trace(io.BytesIO(data))
    texts = [site for site, item in trace.maps.items() if trace.fields[item.memory].kind == "text"]
    payloads = [
        make_ribbon_payload(trace, Focus(site))
        for site in texts
        if trace.fields[trace.maps[site].query].kind == "text"
    ]
    return codec.trace_to_bytes(trace), payloads


def _png_bombs() -> Iterator[bytes]:
    """Yield pictures whose headers claim too many pixels, and one that decompresses 400-fold."""

    def png(width: int, height: int, data: bytes, more: bytes = b"") -> bytes:
        header = _chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0))
        return b"\x89PNG\r\n\x1a\n" + header + more + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")

    text = _chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(64 * MEGA)))
    yield png(2**31 - 1, 2**31 - 1, zlib.compress(b""))
    yield png(100_000, 1, zlib.compress(b""))
    yield png(4000, 4000, zlib.compress(bytes(4000 * (1 + 3 * 4000))))
    yield png(8, 8, zlib.compress(bytes(256 * MEGA)))
    yield png(8, 8, zlib.compress(bytes(8 * 25)), text * 4)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _csv_bombs() -> Iterator[bytes]:
    names = ",".join(f"c{number}" for number in range(3_000_000)).encode()
    yield names + b",text\nx\n"
    yield b"," * (40 * MEGA)
    yield b"text\n" + b"a\n" * (10 * MEGA)
    yield b'text\n"' + b"a" * (40 * MEGA)
    yield b"text\n" + b"a," * (20 * MEGA)


def _json_bombs() -> Iterator[bytes]:
    yield b'{"text":"a"}\n' * (2 * MEGA)
    yield b'{"text":' + b"[" * 100_000 + b"\n"
    yield b'{"text":[' + b"[]," * (13 * MEGA) + b"1]}\n"
    yield b'{"text":' + b"9" * MEGA + b"}\n"
    yield b'{"text":1e999,"picture":NaN}\n'
    yield b"\n" * (40 * MEGA)


def _text_bombs() -> Iterator[bytes]:
    yield from (
        b"\n" * (49 * MEGA),
        b"a\n" * (20 * MEGA),
        b"a" * (49 * MEGA),
        "e\u0301\u0301".encode() * MEGA,
    )


def _trace_bombs() -> Iterator[bytes]:
    """Yield traces with highly compressed entries, and with headers that claim too large arrays."""
    good, weights = (
        codec.trace_to_bytes(fakes.trace("A dog.", "Ein Hund.", 1, 1)),
        "map.encoder-decoder.weights.npy",
    )
    huge = np.lib.format.magic(1, 0) + _npy_header((1 << 40,))
    yield repacked(good, {weights: bytes(600 * MEGA)})
    yield repacked(good, {weights: bytes(300 * MEGA)})
    yield repacked(good, {weights: huge})
    yield repacked(good, {"trace.json": b"[" * (7 * MEGA)})
    yield repacked(good, {"trace.json": b'{"a":[' + b"[]," * (2 * MEGA) + b"1]}"})
    yield repacked(good, {weights: _zeros((100_000, 1000, 1, 1), "<f4")})
    yield repacked(good, {weights: _zeros((200, 1000, 1, 1000), "<f2")})
    yield codec.trace_to_bytes(_many_heads())
    yield repacked(good, {f"{number}.npy": huge for number in range(3000)})


def _zeros(shape: tuple[int, ...], kind: str) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.zeros(shape, kind), version=(1, 0))
    return file.getvalue()


def _many_heads() -> Trace:
    """Return a trace with as many heads and queries as allowed, over a memory of one item."""
    trace = fakes.trace("a" * 20_000, "b", 1, 1, 1)
    attention = replace(trace.maps["encoder-decoder"], query="source", memory="target")
    grid = AreaGrid(1, 1, 1, 1)
    maps = {
        "encoder-decoder": replace(
            attention, grid=grid, weights=np.zeros((1, 1024, 20_000, 1), np.float32)
        )
    }
    return replace(trace, maps=maps)


def _npy_header(shape: tuple[int, ...]) -> bytes:
    text = (
        repr({"descr": "<f4", "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    )
    return struct.pack("<H", len(text)) + text


def repacked(archive: bytes, changed: Mapping[str, bytes]) -> bytes:
    """Return a zip archive with some entries replaced or added, and with correct checksums."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(archive)) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        entries = {name: old.read(name) for name in old.namelist()}
        for name, content in {**entries, **changed}.items():
            new.writestr(
                zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED
            )  # keeps the current time out of the archive
    return buffer.getvalue()


def _parquet_bombs() -> Iterator[bytes]:
    """Return tables of few long values, which take almost no space in the file."""
    columns = exchange.to_bytes(_notes()[:1], "parquet")
    table = parquet.read_table(io.BytesIO(columns))
    many = pa.table(
        {
            name: pa.DictionaryArray.from_arrays(
                pa.array([0] * (8 * MEGA), pa.int32()), table[name].combine_chunks()
            )
            for name in table.column_names
        }
    )
    long = {name: table[name].combine_chunks() for name in table.column_names}
    long["note"] = pa.array(["x" * (16 * MEGA)])
    few = pa.table(
        {
            name: pa.DictionaryArray.from_arrays(pa.array([0] * 300, pa.int32()), value)
            for name, value in long.items()
        }
    )
    yield from (_parquet(many), _parquet(few))


def _parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()
