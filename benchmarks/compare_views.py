"""Compare the figures of all views before and after a change of the code that draws them.

    python -m benchmarks.compare_views store FOLDER
    python -m benchmarks.compare_views compare FOLDER [VIEW ...]

Run the first command before the change. It draws every view on many traces and stores the figures.
Run the second after the change. It draws the figures again, compares prints pixel by pixel, and
screen figures field by field, with the texts that are shown on hovering. It prints a line per view,
and every field that differs. Figures do not depend on the theme of a page
(`areaviz/draw/theme.py`), so one comparison is enough for all themes.
"""

from __future__ import annotations

import io
import pickle
import re
import sys
from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from areaviz.draw.select import CANVAS, list_sites
from areaviz.draw.view import View
from areaviz.trace import file
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.views import VIEWS

OPENINGS = Path("assets/openings")
MOST = 24
"""Maximum number of figures of a view."""
CLOSE = 1e-5
"""Largest relative difference of two numbers that count as equal."""
DPI = 100
DEFAULTS: dict[str, object] = {
    "x0": 0,
    "y0": 0,
    "dx": 1,
    "dy": 1,
    "opacity": 1,
    "xgap": 0,
    "ygap": 0,
}
DEFAULTS |= {"symbol": "circle", "orientation": "v", "dash": "solid"}
"""Values that Plotly uses for missing fields."""
_VALUE = re.compile(r"%\{(\w+)(?::([^}]+))?\}")
_HOVER = ("hovertemplate", "hovertext", "text", "customdata")


@dataclass(frozen=True)
class Drawn:
    """A view on a trace: the screen figure as a dictionary, and the print as pixels."""

    screen: dict[str, Any]
    print: np.ndarray


def foci(trace: Trace, site: str) -> Iterator[Focus]:
    """Yield different foci of a site."""
    plain = Focus(site)
    yield plain
    if site not in trace.maps:
        yield replace(plain, items=(1,))
        return
    attention = trace.maps[site]
    last = replace(plain, layer=attention.layers - 1)
    yield replace(last, head=attention.heads - 1, items=(0, 2))
    yield replace(last, side="memory", items=(1,))
    yield replace(plain, unit="word", items=(3,))
    yield replace(plain, against="average")
    yield replace(plain, areas="several", reading="densest")


def cases() -> Iterator[tuple[str, View, Trace, Focus]]:
    """Yield a name, a view, a trace and a focus for every figure to compare."""
    counted = Counter[tuple[str, int]]()
    for path in sorted(OPENINGS.glob("*.npz")):
        trace = file.load(path)
        # Take the foci of all traces alternately, so that the maximum of `MOST` figures does not
        # leave out any kind of focus.
        for site in list_sites(trace):
            if site == CANVAS:
                continue
            for number, focus in enumerate(foci(trace, site)):
                for view in VIEWS.values():
                    if view.fits(trace, focus) and counted[view.name, number] * 6 < MOST:
                        counted[view.name, number] += 1
                        yield f"{view.name} {path.stem} {site} {number}", view, trace, focus


def draw(view: View, trace: Trace, focus: Focus) -> Drawn:
    """Draw a figure both ways."""
    screen = view.figure(trace, focus).to_plotly_json()
    buffer = io.BytesIO()
    view.print(trace, focus).savefig(buffer, format="png", dpi=DPI, facecolor="white")
    return Drawn(_plain(screen), np.asarray(Image.open(buffer).convert("RGB")))


def _plain(value: Any) -> Any:
    """Return lists and dictionaries in place of arrays and tuples."""
    if isinstance(value, dict) and "bdata" in value:
        array = np.frombuffer(b64decode(value["bdata"]), value["dtype"])
        shape = value.get("shape", "")
        return _plain(array.reshape([int(n) for n in shape.split(",")] if shape else -1))
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    # JSON has no NaN.
    return None if isinstance(value, float) and np.isnan(value) else value


