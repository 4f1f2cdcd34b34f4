"""The freeze: what must stay equal while code moves, as digests and short values in `freeze.json`.

    python -m tests.freeze [PART ...]           compare all parts, or some of them
    python -m tests.freeze --quick              compare only the parts that take seconds
    python -m tests.freeze --write [PART ...]   store them anew, after a change on purpose

Paths, the version of areaviz, and comments in pages are left out of the digests. The parts of
`EXACT` contain drawn pages, or numbers that a model computed. Their digests hold only on the
platform that `freeze.json` names: system, machine, vector instructions, Python, and the packages of
`PACKAGES`, which requirements.txt pins. On another platform they are not compared.

The part "models" has numbers, which are compared with a relative and absolute tolerance of
`TOLERANCE`, and outputs and shapes, which are exact. It and all other parts hold on every platform.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from importlib.metadata import version
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer
from torch.backends.cpu import get_cpu_capability
from typer.testing import CliRunner

from areaviz import __version__
from areaviz.app.four_ways import MechanismsState
from areaviz.app.key_forms import FORM_TABLES
from areaviz.app.page import Link, State
from areaviz.app.tasks import (
    CaptionState,
    ListenState,
    ReadState,
    ReasonState,
    TranslateState,
    WatchState,
)
from areaviz.app.translate_picture import PictureTranslationState
from areaviz.app.your_tensors import TensorsState
from areaviz.backend.local import LocalBackend
from areaviz.backend.server import make_api_text
from areaviz.cards.card import read_cards
from areaviz.cli import build, list_commands
from areaviz.cli.live import make_live_html
from areaviz.draw.select import list_sites
from areaviz.draw.view import figure_caption, format_json
from areaviz.lab.tables import (
    FINDING_TABLES,
    format_results,
    format_summary,
    with_findings,
    with_forms,
)
from areaviz.page.content import POINTED
from areaviz.page.page import export
from areaviz.samples.paths import ASSETS, CHECKPOINTS, HERO, HOME, OPENINGS
from areaviz.sets.app.state import AnalyseState
from areaviz.site.home import list_stored_traces
from areaviz.site.pages import make_site
from areaviz.trace.file import load
from areaviz.trace.record import AttentionMap, Trace
from areaviz.trace.request import FOCUS, REQUEST, Focus, Request, to_params
from areaviz.views.message import serialise_payload
from areaviz.views.views import KINDS, VIEWS
from tests.api_reference import reference
from tests.test_registry import NAMES, asked

Value = Any
"""A value of JSON: a digest, a number, or a list or mapping of them."""
Frozen = Mapping[str, Value]

ROOT = Path(__file__).parents[1]
FILE = Path(__file__).with_name("freeze.json")
PACKAGES = ("matplotlib", "numpy", "pillow", "plotly", "torch")
TOLERANCE = 1e-4
DIGITS = 16
"""Number of hexadecimal digits of a digest."""
WIDTH = "400"
"""Columns of the help texts. No path is broken over two lines, so paths can be left out."""
STATES: tuple[type[State], ...] = (
    *(State, AnalyseState, CaptionState, ListenState, MechanismsState, PictureTranslationState),
    *(ReadState, ReasonState, TensorsState, TranslateState, WatchState),
)
LINK: Mapping[str, str] = {
    **{"model": "token-boundary", "text": "A dog.", "method": "beam", "beam": "2", "seed": "3"},
    **{"area": "2", "sample": "1", "site": "encoder self", "layer": "2", "head": "1"},
    **{"side": "memory", "items": "1-2", "unit": "word", "areas": "several", "read": "densest"},
    **{"mass": "60", "against": "average", "view": "pyramid", "compare": "token-regular"},
    **{"why": "1-1-1-2.1-2-1-1", "attribution": "1", "swap": "digit-3", "foil": "2.ein"},
    **{
        "changes": "hide:source:items=1",
        "picture": "scene-34",
        "sound": "digits-plain",
        "clip": "three-left-grows",
    },
    **{"look": "2", "reading": "items-soft", "row": "1", "column": "2", "writes": "1", "q": "2"},
    **{
        "set": "Moving digits",
        "example": "3",
        "part": "themes",
        "tour": "2",
        "lang": "de",
        "blind": "1",
    },
    **{"sees": "with", "hidden": "1", "other": "scene-9"},
}
"""A link with a value for every parameter of a page."""
_COMMENT = re.compile(r"^[ \t]*(//[^\n]*|/\*(?:(?!\*/).)*\*/)?[ \t]*\n", re.MULTILINE | re.DOTALL)
_POLICY = re.compile(r"\bsha256-[\w+/]{43}=")
LIVE = ("memory-stories", "token-boundary")
"""The models of the live pages: one without tokens, and one with them."""


def digest(content: str | bytes) -> str:
    """Return the digest of a content without paths and without the version of areaviz."""
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    data = data.replace(str(ROOT).encode(), b"ROOT")
    data = data.replace(f"areaviz {__version__}".encode(), b"areaviz VERSION")
    return hashlib.sha256(data).hexdigest()[:DIGITS]


def digest_page(content: bytes) -> str:
    """Return the digest of a page, without empty lines and comments that fill whole lines.

    Comments of scripts and styles name files of the package, and these names change in a move. The
    page's policy has the digests of its scripts, which change with the comments.
    """
    return digest(_POLICY.sub("", _COMMENT.sub("", content.decode("utf-8"))))


def freeze_api() -> Frozen:
    """Return the public names with a digest of their signatures and docstrings."""
    entries = re.split(r"^### ", reference(), flags=re.MULTILINE)[1:]
    return {entry.partition("\n")[0]: digest(entry) for entry in entries}


def freeze_commands() -> Frozen:
    """Return the digests of the help texts of all commands and their subcommands."""
    found = {"": _read_help([])}
    for name in list_commands():
        found[name] = _read_help([name])
        command = typer.main.get_command(build(name))
        for inner in getattr(getattr(command, "commands", {}).get(name), "commands", {}):
            found[f"{name} {inner}"] = _read_help([name, inner])
    return found


def _read_help(command: Sequence[str]) -> str:
    """Return the digest of a help text. The widths of its boxes depend on paths."""
    app = build(command[0] if command else None)
    environment = {"COLUMNS": WIDTH, "TERMINAL_WIDTH": WIDTH, "NO_COLOR": "1"}
    ran = CliRunner().invoke(app, [*command, "--help"], env=environment, prog_name="areaviz")
    assert ran.exit_code == 0, ran.output
    return digest(re.sub(r"[ ─]+", " ", ran.output))


def freeze_links() -> Frozen:
    """Return the parameters of links, and for each state its defaults and what a link sets."""
    cards = {card.name: card for card in read_cards(CHECKPOINTS)}
    link = Link.read(LINK, cards)
    found: dict[str, Value] = {
        "request": {name: repr(getattr(Request("", ""), at)) for name, (at, _) in REQUEST.items()},
        "focus": {name: repr(getattr(Focus(""), at)) for name, (at, _) in FOCUS.items()},
    }
    asked = link.request, link.focus
    request = to_params(*asked).items()
    for kind in STATES:
        first, then = kind(), kind().from_link(link)
        given, read = (_read_fields(state) for state in (first, then))
        found[kind.__name__] = {
            "defaults": {name: given[name] for name in given if name not in _read_fields(State())},
            "read": {name: read[name] for name in read if read[name] != given[name]},
            "written": dict(sorted(then.to_link(*asked).items() - request)),
        }
    found["State"]["defaults"] = _read_fields(State())
    return found


def _read_fields(state: State) -> dict[str, str]:
    """Return the fields of a state as texts. A long text, such as a picture, is a digest."""
    texts = {one.name: repr(getattr(state, one.name)) for one in fields(state)}
    return {name: text if len(text) < 200 else digest(text) for name, text in texts.items()}


def freeze_server() -> Frozen:
    """Return the digest of the description of the server of models."""
    return {"openapi.json": digest(make_api_text())}


def freeze_folders() -> Frozen:
    """Return one digest for each folder of stored pictures and traces."""
    found = {}
    for folder in (ROOT / "tests" / "browser" / "screens", ASSETS):
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=folder, capture_output=True)
        names = sorted(filter(None, listed.stdout.decode().split("\0")))
        lines = [f"{name} {digest((folder / name).read_bytes())}" for name in names]
        found[folder.relative_to(ROOT).as_posix()] = f"{len(names)} {digest(chr(10).join(lines))}"
    return found


def freeze_cards() -> Frozen:
    """Return the digests of the cards, and of the tables that are written from them."""
    cards = read_cards(CHECKPOINTS)
    marks = [*FINDING_TABLES, *FORM_TABLES]
    places = "\n".join(f"<!-- {mark}:begin -->\n<!-- {mark}:end -->" for mark in marks)
    findings = with_forms(with_findings(places, cards), FORM_TABLES, CHECKPOINTS)
    return {
        "summary": digest("\n".join(format_summary(cards))),
        "results": digest("\n".join(format_results(cards))),
        "findings": digest(findings),
        **{
            path.parent.name: digest(path.read_bytes())
            for path in sorted(CHECKPOINTS.glob("*/card.json"))
        },
    }


def freeze_pages() -> Frozen:
    """Return the digests of twelve exported pages with runs of different kinds."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, path in list_stored_traces(HOME, OPENINGS).items():
            page = export(load(path), Path(folder) / "page.html")
            found[name] = digest_page(page.read_bytes())
    return found


