"""The command `analyse`, and the files that it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from areaviz.backend.backend import (
    DEFAULT_CHECKPOINTS,
    MODEL,
    AreaSize,
    Beam,
    Checkpoints,
    Device,
    NamedModel,
    find_model,
    make_decoding_options,
    open_run,
    open_run_together,
)
from areaviz.media.formats import is_medium
from areaviz.samples.dataset import Dataset
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.sets.dataset import BuiltDataset, bring_beside, build_dataset
from areaviz.sets.files import find_media_beside, is_table_name
from areaviz.sets.jobs import analyse_in_processes, analyse_on_ray
from areaviz.sets.joined_files import open_files
from areaviz.sets.roles import LINKS, OUTPUT, REFERENCE, SCORE, SOURCE
from areaviz.sets.run import RowFile, find_rows_path, make_header, make_rows_from_outputs
from areaviz.sets.themes.conditions import check_count
from areaviz.trace.errors import InputError, check_choice, shorten
from areaviz.trace.request import Request

if TYPE_CHECKING:
    from areaviz.sets.table import Rows


# Input of `analyse`: a sample set, a file or a folder, and the files that belong to it.


@dataclass(frozen=True, slots=True)
class Given:
    """The files that the command names, and the roles that it gives to columns."""

    source: str
    references: Sequence[Path] = ()
    links: Path | None = None
    outputs: Sequence[Path] = ()
    scores: Sequence[Path] = ()
    # Roles of columns and files, each as "NAME=ROLE".
    columns: Sequence[str] = ()
    # Names of the models to run. Files of scores may refer to these models' outputs.
    models: Sequence[str] = ()


def read_given(given: Given) -> BuiltDataset:
    """Read the set and all files that belong to it.

    Raises:
        InputError: the files cannot be used as one set.
        FileNotFoundError: a file is missing.
    """
    files: dict[str, Path] = {}
    chosen: dict[str, str] = {}
    named = [(path, REFERENCE) for path in given.references]
    named += [(given.links, LINKS)] if given.links else []
    named += [(path, OUTPUT) for path in given.outputs]
    named += [(path, SCORE) for path in given.scores]
    if given.source not in SAMPLE_SETS:
        _add_source(Path(given.source), files, chosen)
    for path, role in named:
        if path.name in files:
            raise InputError(
                f'Two of the files are called "{shorten(path.name)}", but every file of a set'
                " needs its own name. Rename one of them."
            )
        files[path.name] = path
        chosen[path.name] = role
    for column in given.columns:
        name, separator, role = column.rpartition("=")
        if not separator:
            raise InputError(
                f'--column is "{shorten(column)}". Write NAME=ROLE, such as domain=metadata or'
                " mt=output:alpha."
            )
        chosen[name] = role
    opened = open_files(files, chosen, given.models)
    if given.source in SAMPLE_SETS:
        return bring_beside(SAMPLE_SETS[given.source](), opened, given.models)
    return build_dataset(files, opened, given.models)


def _add_source(place: Path, files: dict[str, Path], chosen: dict[str, str]) -> None:
    """Add the files of `place` to `files`, and the roles that they have for certain to `chosen`.

    Args:
        place: a file of examples, whose media in the same folder are added too, or a folder.
        files: the paths by file name.
        chosen: the roles by file name.
    """
    if not place.exists():
        raise InputError(
            f'"{place}" is not a file, folder or sample set. The sample sets are:'
            f" {', '.join(SAMPLE_SETS)}."
        )
    if place.is_dir():
        files.update(_list_files(place))
        return
    files[place.name] = place
    files.update(find_media_beside(place))
    if not is_table_name(place.name) and not is_medium(place.name):
        chosen[place.name] = SOURCE


def _list_files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by name: its table and media.

    A folder without a table gives its media, or all of its files if it has no media.
    """
    found = {one.name: one for one in sorted(folder.iterdir()) if one.is_file()}
    media = {name: path for name, path in found.items() if is_medium(name)}
    tables = [name for name in found if is_table_name(name)]
    if len(tables) > 1:
        raise InputError(
            f'"{folder}" has several tables ({", ".join(tables)}). Give the path of one of them.'
        )
    if tables:
        return {tables[0]: found[tables[0]], **media}
    return media or found


# `analyse SET`: run models on a set (`--model`), or measure outputs of systems (`--outputs`).


ENGINES = ("local", "ray")


