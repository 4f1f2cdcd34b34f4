"""The command line: one file a command, listed here with one line each.

The file `areaviz/cli/NAME.py` holds a function `NAME` (or a `typer.Typer` of that name, for a
command with commands of its own). Only the command that was asked for is imported, so `--help`
stays quick and fetching data does not load torch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

import typer

from areaviz.trace.errors import BackendError, InputError

COMMANDS: Mapping[str, str] = {
    "serve": "Start the app on this machine, or serve the models to others.",
    "status": "Say what an app that runs on this machine is doing.",
    "jobs": "List the analyses that an app on this machine runs, or stop one.",
    "train": "Train a model from a recipe; a killed run resumes.",
    "evaluate": "Measure a model on a test set.",
    "analyse": "Run a set of examples through one or two models, a row an example.",
    "forget": "Delete notes, slices and analyses that nobody changed for some days.",
    "compare": "State the difference of two models on both cards.",
    "heads": "Measure what each head of a translator does, beside the network untrained.",
    "faithfulness": "Measure how faithful an attention map is, beside areas picked by chance.",
    "trace": "Run a model on a sentence or picture and save what it attended to.",
    "show": "Look into a saved trace in the browser.",
    "export": "Write a saved trace as a page (.html), a figure or its numbers.",
    "bench": "Run a benchmark of the repository.",
    "data": "Fetch the corpora that models are trained on.",
    "digests": "Compare the models' files with their cards, and add what a card does not name yet.",
    "figures": "Write the table of figures in README.md from the models' cards.",
}


def build(asked: str | None) -> typer.Typer:
    """The application with every command listed and only the command `asked` for imported."""
    app = typer.Typer(
        help="See which areas of a memory every attention head of a trained model attends to.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for name, line in COMMANDS.items():
        command = _load(name) if name == asked else _stub
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, help=line)
        else:
            app.command(name, help=command.__doc__ if name == asked else line)(command)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; what the user can mend is told in one sentence, without a traceback."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        build(arguments[0] if arguments else None)(arguments, prog_name="areaviz")
    except (InputError, BackendError, FileNotFoundError) as error:
        typer.echo(f"areaviz: {error}", err=True)
        raise SystemExit(1) from error


def _load(name: str) -> Callable[..., None] | typer.Typer:
    command: Callable[..., None] | typer.Typer = getattr(import_module(f"areaviz.cli.{name}"), name)
    return command


def _stub() -> None:
    """Stands in the list for a command that was not asked for."""
