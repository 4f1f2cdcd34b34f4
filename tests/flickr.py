"""A corpus in the layout of Flickr8k, made of shape scenes.

It replaces photos that may not be part of a repository.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

from PIL import Image

from areaviz.samples.scenes import make_scene

SPLITS = {"train": 12, "val": 4, "test": 4}


def write(data: Path) -> Path:
    """Write photos, captions and boxes below `data` in the corpus's layout, and return `data`."""
    folder = data / "images_flickr8k"
    folder.mkdir(parents=True)
    captions, boxes, first = [], [], 0
    for split, count in SPLITS.items():
        with tarfile.open(folder / f"images_{split}.tar", "w") as archive:
            for number in range(first, first + count):
                name = f"{number:04}.jpg"
                _add(archive, name, number)
                captions.append(_caption(name, split, number))
                boxes.append(_boxes(name, number))
        first += count
    for file, rows in (("captions", captions), ("boxes", boxes)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{file}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return data


def _add(archive: tarfile.TarFile, name: str, number: int) -> None:
    content = io.BytesIO()
    Image.fromarray(make_scene("samples", number).pixels(64)).save(content, "JPEG")
    entry = tarfile.TarInfo(name)
    entry.size = content.tell()
    content.seek(0)
    archive.addfile(entry, content)


def _caption(name: str, split: str, number: int) -> dict[str, object]:
    scene = make_scene("samples", number)
    english, german = scene.english.text + " .", scene.german.text + " ."
    texts = [english.capitalize(), *sorted(scene.list_true_sentences())]
    pair = {"en": english, "de": german} if number % 2 else None
    return {
        "file": name,
        "split_joint": split,
        "en": (texts * 5)[:5],
        "m30k": pair,
        "de": [german] * 5,
    }


def _boxes(name: str, number: int) -> dict[str, object]:
    """Return the box of the first object as chain 7. The rest of the sentence has no boxes."""
    scene = make_scene("samples", number)
    sentence = {"text": scene.english.text.capitalize() + " .", "phrases": [[0, 4, 7, "other"]]}
    return {"file": name, "boxes": [[7, *scene.objects[0].box]], "sents": [sentence] * 5}