def hovers(trace: dict[str, Any]) -> list[str]:
    """Return the texts that a Plotly trace shows on hovering, with all values filled in."""
    if trace.get("hoverinfo") == "skip" or "hovertemplate" not in trace:
        return []
    columns = {key: _flat(trace.get(key)) for key in ("x", "y", "z", *_HOVER[1:])}
    count = max(map(len, columns.values()), default=0)
    found = []
    for place in range(count):

        def filled(match: re.Match[str], place: int = place) -> str:
            values = columns[match[1]]
            value = values[place if len(values) > place else 0]
            return format(value, match[2] or "")

        found.append(_VALUE.sub(filled, trace["hovertemplate"].replace("<extra></extra>", "")))
    # The text of a whole line is shown at each of its points, so it is counted once.
    return sorted(set(found))


def _hovers_of(screen: dict[str, Any]) -> Counter[str]:
    """Count all texts that a figure shows on hovering."""
    return Counter(text for trace in screen["data"] for text in hovers(_plain(trace)))


def _flat(value: Any) -> list[Any]:
    if not isinstance(value, list):
        return [] if value is None else [value]
    return [inner for one in value for inner in (_flat(one) if isinstance(one, list) else [one])]


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Yield every field in which two values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            missing = DEFAULTS.get(key)
            yield from differences(one.get(key, missing), other.get(key, missing), f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            yield f"{path}: {len(one)} → {len(other)} values"
            return
        for mine, theirs in zip(one, other, strict=True):
            yield from differences(mine, theirs, f"{path}[]")
    elif isinstance(one, int | float) and isinstance(other, int | float):
        if not np.isclose(one, other, rtol=CLOSE, atol=CLOSE, equal_nan=True):
            yield f"{path}: {one} → {other}"
    elif one != other and not (one in (None, "") and other in (None, "")):
        yield f"{path}: {str(one)[:60]} → {str(other)[:60]}"


def compared(before: Drawn, after: Drawn) -> tuple[list[str], int, float]:
    """Compare two figures.

    Returns:
        The fields that differ, the largest difference of pixels (0..255), and the share of pixels
        that differ by more than 8.
    """
    found: list[str] = []
    said, says = (_hovers_of(drawn.screen) for drawn in (before, after))
    found += [f"hover text lost: {text}" for text in said - says]
    found += [f"hover text added: {text}" for text in says - said]
    one, other = (_without_hover(_plain(drawn.screen)) for drawn in (before, after))
    found += differences(one, other)
    if before.print.shape != after.print.shape:
        return [*found, f"print: {before.print.shape} → {after.print.shape}"], 255, 1.0
    apart = np.abs(before.print.astype(int) - after.print).max(2)
    return found, int(apart.max()), float((apart > 8).mean())


def _without_hover(screen: dict[str, Any]) -> dict[str, Any]:
    data = []
    for trace in screen["data"]:
        dropped = _HOVER if "hovertemplate" in trace else ()
        data.append({key: value for key, value in trace.items() if key not in dropped})
    return screen | {"data": data}


def main(action: str, folder: Path) -> None:
    """Store or compare all figures."""
    folder.mkdir(parents=True, exist_ok=True)
    stored = folder / "views.pickle"
    before: dict[str, Drawn] = pickle.loads(stored.read_bytes()) if action == "compare" else {}
    after: dict[str, Drawn] = {}
    only = set(sys.argv[3:])
    for name, view, trace, focus in cases():
        if not only or view.name in only:
            after[name] = draw(view, trace, focus)
    if action == "store":
        stored.write_bytes(pickle.dumps(after))
        return
    fields: dict[str, Counter[str]] = defaultdict(Counter)
    apart: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for name, drawn in after.items():
        if name not in before:
            print(f"{name}: not stored, so not compared")
            continue
        found, largest, share = compared(before[name], drawn)
        key = name.split()[0]
        fields[key].update(set(found))
        apart[key].append((largest, share))
    for key, values in apart.items():
        largest, share = max(one for one, _ in values), max(one for _, one in values)
        print(f"{key}: {len(values)} figures, pixels apart {largest}, share {share:.3%}")
        for field, count in fields[key].most_common(40):
            print(f"    {count} × {field}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
