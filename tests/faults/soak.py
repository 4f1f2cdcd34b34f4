"""Long versions of the fault tests.

    python -m tests.faults.soak [PART...] [--write]

This prints the figures of each part; `--write` writes them into the table of docs/reliability.md.
PARTS has the names.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

from benchmarks.report import processor
from tests.faults.analyses import beside, write_sets
from tests.faults.backend_kills import backend_kills
from tests.faults.client import Session
from tests.faults.drift import drift
from tests.faults.files import formats
from tests.faults.kills import note_kills, row_kills
from tests.faults.load import load, ratios
from tests.faults.malformed import malformed
from tests.faults.served import Served, served
from tests.faults.silent import half_open, measure_silence, silent_sockets
from tests.faults.uploads import ALL, GONE, KEPT, PEAK, bombs, cost, largest, together

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "reliability.md"
CHECKPOINTS, MODEL = ROOT / "checkpoints", "char-tiny-area"
SESSIONS, QUESTIONS, REST = (1, 16, 32, 64), 8, 5.0
VISITORS_TOGETHER = 5
ANALYSES, SENTENCES, ASKED, PAUSE = (0, 1, 4, 8), 20_000, 40, 1.0
SOCKETS, HALF_OPEN, DESCRIPTORS = 300, 1100, 1024
FILES, KILLS, BACKEND_KILLS, VISITORS, WARM_UP = 1000, 100, 20, 220, 140
"""Sizes of the long versions.

