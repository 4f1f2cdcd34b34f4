"""`analyse SET --model MODEL`: a set of examples through one or two models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from areaviz.analysis.on_ray import analyse_on_ray
from areaviz.analysis.row_lines import Row
from areaviz.analysis.rows import RowFile, rows_path
from areaviz.analysis.run import Run, header
from areaviz.analysis.run import analyse as run
from areaviz.analysis.table import summary, table_of
from areaviz.backend.local import LocalBackend
from areaviz.cli.options import AreaSize, Beam, Checkpoints, Device, decoding
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
    beam: Beam = 1,
    area_size: AreaSize = None,
    checkpoints: Checkpoints = CHECKPOINTS,
    device: Device = "auto",
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
        request = Request(name, "", *decoding(beam), area_size)
        about = header(dataset, request, backend.models()[name])
        with (
            RowFile.open(rows_path(about), about) as file,
            typer.progressbar(length=len(dataset.examples), label=name) as bar,
        ):
            before, start = len(file), perf_counter()
            if engine == "ray":
                # A backend cannot be sent to Ray's processes; each opens its own.
                opened = partial(_trace_function, checkpoints, device)
                analyse_on_ray(dataset, request, opened, file, _progress_in(bar))
            else:
                run(dataset, request, backend.trace, file, _progress_in(bar))
        _print_summary(name, dataset, file.rows, len(file) - before, perf_counter() - start)
        found.append(file.rows)
    if table:
        _write(table, dataset, found)


def _read(source: str, references: Sequence[Path], links: Path | None) -> Dataset:
    """The set of that name, file or folder.

    Raises:
        InputError: it cannot be used.
        FileNotFoundError: one of its files is missing.
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
        return _read_folder(place)
    if place.suffix.lower() in TABLES:
        return read_table(place.name, _files(place.parent))
    given = {}
    for path in (place, *references, *([links] if links else [])):
        if path.name in given:
            raise InputError(
                "Two of the files have the same name; rename one, since the set knows its files by"
                " name."
            )
        given[path.name] = path
    names = [path.name for path in references]
    return read_lines(place.name, given, names, links.name if links else "")


def _read_folder(folder: Path) -> Dataset:
    """The set of a folder: its one table, or its pictures."""
    files = _files(folder)
    tables = [name for name in files if Path(name).suffix.lower() in TABLES]
    if len(tables) > 1:
        raise InputError(
            f'"{folder}" holds several tables ({", ".join(tables)}); name the one that is meant.'
        )
    return read_table(tables[0], files) if tables else read_pictures(files)


def _files(folder: Path) -> dict[str, Path]:
    return {one.name: one for one in sorted(folder.iterdir()) if one.is_file()}


def _trace_function(checkpoints: Path, device: str) -> Run:
    """What runs a request, in a process of Ray's."""
    return LocalBackend(checkpoints.resolve(), device).trace


def _progress_in(bar: Any) -> Callable[[int, int], None]:
    return lambda done, _: bar.update(done - bar.pos)


def _print_summary(
    model: str, dataset: Dataset, rows: Mapping[int, Row], new: int, seconds: float
) -> None:
    """How long the new rows took, and the figures of the whole set."""
    if new:
        typer.echo(f"{model}: {new:,} examples in {seconds:,.0f} s, {new / seconds:.2f} a second")
    for name, value in summary(dataset, rows).items():
        figure = f"{value:,.0f}" if name in ("examples", "failed") else f"{value:.4g}"
        typer.echo(f"  {name}: {figure}")


def _write(path: Path, dataset: Dataset, found: Sequence[Mapping[int, Row]]) -> None:
    """Write all rows as CSV; a text that a spreadsheet would run gets an apostrophe in front."""
    frame = table_of(dataset, found)
    safe = frame.map(lambda cell: escape(cell) if isinstance(cell, str) else cell)
    path.write_text(safe.to_csv(lineterminator="\n"), encoding="utf-8")
