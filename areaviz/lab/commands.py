"""The commands of the lab: train, evaluate, compare, heads, align, bench, data and openings.

Two more are elsewhere: `faithfulness` is in `measure.py`, and `figures` is in `tables.py`.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from areaviz.backend.backend import (
    DEFAULT_CHECKPOINTS,
    MODEL,
    Checkpoints,
    Device,
    RecordingBackend,
    find_model,
    open_backend,
)
from areaviz.lab.multi30k import get_multi30k
from areaviz.measures.alignment import SITE, Linked, best_alignment
from areaviz.samples.paths import (
    ASSETS,
    CHECKPOINTS,
    MODELS_SETTING,
    ROOT,
    find_data_folder,
    find_fetched_models_folder,
    get_models,
)
from areaviz.trace import file
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.request import Request
from areaviz.trace.safe_files import write_whole

# `areaviz train CONFIG`: train a model.


def train(
    config: Annotated[
        Path, typer.Argument(help="A recipe, for example configs/char-tiny-area.toml.")
    ],
    runs: Annotated[
        Path, typer.Option(help="The folder in which the run gets its own folder.")
    ] = Path("runs"),
    data: Annotated[Path | None, typer.Option(help="Data folder. Default: AREAVIZ_DATA.")] = None,
    device: Annotated[str, typer.Option(help="auto, cuda, mps or cpu.")] = "auto",
    seed: Annotated[
        int | None, typer.Option(min=0, help="Another seed. The run is then called NAME-seedN.")
    ] = None,
) -> None:
    """Train a model from a recipe. An interrupted run continues from its last validation."""
    from areaviz.lab.train import load_recipe, train_recipe

    recipe = load_recipe(config)
    if seed is not None:
        recipe = replace(recipe, seed=seed, name=f"{recipe.name}-seed{seed}")
    folder = train_recipe(recipe, data or find_data_folder(), runs, device)
    typer.echo(
        f"The checkpoint is in {folder}. Measure it with: python -m areaviz evaluate {folder}"
    )


# `areaviz evaluate CHECKPOINT`: measure a model on a split.


def evaluate(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint folder.")],
    split: Annotated[
        str,
        typer.Option(help="val or test. Translators: val, test_2016_flickr or test_2017_flickr."),
    ] = "val",
    beam: Annotated[int, typer.Option(min=1, max=16, help="Beam width. 1 is greedy.")] = 4,
    traces: Annotated[
        int, typer.Option(min=0, help="Number of examples for the measures of attention.")
    ] = 200,
    outputs: Annotated[
        bool, typer.Option(help="Write and score outputs. Otherwise only attention is measured.")
    ] = True,
    output: Annotated[
        Path | None, typer.Option(help="File for the model's outputs, one per line.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Data folder. Default: AREAVIZ_DATA.")] = None,
    device: Annotated[str, typer.Option(help="auto, cuda, mps or cpu.")] = "auto",
) -> None:
    """Measure a model and its attention on a split, and write the results on its card."""
    from areaviz.lab.measure import Options, evaluate_checkpoint

    folder = data or find_data_folder()
    options = Options(beam, traces, outputs)
    card, written = evaluate_checkpoint(checkpoint, folder, split, options, device)
    for name, values in ((split, card.figures.get(split, {})), *card.attention.items()):
        typer.echo(name)
        for key, value in values.items():
            shown = f"{value:.3f}" if isinstance(value, float) else value
            typer.echo(f"  {key}: {shown}")
    if output:
        write_whole(output, "".join(f"{line}\n" for line in written).encode())


# `areaviz compare CHECKPOINT BASELINE`: state how two models differ.


def compare(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint folder.")],
    baseline: Annotated[Path, typer.Argument(help="The checkpoint folder to compare it with.")],
    translations: Annotated[
        Path, typer.Argument(help="The file of `evaluate --output` for the checkpoint.")
    ],
    baseline_translations: Annotated[
        Path, typer.Argument(help="The file of `evaluate --output` for the baseline.")
    ],
    split: Annotated[
        str, typer.Option(help="The split on which both were evaluated.")
    ] = "test_2016_flickr",
    data: Annotated[Path | None, typer.Option(help="Data folder. Default: AREAVIZ_DATA.")] = None,
) -> None:
    """State the difference of two models on both cards, with its significance."""
    from areaviz.lab.tasks.translation import state_difference

    folder = data or find_data_folder()
    typer.echo(
        state_difference(checkpoint, baseline, split, translations, baseline_translations, folder)
    )


# `areaviz heads CHECKPOINT`: measure the heads of a translator.


EXAMPLES = 100
"""Number of sentences from the start of a split over which a table of forms is measured."""
SHOWN = ("multi_share", "long_exact_lift", "dependence", "dependence_share", "sink")


def heads(
    checkpoint: Annotated[Path, typer.Argument(help="The checkpoint folder of a translator.")],
    into: Annotated[
        Path | None, typer.Option(help="Add the figures to this table of trained variants (JSON).")
    ] = None,
    examples: Annotated[
        int, typer.Option(min=1, help="Validation sentences to measure over.")
    ] = EXAMPLES,
    data: Annotated[Path | None, typer.Option(help="Data folder. Default: AREAVIZ_DATA.")] = None,
    device: Annotated[str, typer.Option(help="auto, cuda, mps or cpu.")] = "auto",
) -> None:
    """Measure every head of a translator on validation data, and of its untrained network."""
    from areaviz.lab.heads import add_to_table, make_table_entry

    name, entry = make_table_entry(checkpoint, data or find_data_folder(), examples, device)
    if into is not None:  # Write before printing. A closed pipe would end the process here.
        add_to_table(into, name, entry)
    typer.echo(
        f"{name}: validation loss {entry['best_loss']:.4f} over {entry['examples']} sentences"
    )
    for site, figures in entry["heads"].items():
        for layer, row in enumerate(figures["multi_share"]):
            for head in range(len(row)):
                values = [(measure, figures[measure][layer][head]) for measure in SHOWN]
                shown = ", ".join(
                    f"{measure} {'-' if value is None else f'{value:.3f}'}"
                    for measure, value in values
                )
                typer.echo(f"  {site}, layer {layer + 1}, head {head + 1}: {shown}")


# `areaviz align MODEL SET`: choose the heads that together align best with known links.


def align(
    model: Annotated[str, typer.Argument(help=MODEL)],
    source: Annotated[
        Path,
        typer.Argument(
            help=("Texts, or a table with source, reference and links, one example per line.")
        ),
    ],
    reference: Annotated[
        Path | None, typer.Option(help="The translations, one per line, if the table has none.")
    ] = None,
    links: Annotated[
        Path | None,
        typer.Option(help="The links of each line, such as 0-0 2-1, if the table has none."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=ROLE",
            help="The role of a column or file, such as links.txt=links-from-0. See `analyse`.",
        ),
    ] = None,
    site: Annotated[str, typer.Option(help="The attention type of the heads.")] = SITE,
    checkpoints: Checkpoints = DEFAULT_CHECKPOINTS,
    device: Device = "auto",
) -> None:
    """Choose the heads on every second example, and report their alignment on the other ones.

    The report also has the results of baselines.
    """
    from areaviz.sets.analyse import Given, read_given

    references = () if reference is None else (reference,)
    examples = read_given(
        Given(str(source), references, links, columns=column or ())
    ).dataset.examples
    found = find_model(model, checkpoints, device)
    run = found.open()
    linked: list[Linked] = []
    for one in examples:
        known = one.sure | one.possible
        if known and one.references:
            request = Request(found.name, one.text, target=one.references[0])
            linked.append((run.trace(request), known))
    typer.echo(best_alignment(linked, site).sentence)


# `areaviz bench NAME`: run a benchmark of the repository.


def bench(
    name: Annotated[
        str, typer.Argument(help="The benchmark. Leave it out to list all benchmarks.")
    ] = "",
    options: Annotated[
        list[str] | None, typer.Argument(help="Options of the benchmark, after two hyphens.")
    ] = None,
) -> None:
    """Run a benchmark of the repository, for example: areaviz bench app -- --items 32 128.

    To list a benchmark's own options, run: areaviz bench NAME -- --help.
    """
    found = list_benchmarks()
    if not name:
        width = max(map(len, found))
        for each, line in found.items():
            typer.echo(f"{each:{width}}  {line}")
        return
    if name not in found:
        raise InputError(f'Benchmark "{name}" does not exist. Choose one of {", ".join(found)}.')
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *(options or [])], cwd=ROOT, check=False
    )
    raise typer.Exit(done.returncode)


def list_benchmarks() -> dict[str, str]:
    """Return the available benchmarks, each with the first line of its docstring.

    Raises:
        BackendError: the package was installed without the repository, which contains them.
    """
    found = {}
    if (ROOT / "pyproject.toml").exists():
        for script in sorted((ROOT / "benchmarks").glob("*.py")):
            text = script.read_text(encoding="utf-8")
            if 'if __name__ == "__main__"' in text:
                found[script.stem] = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    if not found:
        raise BackendError(
            "The benchmarks come with the repository, not with the package. Run this from a"
            " clone of it."
        )
    return found


# `data get`: fetch corpora that models are trained on, or models that are not in the wheel.


data = typer.Typer(no_args_is_help=True)


class Download(StrEnum):
    """Names of downloads."""

    MULTI30K = "multi30k"
    MODELS = "models"


@data.callback()
def _group() -> None:
    """Keep `get` a subcommand. Without this callback, typer would merge `get` with `data`."""


@data.command()
def get(
    what: Annotated[Download, typer.Argument(help="A corpus, or the models of this release.")],
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the files. Default: AREAVIZ_DATA or data/ for a corpus, and the app's"
            " folder of models for models."
        ),
    ] = None,
) -> None:
    """Download a corpus or the models, and check every file.

    Files that are already present and complete are kept. Multi30k (2 MB: English, German and
    French) is for non-commercial research and education only. The models come from the address in
    the setting AREAVIZ_MODELS_ADDRESS. A clone of the repository already has all models.
    """
    if what is Download.MODELS:
        folder = folder or find_fetched_models_folder()
        names = get_models(folder, os.environ.get(MODELS_SETTING, ""), _show)
        typer.echo(f"{len(names)} models in {folder}. Every file has the digest of this release.")
        return
    files = get_multi30k(folder or find_data_folder(), progress=_show)
    typer.echo(
        f"{what}: {len(files)} files in {files[0].parent}, all correct. They are for"
        " non-commercial research and education only."
    )


def _show(done: float, name: str) -> None:
    typer.echo(f"{done:4.0%}  {name}")


# `areaviz openings`: store the traces that pages open with, and the pictures of Home.


def openings(
    checkpoints: Annotated[Path, typer.Option(help="The folder of the models.")] = CHECKPOINTS,
    assets: Annotated[Path, typer.Option(help="The folder to write to.")] = ASSETS,
    only_analysis: Annotated[
        bool, typer.Option("--only-analysis", help="Store only the rows for the page Analyse.")
    ] = False,
) -> None:
    """Run the models for every page's first view and ready examples, and store the results.

    The pages then open at once, because they show these stored results.
    """
    from areaviz.app.home import build_hero_trace, draw_pictures, store_openings
    from areaviz.learn.model_questions import store_runs
    from areaviz.sets.run import store_analysis

    backend = open_backend(checkpoints, "auto", ())
    rows = store_analysis(assets / "analysis", backend.models(), backend.trace)
    typer.echo(f"{assets / 'analysis'}: the rows of {len(rows)} models.")
    if only_analysis:
        return
    folder = assets / "openings"
    opened = store_openings(folder, folder / "looks.json", checkpoints)
    store_runs(RecordingBackend(backend, folder))
    file.save(opened[0].traces[0], assets / "home.npz", half=True)
    file.save(build_hero_trace(opened), assets / "hero.npz", half=True)
    pictures = draw_pictures(opened, assets / "cards")
    paths = [*folder.glob("*.npz"), *pictures]
    size = sum(path.stat().st_size for path in paths) / 2**20
    typer.echo(
        f"{assets}: {len(paths) - len(pictures)} traces, {len(pictures)} pictures, {size:.1f} MiB."
    )