More visitors warm the app up than the 128 sessions that Streamlit keeps for two minutes in case
their visitors come back.
"""

Row = tuple[str, str, str]
"""Columns of a row: quantity, target, measured value."""


@contextmanager
def _app(limit: Callable[[], None] | None = None) -> Iterator[Served]:
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder) / "log", {}, limit=limit) as app,
    ):
        yield app


def _wrong_inputs() -> Iterator[Row]:
    """Check every pair of parts: an architecture with an input, a function with an argument."""
    # Imported here because it imports transformers.
    from tests.adapters import wrong_inputs

    target = "a result or one sentence, no other exception"
    cases = list(wrong_inputs.pairs())
    found = [f"{case}: {said}" for case in cases if (said := wrong_inputs.problem(case))]
    print(*found, sep="\n", end="")
    yield "wrong inputs of models", target, f"{len(cases):,} cases, {len(found)} otherwise"
    calls = list(wrong_inputs.function_pairs())
    found = [f"{name}: {said}" for name, call in calls if (said := wrong_inputs.problem_of(call))]
    print(*found, sep="\n", end="")
    yield "wrong arguments of functions", target, f"{len(calls):,} calls, {len(found)} otherwise"


def _load() -> Iterator[Row]:
    with _app() as app:
        found = [load(app, CHECKPOINTS, MODEL, sessions, QUESTIONS, REST) for sessions in SESSIONS]
        front_end = app.memory()
    targets = ("", "p95 at most 3x one session, 0 errors", "p95 at most 10x, 0 errors", "")
    for one, ratio, target in zip(found, ratios(found), targets, strict=True):
        print(*one.wrong, *one.errors[:5], sep="\n", end="")
        name = f"{one.sessions} session{'s' * (one.sessions > 1)}, a question every {REST:.0f} s"
        yield name, target, f"{one}: {ratio:.1f}x one session"
    yield "memory of the app after that", "at most 1 GiB", f"{front_end:.0f} MB"


def _analyses() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        sets = Path(folder) / "sets"
        write_sets(sets, max(ANALYSES), SENTENCES)
        settings = {"AREAVIZ_DATASETS": str(sets), "AREAVIZ_ANALYSES": str(Path(folder) / "rows")}
        with served(Path(folder) / "log", settings) as app:
            found = list(beside(app, CHECKPOINTS, MODEL, ANALYSES, SENTENCES, ASKED, PAUSE))
    for one in found:
        target = "p95 at most 3x alone, nobody refused" if one.count else ""
        ratio = one.found.p95 / found[0].found.p95
        name = f"Translate during {one.count} {'analysis' if one.count == 1 else 'analyses'}"
        yield name, target, f"{one}: {ratio:.1f}x alone"


def _malformed() -> Iterator[Row]:
    for name in formats():
        for one in malformed([name], FILES):
            if one.crashed or one.unnamed:
                print(one.crashed, *one.unnamed[:3], sep="\n")
            yield (
                f"malformed {name}",
                "no crash, every error named, at most 1 GiB",
                str(one).partition(": ")[2],
            )


def _kills() -> Iterator[Row]:
    parts = {"notes": note_kills, "rows of an analysis": row_kills}
    for name, kill in parts.items():
        with tempfile.TemporaryDirectory() as folder:
            yield (
                f"kill -9 while {name} are saved",
                "none lost, none doubled, store sound",
                str(kill(Path(folder), KILLS)),
            )


def _backend() -> Iterator[Row]:
    yield (
        "kills of the model's thread",
        "0 wrong, 0 stuck",
        str(backend_kills(CHECKPOINTS, MODEL, BACKEND_KILLS)),
    )


def _drift() -> Iterator[Row]:
    with _app() as app:
        found = drift(app, MODEL, WARM_UP, VISITORS)
    yield f"memory over {VISITORS} visitors", "grows by at most 50 MB", str(found)


def _silent() -> Iterator[Row]:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    target = "a new visitor's page within 5 s, all closed within {} s, at most 20 kB of log"
    for hard in (most, DESCRIPTORS):
        with _app(partial(resource.setrlimit, resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))) as app:
            about = f"of at most {hard:,} file descriptors"
            yield (
                f"{SOCKETS} silent sockets, {about}",
                target.format(35),
                str(measure_silence(app, SOCKETS, silent_sockets)),
            )
            yield (
                f"{HALF_OPEN:,} half-open requests, {about}",
                target.format(15),
                str(measure_silence(app, HALF_OPEN, half_open)),
            )


def _uploads() -> Iterator[Row]:
    """Measure the cost of uploads to an app that has already drawn these pages."""
    with _app() as app:
        _begin(app)
        before = app.memory()
        costs = [cost(app, name, upload) for name, upload in bombs().items()]
        time.sleep(GONE)
        kept = app.memory() - before
    print(*costs, sep="\n")
    worst = max(costs, key=lambda one: one.peak)
    named = sum(not one.unforeseen for one in costs)
    yield (
        f"{len(costs)} bombs",
        f"each at most {PEAK:.0f} MB at its peak, {KEPT:.0f} MB after {GONE:.0f} s",
        (
            f"{named} named or shown; the worst {worst.peak:+.0f} MB ({worst.name}); {kept:+.0f} MB"
            f" {GONE:.0f} s later"
        ),
    )
    with _app() as app:
        _begin(app)
        before = app.memory()
        all_at_once = together(app, largest(), VISITORS_TOGETHER)
        time.sleep(GONE)
        kept = app.memory() - before
    print(*all_at_once.said, sep="\n", end="")
    yield (
        f"{VISITORS_TOGETHER} visitors with the largest trace",
        f"the app below {ALL:.0f} MB, {KEPT:.0f} MB more after {GONE:.0f} s",
        f"{all_at_once}, {kept:+.0f} MB {GONE:.0f} s after they left",
    )


def _begin(app: Served) -> None:
    """Open the models, so that they do not count as a cost of the first upload."""
    with Session.open(app.url) as session:
        session.visit("translate", urlencode({"model": MODEL, "text": "A dog sees a cat."}))
        for page in ("analyse", "your_tensors"):
            session.visit(page)


PARTS: Mapping[str, Callable[[], Iterator[Row]]] = {
    "kills": _kills,
    "backend": _backend,
    "malformed": _malformed,
    "load": _load,
    "analyses": _analyses,
    "drift": _drift,
    "silent": _silent,
    "uploads": _uploads,
    "inputs": _wrong_inputs,
}


def write(row: Row, part: str, about: str, table: Path = TABLE) -> None:
    """Write a row into the table, replacing an older row of the same quantity."""
    line = f"| {' | '.join((*row, about, part))} |"
    lines = table.read_text("utf-8").split("\n")
    head = next(number for number, one in enumerate(lines) if one.startswith("| quantity |")) + 2
    end = next(number for number in range(head, len(lines)) if not lines[number].startswith("|"))
    rows = {one.split(" | ")[0]: one for one in lines[head:end]}
    rows[line.split(" | ")[0]] = line
    table.write_text("\n".join([*lines[:head], *rows.values(), *lines[end:]]), "utf-8")


def main() -> None:
    """Run parts, print their figures, and write them if requested."""
    parser = argparse.ArgumentParser(description="Load, faults and hostile input at full length.")
    parser.add_argument(
        "parts", nargs="*", default=list(PARTS), choices=list(PARTS), help="which of them; else all"
    )
    parser.add_argument(
        "--write", action="store_true", help=f"write the figures to docs/{TABLE.name}"
    )
    options = parser.parse_args()
    about = f"{processor()}, {datetime.now(UTC):%Y-%m-%d}"
    for part in options.parts:
        for row in PARTS[part]():
            print(f"{row[0]}: {row[2]} (target: {row[1] or 'none'})", flush=True)
            if options.write:
                write(row, part, about)


if __name__ == "__main__":
    main()
