"""docs/trace.md agrees with the code: its field tables, its examples and its numbers."""

from __future__ import annotations

import doctest
import re
import zipfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from areaviz.trace import errors, file, kinds, record, request
from areaviz.trace import request as link
from areaviz.trace.areas import AreaGrid
from areaviz.trace.derived import AS_AREAS, AreaSoftmax
from tests import fakes

DOCUMENT = Path(__file__).parents[2] / "docs" / "trace.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")


def section(title: str) -> str:
    """Return the text below a heading, up to the next heading."""
    return TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]


def table(text: str, number: int = 0) -> list[list[str]]:
    """Return the cells of a table without its header row and without backticks."""
    tables = re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    rows = tables[number].strip().splitlines()[2:]
    return [[cell.strip().replace("`", "") for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.parametrize(
    "kind",
    [record.Trace, request.Request, record.Field, record.Output, record.Gaze, record.AttentionMap],
    ids=lambda kind: kind.__name__,
)
def test_every_field_is_specified_in_order(kind: type) -> None:
    assert [row[0] for row in table(section(kind.__name__))] == [
        field.name for field in fields(kind)
    ]


def test_documented_version_matches_code() -> None:
    assert re.findall(r"This is version (\d+) of the record", TEXT) == [str(record.VERSION)]


def test_documented_limits_match_code() -> None:
    for limit in (
        f"at most {errors.MAX_CODE_POINTS:,} characters",
        f"more than {errors.MAX_COMBINING_MARKS} combining marks",
        "width of the beam, {} to {}".format(*errors.BEAMS),
        "largest area in items, {} to {}".format(*errors.AREA_SIZES),
        "for models that sample, {} to {}".format(*errors.SEEDS),
        f"within {record.TOLERANCE:g}",
        f"more than {file.MAX_BYTES // 2**20} MiB",
        f"than {file.MAX_DOCUMENT_BYTES // 2**20} MiB",
    ):
        assert limit in " ".join(TEXT.split())
    assert all(f'"{choice}"' in TEXT for choice in (*errors.METHODS, *errors.UNITS, *kinds.KINDS))


def test_documented_area_order_matches_code() -> None:
    grid, rows = AreaGrid(1, 4, 1, 3), table(section("Order of the areas"))
    assert [[int(cell) for cell in row[:5]] for row in rows] == [
        [index, *area] for index, area in enumerate(grid.table().tolist())
    ]
    assert [row[5] for row in rows] == [
        " ".join(str(item) for item in range(left, left + width))
        for _, left, _, width in grid.table().tolist()
    ]


def test_documented_examples_compute() -> None:
    results = doctest.testfile(str(DOCUMENT), module_relative=False, encoding="utf-8")
    assert results.attempted >= 12 and results.failed == 0


def test_documented_history_example_matches_traces() -> None:
    trace = fakes.trace(target="ja")
    target, history = trace.fields["target"], trace.fields["history"]
    assert table(section("Field"), 1) == [
        [str(place), target.labels[place], history.labels[place], f"{start}, {end}"]
        for place, (start, end) in enumerate(history.anchors.tolist())
    ]


def test_documented_link_table_matches_links() -> None:
    rows = table(section("Links"))
    asked, focus = link.from_params({name: example for name, example, _ in rows})
    named = link.get_picture_name({name: example for name, example, _ in rows})
    known = {name: example for name, example, _ in rows}
    asked = replace(asked, picture=fakes.picture(named or ""), sound=fakes.sound(known["sound"]))
    asked = replace(asked, clip=fakes.clip(known["clip"]))
    assert link.to_params(asked, focus) == {name: example for name, example, _ in rows}
    for _, _, restores in rows:
        owner, name = re.findall(r"(Request|Focus)\.(\w+)", restores)[0]
        default = getattr(
            request.Request("", "") if owner == "Request" else request.Focus(""), name
        )
        assert getattr(asked if owner == "Request" else focus, name) != default


def test_documented_file_entries_match_files(tmp_path: Path) -> None:
    hard, gaze = fakes.caption_trace(hard=True), fakes.gaze_trace()
    attention = hard.maps["encoder-decoder"]
    strong = replace(attention, strength=attention.weights.max(3))
    hard = replace(hard, maps={**hard.maps, "encoder-decoder": strong})
    within = hard.maps["encoder self"]
    logs: Any = np.zeros(within.weights.shape[:3] + (within.grid.items,), np.float16)
    areas: Any = AreaSoftmax(logs, within.grid)
    site = within.site + AS_AREAS
    hard = replace(hard, maps={**hard.maps, site: replace(within, site=site, weights=areas)})
    asked = replace(hard.request, sound=fakes.sound(), clip=fakes.clip())
    gazes = {"glimpses": replace(gaze.gazes["glimpses"], query="looks")}
    trace = replace(hard, request=asked, gazes=gazes)
    file.save(trace, tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        written = set(archive.namelist())
    names = {
        "map.SITE.chosen": ["encoder-decoder"],
        "map.SITE.strength": ["encoder-decoder"],
        "map.SITE.logs": ["encoder self"],
        "map.SITE": [name for name in trace.maps if name != site],
        "gaze.SITE": list(trace.gazes),
    }
    names |= {"field.NAME": list(trace.fields), "": [""]}
    specified = set()
    for entry in ", ".join(row[0] for row in table(section("The file"))).split(", "):
        pattern = next(key for key in names if key in entry)
        own = "SITE" if "SITE" in pattern else "NAME"
        specified |= {entry.replace(own, name) if pattern else entry for name in names[pattern]}
    assert written == specified