def freeze_live_pages() -> Frozen:
    """Return the digests of live pages."""
    return {name: digest_page(make_live_html(name, CHECKPOINTS).encode()) for name in LIVE}


def freeze_site() -> Frozen:
    """Return the digest of every file of the static site."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_site(folder, CHECKPOINTS, lambda name: make_live_html(name, CHECKPOINTS))
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {
            path.relative_to(folder).as_posix(): digest_page(path.read_bytes()) for path in paths
        }


def freeze_views() -> Frozen:
    """Return digests of everything that is drawn for the stored traces.

    Each digest covers all traces: of the tables and of the figures of a view, of the messages to a
    component, and of the captions.
    """
    found: dict[str, Any] = defaultdict(hashlib.sha256)
    for path in (HERO, HOME, *sorted(OPENINGS.glob("*.npz"))):
        trace = load(path)
        for site in list_sites(trace):
            for focus in list_foci(trace, site):
                for name, content in iterate_drawn(trace, focus):
                    found[name].update(digest(content).encode())
    return {name: one.hexdigest()[:DIGITS] for name, one in sorted(found.items())}


def list_foci(trace: Trace, site: str) -> list[Focus]:
    """Return two selections of a site: nothing, and items of the last layer and head."""
    attention = trace.maps.get(site)
    if attention is None:
        return [Focus(site), Focus(site, items=(1,))]
    last = attention.layers - 1
    return [Focus(site), Focus(site, last, attention.heads - 1, items=(0, 2), reading="densest")]


def iterate_drawn(trace: Trace, focus: Focus) -> Iterator[tuple[str, str | bytes]]:
    """Yield the captions, tables, figures and messages of a selection, each with its name."""
    yield "caption", figure_caption(trace, focus)
    for view in VIEWS.values():
        if view.fits(trace, focus):
            yield f"{view.name} table", format_json(view.table(trace, focus))
            yield f"{view.name} figure", view.figure(trace, focus).to_json()
    for name, kind in KINDS.items():
        if kind.fits(trace, focus):
            yield f"{name} message", serialise_payload(kind.message(trace, focus, 64))
            if name in POINTED and focus.site in trace.maps:
                yield f"{name} table", format_json(POINTED[name].table(trace, focus))


def freeze_models(names: Sequence[str] = NAMES) -> Frozen:
    """Return the output and numbers of the maps of every model, for one request each."""
    backend = LocalBackend(CHECKPOINTS, "cpu")
    return {name: describe_trace(backend.trace(asked(name))) for name in names}


def describe_trace(trace: Trace) -> Frozen:
    """Return the output of a run, and numbers of each of its maps and gazes."""
    gazes = {
        site: {"shape": gaze.seen.shape, "corners": _shorten(gaze.corners.mean((0, 1)).ravel())}
        for site, gaze in trace.gazes.items()
    }
    return {
        "output": trace.fields[trace.output.field].raw,
        "probabilities": _shorten([trace.output.probabilities.sum()]),
        "maps": {site: describe_map(one) for site, one in trace.maps.items()},
        "gazes": gazes,
    }


def describe_map(attention: AttentionMap) -> Frozen:
    """Return numbers of a map that do not depend on the order of almost equal weights.

    Returns:
        The shape, the sum of squares of each layer, and of the last query of the last layer the
        three heaviest weights and the mean index of its areas.
    """
    weights_LHQA = np.asarray(attention.weights, np.float64)
    last_A = weights_LHQA[-1, :, -1].mean(0)
    return {
        "shape": weights_LHQA.shape,
        "squares": _shorten((weights_LHQA**2).sum((1, 2, 3))),
        "heaviest": _shorten(np.sort(last_A)[::-1][:3]),
        "place": _shorten([last_A @ np.arange(len(last_A))]),
    }


def _shorten(values: Sequence[float] | np.ndarray) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


PARTS: Mapping[str, Callable[[], Frozen]] = {
    "api": freeze_api,
    "cards": freeze_cards,
    "folders": freeze_folders,
    "links": freeze_links,
    "server": freeze_server,
    "commands": freeze_commands,
    "models": freeze_models,
    "pages": freeze_pages,
    "live pages": freeze_live_pages,
    "site": freeze_site,
    "views": freeze_views,
}
"""The function that computes each part."""
QUICK = ("api", "cards", "folders", "links", "server")
"""The parts that take seconds."""
EXACT = frozenset({"pages", "live pages", "site", "views"})
"""The parts whose digests hold only on the platform that wrote them."""


def describe_platform() -> str:
    """Return the names and versions on which the digests of `EXACT` depend."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    python = ".".join(platform.python_version_tuple()[:2])
    machine = f"{platform.system()} {platform.machine()} {get_cpu_capability()}"
    return f"{machine}, Python {python}, {packages}"


