"""`analyse SET --model MODEL`: a set through models; `--outputs FILE`: what others wrote for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from areaviz.analysis.on_processes import analyse_in_processes
from areaviz.analysis.on_ray import analyse_on_ray
from areaviz.analysis.rows import RowFile, rows_path
from areaviz.analysis.run import header, rows_of_outputs
from areaviz.analysis.themes.material import check_count
from areaviz.cli.models import named, open_run, open_run_together
from areaviz.cli.options import CHECKPOINTS, MODEL, AreaSize, Beam, Checkpoints, Device, decoding
from areaviz.data.example_files import read_files, read_lines, read_table
from areaviz.data.example_samples import SAMPLE_SETS
from areaviz.data.examples import Dataset
from areaviz.data.file_kinds import TABLES, check_kinds, ending_of
from areaviz.data.set_files import read_output
from areaviz.trace.errors import InputError
from areaviz.trace.limits import choice
from areaviz.trace.request import Request

if TYPE_CHECKING:
    from areaviz.analysis.table import Rows

ENGINES = ("local", "ray")


def analyse(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SET",
            help="A text file with a sentence a line, a table "
            "(.csv, .tsv, .jsonl), a folder of pictures, sounds or clips, or the name of a sample"
            " set.",
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(help=f"{MODEL} Give two to compare them."),
    ] = None,
    outputs: Annotated[
        list[Path] | None,
        typer.Option(help="What any system wrote, a line an example; no model is needed."),
    ] = None,
    reference: Annotated[
        list[Path] | None, typer.Option(help="References of a text file, line by line.")
    ] = None,
    links: Annotated[
        Path | None, typer.Option(help="Gold links of a text file, line by line.")
    ] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            help="Scores of another tool, such as COMET: a number a line, or a table whose header "
            "names them; one file for each of the systems."
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            help="A text whose word frequencies sort words and examples, such as what a model was "
            "trained on; else the references'."
        ),
    ] = None,
    errors: Annotated[
        list[Path] | None,
        typer.Option(
            help="Errors that raters marked, as exported by the app or as Marot's TSV; else those "
            "that were marked in the app on this machine."
        ),
    ] = None,
    table: Annotated[Path | None, typer.Option(help="Write all rows here as CSV.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write the whole analysis here as one page (.html).")
    ] = None,
    by: Annotated[
        str,
        typer.Option(help="Scores by bucket, such as length or words, or by a score of a file."),
    ] = "",
    themes: Annotated[
        bool,
        typer.Option(
            "--themes",
            help="Find the kinds of examples in which a system fails, or is worse than the other"
            " one; also in the report.",
        ),
    ] = False,
    beam: Beam = 1,
    area_size: AreaSize = None,
    checkpoints: Checkpoints = CHECKPOINTS,
    device: Device = "auto",
    engine: Annotated[
        str, typer.Option(help="local: a process a processor; ray: two processes of Ray Data.")
    ] = "local",
) -> None:
    """Run a set of examples through models, or measure what other systems wrote for it.

    A killed run goes on where it was. The rows lie where the page Analyse looks for them, so the
    same set with the same models opens there at once.
    """
    choice("engine", engine, ENGINES)
    if not model and not outputs:
        raise InputError("Nothing is to be analysed; name a --model or a file of --outputs.")
    dataset = _read(source, reference or [], links)
    if themes:
        # Before models run, which can take minutes.
        check_count(len(dataset.examples))
    runs: dict[str, Rows] = {}
    for path in outputs or []:
        lines = read_output(path.name, {path.name: path}, dataset)
        runs[_free(path.name, runs)] = rows_of_outputs(dataset, lines)
    request = Request("", "", *decoding(beam), area_size)
    for name in model or []:
        place = checkpoints, device, engine
        # Of a folder the last part of its path.
        runs[_free(Path(name).name, runs)] = _run(name, dataset, request, place)
    # What tells of the rows takes a second to import, which they need not wait for.
    from areaviz.cli.analyse_report import Asked, tell

    asked = Asked(scores or [], corpus, errors or [], by, table, report, themes)
    tell(dataset, runs, asked)


def _free(name: str, taken: Mapping[str, object]) -> str:
    """A name for a run, another one where two runs have the same."""
    return name if name not in taken else f"{name} ({len(taken) + 1})"


def _run(name: str, dataset: Dataset, request: Request, place: tuple[Path, str, str]) -> Rows:
    """The rows of a model, old ones and new ones, with a bar and how long the new ones took.

    Args:
        name: of the model, or its folder.
        dataset: its examples.
        request: the options.
        place: the folder of checkpoints, the device and the engine.
    """
    checkpoints, device, engine = place
    model = named(name, checkpoints, device)
    name = model.name
    request = replace(request, model=name, target=model.card.given)
    if warning := model.card.unfamiliar(dataset.kind):
        typer.echo(f"{name}: {warning}", err=True)
    about = header(dataset, request, model.card)
    with (
        RowFile.open(rows_path(about), about) as file,
        typer.progressbar(length=len(dataset.examples), label=name) as bar,
    ):
        before, start = len(file), perf_counter()
        if engine == "ray":
            opened = partial(open_run, checkpoints, device, model.folders)
            analyse_on_ray(dataset, request, opened, file, _progress_in(bar))
        else:
            together = partial(open_run_together, checkpoints, device, model.folders)
            analyse_in_processes(dataset, request, together, file, _progress_in(bar))
    new, seconds = len(file) - before, perf_counter() - start
    if new:
        typer.echo(f"{name}: {new:,} examples in {seconds:,.0f} s, {new / seconds:.2f} a second")
    return file.rows


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
    check_kinds([place.name])
    if ending_of(place.name) in TABLES:
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
    """The set of a folder: its one table, or its pictures, sounds or clips."""
    files = _files(folder)
    tables = [name for name in files if ending_of(name) in TABLES]
    if len(tables) > 1:
        raise InputError(
            f'"{folder}" holds several tables ({", ".join(tables)}); name the one that is meant.'
        )
    return read_table(tables[0], files) if tables else read_files(files)


def _files(folder: Path) -> dict[str, Path]:
    return {one.name: one for one in sorted(folder.iterdir()) if one.is_file()}


def _progress_in(bar: Any) -> Callable[[int, int], None]:
    return lambda done, _: bar.update(done - bar.pos)
