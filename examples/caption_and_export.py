"""Describe a picture in words, and export what the model attended to as a page and as a film.

python examples/caption_and_export.py [PICTURE]    # writes caption.html and caption.gif
"""

from __future__ import annotations

import sys
from pathlib import Path

import areaviz
from areaviz.backend.local import LocalBackend
from areaviz.media.pictures import decode_picture
from areaviz.samples.own_media import get_picture_sample
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.request import Request


def main(folder: Path, file: Path | None = None) -> None:
    """Write `caption.html` and `caption.gif` into a folder.

    The picture is a file or a sample of the app.
    """
    picture = decode_picture(file.read_bytes()).picture if file else get_picture_sample("scene-34")
    model = "photo-captions-area" if file else "scene-captions-boundary"
    backend = LocalBackend(CHECKPOINTS)
    trace = backend.trace(Request(model, "", picture=picture))
    print(trace.fields["target"].raw)
    for name in ("caption.html", "caption.gif"):
        print(areaviz.export(trace, folder / name))


if __name__ == "__main__":
    main(Path(), Path(sys.argv[1]) if len(sys.argv) > 1 else None)