def analyse(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SET",
            help="A text with one sentence per line, a table or test set (.csv, .tsv, .json,"
            " .jsonl, .xlsx, .parquet, WMT's .xml and .sgm), a folder of pictures,"
            " sounds or clips, or the name of a sample set.",
        ),
    ],
    model: Annotated[
        list[str] | None, typer.Option(help=f"{MODEL} Repeat the option to compare two models.")
    ] = None,
    outputs: Annotated[
        list[Path] | None,
        typer.Option(help="Outputs of any system, one line per example. No model is needed."),
    ] = None,
    reference: Annotated[
        list[Path] | None, typer.Option(help="Reference texts, one per line.")
    ] = None,
    links: Annotated[
        Path | None, typer.Option(help="Gold word alignments, one line per example.")
    ] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            help="Scores of another tool, such as COMET: one number per line, or a table with"
            " a header. Give one file per system."
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=ROLE",
            help="The role of a column or file: source, reference, output:SYSTEM, score:SYSTEM,"
            " metadata, id, file, links, links-from-0, links-from-1, boxes, facts, system, corpus"
            " or ignore. Roles that you do not give are guessed.",
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Report only the examples with this value in a metadata column.",
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            help="Corpus for word frequencies, such as the training data. Default: the references."
        ),
    ] = None,
    errors: Annotated[
        list[Path] | None,
        typer.Option(
            help="Errors that raters or xCOMET marked: exported by the app, Marot's TSV, human"
            " evaluations of WMT, annotations of Pearmut, or comet-score's JSON. Default: errors"
            " that were marked in the app on this machine."
        ),
    ] = None,
    table: Annotated[Path | None, typer.Option(help="Write all rows here as CSV.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write the whole analysis here as one page (.html).")
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            help="Group the scores by length, score, rarest or words, by a score that a file"
            " gives, or by a metadata column."
        ),
    ] = "",
    themes: Annotated[
        bool,
        typer.Option(
            "--themes",
            help="Find the kinds of examples in which a system fails or is worse than the"
            " other one. The report also lists them.",
        ),
    ] = False,
    causes: Annotated[
        bool,
        typer.Option(
            "--causes",
            help="Find themes, and search the attention of each --model for the causes of its"
            " first three themes. This takes hundreds of runs per theme.",
        ),
    ] = False,
    baseline: Annotated[
        str,
        typer.Option(
            help=("The system to compare the other systems with. Default: the first system.")
        ),
    ] = "",
    beam: Beam = 1,
    area_size: AreaSize = None,
    checkpoints: Checkpoints = DEFAULT_CHECKPOINTS,
    device: Device = "auto",
    engine: Annotated[
        str, typer.Option(help="local: one process per processor. ray: two processes of Ray Data.")
    ] = "local",
) -> None:
    """Run models on a set of examples, or measure the outputs of other systems.

    An interrupted run continues where it stopped. The results are stored, so the page Analyse opens
    the set with these models without running them again.
    """
    check_choice("engine", engine, ENGINES)
    models = [find_model(name, checkpoints, device) for name in model or []]
    given = Given(
        source,
        reference or [],
        links,
        outputs or [],
        scores or [],
        column or [],
        [one.name for one in models],
    )
    brought = read_given(given)
    for note in brought.notes:
        typer.echo(note, err=True)
    if not models and not brought.outputs:
        raise InputError(
            "There is nothing to analyse. Give a --model or a file of --outputs, or set the"
            " role of a column to output."
        )
    if causes and not models:
        raise InputError("--causes searches the attention of a model. Give a --model, too.")
    if themes or causes:
        check_count(len(brought.dataset.examples))
    titles = _make_titles([*brought.outputs, *(one.name for one in models)])
    # Imported here, because the modules for reports take a second to import. The options are
    # checked before the models run, because a run can take hours.
    from areaviz.sets.analyse_results import ReportOptions, check_options, print_results

    asked = ReportOptions(
        corpus, errors or [], by, where or [], table, report, themes or causes, causes, baseline
    )
    prepared = check_options(asked, brought, titles)
    request = Request("", "", *make_decoding_options(beam), area_size)
    runs: list[Rows] = [
        make_rows_from_outputs(brought.dataset, texts) for texts in brought.outputs.values()
    ]
    systems = {}
    for one, title in zip(models, titles[len(runs) :], strict=True):
        own = replace(request, model=one.name, target=one.card.given)
        runs.append(_run(one, brought.dataset, own, (checkpoints, device, engine)))
        systems[title] = own, one
    print_results(prepared, dict(zip(titles, runs, strict=True)), systems)


def _make_titles(names: list[str]) -> list[str]:
    """Return a title for each run. A name that repeats gets a number, such as "small (2)"."""
    found: list[str] = []
    for name in names:
        found.append(name if name not in found else f"{name} ({len(found) + 1})")
    return found


def _run(
    model: NamedModel, dataset: Dataset, request: Request, place: tuple[Path, str, str]
) -> Rows:
    """Run the examples that have no row yet, with a progress bar, and return all rows.

    Args:
        model: the model.
        dataset: the examples.
        request: the model and its options.
        place: the folder of checkpoints, the device and the engine.
    """
    checkpoints, device, engine = place
    name = model.name
    if warning := model.card.unfamiliar(dataset.kind):
        typer.echo(f"{name}: {warning}", err=True)
    about = make_header(dataset, request, model.card)
    with (
        RowFile.open(find_rows_path(about), about) as file,
        typer.progressbar(length=len(dataset.examples), label=name) as bar,
    ):
        before, start = len(file), perf_counter()
        if engine == "ray":
            opened = partial(open_run, checkpoints, device, model.folders)
            analyse_on_ray(dataset, request, opened, file, _make_progress(bar))
        else:
            together = partial(open_run_together, checkpoints, device, model.folders)
            analyse_in_processes(dataset, request, together, file, _make_progress(bar))
    new, seconds = len(file) - before, perf_counter() - start
    if new:
        typer.echo(f"{name}: {new:,} examples in {seconds:,.0f} s, {new / seconds:.2f} a second")
    return file.rows


def _make_progress(bar: Any) -> Callable[[int, int], None]:
    return lambda done, _: bar.update(done - bar.pos)
