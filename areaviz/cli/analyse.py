"""`areaviz analyse SET --model MODEL`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from areaviz.analysis.on_ray import analyse_on_ray
from areaviz.analysis.rows import Row, RowFile, rows_path
from areaviz.analysis.run import Run, header
from areaviz.analysis.run import analyse as run
from areaviz.analysis.table import summary, table_of
from areaviz.backend.local import LocalBackend
from areaviz.data.example_files import TABLES, read_lines, read_pictures, read_table
from areaviz.data.example_samples import SAMPLE_SETS
from areaviz.data.examples import Dataset
from areaviz.data.places import CHECKPOINTS
from areaviz.drawing.export import escape
from areaviz.trace.errors import InputError
from areaviz.trace.limits import choice
from areaviz.trace.request import Request

ENGINES = ("local", "ray")


def analyse(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SET",
            help="A text file with a sentence a line, a table "
            "(.csv, .tsv, .jsonl), a folder of pictures, or the name of a sample set.",
        ),
    ],
    model: Annotated[
        list[str], typer.Option(help="A model of the checkpoints folder; give two to compare them.")
    ],
    reference: Annotated[
        list[Path] | None, typer.Option(help="References of a text file, line by line.")
    ] = None,
    links: Annotated[
        Path | None, typer.Option(help="Gold links of a text file, line by line.")
    ] = None,
    table: Annotated[Path | None, typer.Option(help="Write all rows here as CSV.")] = None,
    beam: Annotated[int, typer.Option(min=1, max=16, help="Beam width; 1 is greedy.")] = 1,
    area_size: Annotated[
        int | None, typer.Option(min=1, max=16, help="Largest area; else as trained.")
    ] = None,
    checkpoints: Annotated[Path, typer.Option(help="The folder of models.")] = CHECKPOINTS,
    device: Annotated[str, typer.Option(help="auto, cuda, mps or cpu.")] = "auto",
    engine: Annotated[
        str, typer.Option(help="local: this process; ray: two processes of Ray Data.")
    ] = "local",
) -> None:
    """Run a set of examples through one or two models; a killed run goes on where it was.

    The rows lie where the page Analyse looks for them, so the same set with the same models opens
    there at once.
    """
    choice("engine", engine, ENGINES)
    dataset = _read(source, reference or [], links)
    backend = LocalBackend(checkpoints, device)
    found = []
    for name in model:
        choice("model", name, list(backend.models()))
        request = Request(
            name, "", "greedy" if beam == 1 else "beam", beam if beam > 1 else 4, area_size
        )
        about = header(dataset, request, backend.models()[name])
        with (
            RowFile.open(rows_path(about), about) as file,
            typer.progressbar(length=len(dataset.examples), label=name) as bar,
        ):
            before, start = len(file), perf_counter()
            if engine == "ray":
                analyse_on_ray(
                    dataset, request, partial(_opened, checkpoints, device), file, _shown_by(bar)
                )
            else:
                run(dataset, request, backend.trace, file, _shown_by(bar))
        _tell(name, dataset, file.rows, len(file) - before, perf_counter() - start)
        found.append(file.rows)
    if table:
        _write(table, dataset, found)


def _read(source: str, references: Sequence[Path], links: Path | None) -> Dataset:
    """The set that is named; InputError where it cannot be used, FileNotFoundError where a file is
    missing.
    """
    if source in SAMPLE_SETS:
        return SAMPLE_SETS[source]()
    place = Path(source)
    if not place.exists():
        raise InputError(
            f'"{source}" is no file, folder or sample set; the sample sets are:'
            f" {', '.join(SAMPLE_SETS)}."
        )
    if place.is_dir():
        files = {one.name: one for one in sorted(place.iterdir()) if one.is_file()}
        tables = [name for name in files if Path(name).suffix.lower() in TABLES]
        if len(tables) > 1:
            raise InputError(
                f'"{source}" holds several tables ({", ".join(tables)}); name the one that is'
                " meant."
            )
        return read_table(tables[0], files) if tables else read_pictures(files)
    if place.suffix.lower() in TABLES:
        return read_table(
            place.name, {one.name: one for one in place.parent.iterdir() if one.is_file()}
        )
    given = [place, *references, *([links] if links else [])]
    names = [one.name for one in given]
    if len(set(names)) < len(names):
        raise InputError(
            "Two of the files have the same name; rename one, since the set knows its files by"
            " name."
        )
    return read_lines(
        place.name,
        dict(zip(names, given, strict=True)),
        [one.name for one in references],
        links.name if links else "",
    )


def _opened(checkpoints: Path, device: str) -> Run:
    """What runs a request, opened in a process of Ray's."""
    return LocalBackend(checkpoints.resolve(), device).trace


def _shown_by(bar: Any) -> Callable[[int, int], None]:
    return lambda done, _: bar.update(done - bar.pos)


def _tell(
    model: str, dataset: Dataset, rows: Mapping[int, Row], fresh: int, seconds: float
) -> None:
    """How long the new rows took, and the figures of the whole set."""
    if fresh:
        typer.echo(
            f"{model}: {fresh:,} examples in {seconds:,.0f} s, {fresh / seconds:.2f} a second"
        )
    for name, value in summary(dataset, rows).items():
        typer.echo(
            f"  {name}: {value:,.0f}"
            if name in ("examples", "failed")
            else f"  {name}: {value:.4g}"
        )


def _write(path: Path, dataset: Dataset, found: Sequence[Mapping[int, Row]]) -> None:
    """All rows as CSV; a text that a spreadsheet would run gets an apostrophe in front."""
    frame = table_of(dataset, found)
    safe = frame.map(lambda cell: escape(cell) if isinstance(cell, str) else cell)
    path.write_text(safe.to_csv(lineterminator="\n"), encoding="utf-8")
