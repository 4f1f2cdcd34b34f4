"""Inputs of `benchmarks/themes.py`: outputs of shipped models for Multi30k and drawn scenes."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image
from sacrebleu.metrics.chrf import CHRF

from areaviz.samples.scenes import Scene, make_scenes
from areaviz.sets.themes.conditions import Material, Score, Written
from areaviz.sets.themes.themes import OF_THE_MODEL
from benchmarks.theme_plants import made_metadata

TRANSLATORS = ("token-boundary", "recurrent-additive")
CAPTIONERS = ("scene-captions-boundary", "scene-captions-regular")
# Titles of chrF, and of a score that is 1 if a caption is true of its scene.
CHRF_TITLE, TRUE_TITLE = "chrF", "true"
Table = Mapping[str, Sequence[str]]
_CHRF = CHRF()


def prepare(folder: Path) -> None:
    """Draw the scenes, and run the models with `areaviz analyse`, unless that is done already."""
    scenes = folder / "scenes"
    if not (scenes / "scenes.jsonl").exists():
        scenes.mkdir(exist_ok=True)
        lines = []
        for scene in make_scenes("test"):
            name = f"scene-{scene.number}.png"
            Image.fromarray(scene.pixels()).save(scenes / name)
            sentences = list(scene.list_true_sentences())
            lines.append(json.dumps({"picture": name, "references": sentences}))
        (scenes / "scenes.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    for model in TRANSLATORS:
        texts = [str(folder / "val.en"), "--reference", str(folder / "val.de")]
        _analyse(texts, model, folder / f"{model}.val.csv")
    for model in CAPTIONERS:
        _analyse([str(scenes)], model, folder / f"{model}.scenes.csv")


def _analyse(arguments: Sequence[str], model: str, table: Path) -> None:
    if not table.exists():
        command = [sys.executable, "-m", "areaviz", "analyse", *arguments, "--model", model]
        subprocess.run([*command, "--table", str(table)], check=True)


def translations(folder: Path, rng: np.random.Generator) -> Material:
    """Return the translations of both models with chrF and random metadata."""
    tables = [_read(folder / f"{model}.val.csv") for model in TRANSLATORS]
    references = tuple((text,) for text in tables[0]["reference"])
    sources = tuple(tables[0]["text"])
    written = tuple(_written(table, CHRF_TITLE, references) for table in tables)
    metadata = made_metadata(len(sources), rng)
    places, files = tuple(range(len(sources))), ("",) * len(sources)
    return Material(places, sources, references, files, written, metadata)


def captions(folder: Path) -> Material:
    """Return the captions of both models, whether each is true, and the content of each scene."""
    tables = [_read(folder / f"{model}.scenes.csv") for model in CAPTIONERS]
    scenes = make_scenes("test")
    references = tuple(tuple(scene.list_true_sentences()) for scene in scenes)
    written = tuple(_written(table, TRUE_TITLE, references) for table in tables)
    places, sources = tuple(range(len(scenes))), ("",) * len(scenes)
    metadata = _what_is_there(scenes)
    return Material(places, sources, references, tuple(tables[0]["file"]), written, metadata)


def _what_is_there(scenes: Sequence[Scene]) -> Mapping[str, tuple[str, ...]]:
    columns: dict[str, list[str]] = {}
    for scene in scenes:
        second = scene.objects[1] if len(scene.objects) > 1 else None
        cells = {"objects": str(len(scene.objects)), "relation": scene.relation or "none"}
        for number, thing in (("first", scene.objects[0]), ("second", second)):
            cells[f"{number} size"] = thing.size if thing else "none"
            cells[f"{number} shape"] = thing.shape if thing else "none"
            cells[f"{number} colour"] = thing.colour if thing else "none"
        for name, cell in cells.items():
            columns.setdefault(name, []).append(cell)
    return {name: tuple(cells) for name, cells in columns.items()}


def score(title: str, outputs: Sequence[str], references: Sequence[tuple[str, ...]]) -> Score:
    """Return chrF, or for captions whether each is one of the true sentences."""
    pairs = list(zip(outputs, references, strict=True))
    if title == CHRF_TITLE:
        values = [_CHRF.sentence_score(output, list(given)).score for output, given in pairs]
    else:
        values = [float(output in given) for output, given in pairs]
    return Score(title, np.array(values))


def _read(path: Path) -> Table:
    """Return the columns of a table that `areaviz analyse` wrote."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def _written(table: Table, title: str, references: Sequence[tuple[str, ...]]) -> Written:
    outputs = table["output_0"]
    measures = {}
    for name in OF_THE_MODEL:
        if f"{name}_0" in table:
            measures[name] = np.array([float(cell or "nan") for cell in table[f"{name}_0"]])
    return Written(tuple(outputs), (score(title, outputs, references),), measures)