def compute(part: str) -> Frozen:
    """Return a part as it is read from the file."""
    # The order of a sum depends on the number of threads.
    torch.set_num_threads(1)
    found: Frozen = json.loads(json.dumps(PARTS[part]()))
    return found


def iterate_differences(stored: Value, found: Value, path: str) -> Iterator[str]:
    """Yield a line for each value that differs. Numbers may differ by `TOLERANCE`."""
    if isinstance(stored, dict) and isinstance(found, dict):
        for name in sorted(stored.keys() | found.keys()):
            yield from iterate_differences(stored.get(name), found.get(name), f"{path} › {name}")
    elif isinstance(stored, list) and isinstance(found, list) and len(stored) == len(found):
        for number, pair in enumerate(zip(stored, found, strict=True)):
            yield from iterate_differences(*pair, f"{path}[{number}]")
    elif isinstance(stored, float) and isinstance(found, float):
        if not isclose(stored, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield f"{path}: {stored} → {found}"
    elif stored != found:
        yield f"{path}: {stored} → {found}"


def read_file() -> dict[str, Any]:
    """Return the stored platform and parts."""
    stored: dict[str, Any] = {"platform": "", "parts": {}}
    return json.loads(FILE.read_text("utf-8")) if FILE.exists() else stored


def main(arguments: Sequence[str]) -> int:
    """Compare or write parts, and return the exit status."""
    chosen = [name for name in PARTS if name in arguments]
    chosen = chosen or list(QUICK if "--quick" in arguments else PARTS)
    stored = read_file()
    if "--write" in arguments:
        if stored["platform"] not in ("", describe_platform()) and not EXACT.issubset(chosen):
            print("The stored parts are of another platform. Write all parts.")
            return 1
        parts = stored["parts"] | {name: compute(name) for name in chosen}
        written = {"platform": describe_platform(), "parts": parts}
        FILE.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", "utf-8")
        return 0
    lines: list[str] = []
    for name in chosen:
        if name in EXACT and stored["platform"] != describe_platform():
            print(f"{name}: not compared, because it was stored on {stored['platform']}")
            continue
        lines += iterate_differences(stored["parts"].get(name), compute(name), name)
    print("\n".join(lines) or "Nothing changed.")
    return int(bool(lines))


if __name__ == "__main__":
    os.chdir(ROOT)
    raise SystemExit(main(sys.argv[1:]))
