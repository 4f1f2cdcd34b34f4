"""The command line: a table of every command, its module and its line of help.

A command is a function with the command's name in that module, or a `typer.Typer` if it has
subcommands. Only the module of the command that runs is imported. `--help` is therefore fast, and
fetching data does not load torch.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

import typer

from areaviz.trace.errors import BackendError, InputError

# Maps each command to its module in `areaviz.cli` and its line in the list of commands.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "serve": ("serve", "Start the app on this machine, or serve the models to other apps."),
    "status": ("operator", "Show the status of an app that runs on this machine."),
    "jobs": ("operator", "List or stop the analyses of an app that runs on this machine."),
    "train": ("train", "Train a model from a recipe. A killed run resumes."),
    "evaluate": ("evaluate", "Measure a model on a test set."),
    "analyse": (
        "analyse",
        ("Run a dataset through one or two models and write one row per example."),
    ),
    "forget": (
        "forget",
        ("Delete notes, slices and analyses that have not changed for a number of days."),
    ),
    "compare": ("compare", "Compare two models and write the difference on both model cards."),
    "heads": (
        "heads",
        "Measure what each head of a translator does, compared with an untrained network.",
    ),
    "align": ("align", "Choose the heads that together align best with known links."),
    "faithfulness": (
        "faithfulness",
        "Measure how faithful an attention map is, compared with random areas.",
    ),
    "trace": ("trace", "Run a model on a sentence or picture and save what it attended to."),
    "show": ("view", "Open a saved trace in the browser."),
    "export": ("view", "Write a saved trace as a page (.html), a figure or its numbers."),
    "live": ("live", "Write one HTML file that runs a model in the browser."),
    "site": ("site", "Write a static website with live models, stored runs and cards."),
    "validate": ("validate", "Check stored traces, or print their JSON schema."),
    "bench": ("bench", "Run a benchmark of the repository."),
    "data": ("data", "Download training corpora or the models of this release."),
    "digests": (
        "digests",
        ("Verify model files against the SHA-256 digests on their cards, and add missing digests."),
    ),
    "openings": (
        "openings",
        ("Renew the stored traces that pages open with. Run this after a model changes."),
    ),
    "figures": (
        "figures",
        "Write the tables of results in README.md and docs/, from the models' cards.",
    ),
}


def build(chosen: str | None) -> typer.Typer:
    """Build the application. It lists every command but imports only the chosen one.

    Args:
        chosen: the first argument of the command line, or None if there are no arguments.
    """
    app = typer.Typer(
        help="See which areas of the input each attention head of a model attends to.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for name, (module, line) in COMMANDS.items():
        if name != chosen:
            app.command(name, help=line)(_do_nothing)
            continue
        command = getattr(import_module(f"areaviz.cli.{module}"), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, help=line)
        else:
            app.command(name)(command)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command, and print errors that users can act on without a traceback."""
    given = sys.argv[1:] if arguments is None else arguments
    arguments = [_with_home(argument) for argument in given]
    try:
        build(arguments[0] if arguments else None)(arguments, prog_name="areaviz")
    except (InputError, BackendError, OSError) as error:
        typer.echo(f"areaviz: {error}", err=True)
        raise SystemExit(1) from error
    except ModuleNotFoundError as error:
        # Without extras, only the packages for stored traces are installed. A missing module of
        # areaviz itself is a bug, so its traceback is shown.
        if (error.name or "areaviz").startswith("areaviz"):
            raise
        typer.echo(
            f"areaviz: this command needs {error.name}, which is not installed. Install the"
            " app and its models with: pip install 'areaviz[app]'",
            err=True,
        )
        raise SystemExit(1) from error


def _with_home(argument: str) -> str:
    """Return the argument with "~" expanded in an option such as `--picture=~/dog.png`.

    Shells expand "~" only at the start of a word.
    """
    name, separator, value = argument.partition("=")
    if name.startswith("--") and separator and value.startswith("~/"):
        return f"{name}={os.path.expanduser(value)}"
    return argument


def _do_nothing() -> None:
    """Do nothing. This function lets `--help` list a command without importing its module."""
