"""The command line: a table of every command, its module and its line of help.

A command is a function with the command's name in that module, or a `typer.Typer` if it has
subcommands. Only the module of the command that runs is imported. `--help` is therefore fast, and
fetching data does not load torch.

Commands that make models or analyse sets come in through the entry points `areaviz.commands`, as
those of other packages do. Where they are not installed, they are not listed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

import typer

from areaviz.extensions import ExtensibleRegistry
from areaviz.trace.errors import BackendError, InputError

Table = Mapping[str, tuple[str, str]]
"""Maps each command to its module and its line in the list of commands."""

_OURS: Table = {
    "serve": (
        "areaviz.cli.serve",
        "Start the app on this machine, or serve the models to other apps.",
    ),
    "status": ("areaviz.cli.serve", "Show the status of an app that runs on this machine."),
    "jobs": ("areaviz.cli.serve", "List or stop the analyses of an app that runs on this machine."),
    "trace": (
        "areaviz.cli.models",
        "Run a model on a sentence or picture and save what it attended to.",
    ),
    "show": ("areaviz.cli.show", "Open a saved trace in the browser."),
    "export": (
        "areaviz.cli.show",
        "Write a saved trace as a page (.html), a figure or its numbers.",
    ),
    "live": ("areaviz.cli.live", "Write one HTML file that runs a model in the browser."),
    "site": ("areaviz.cli.live", "Write a static website with live models, stored runs and cards."),
    "validate": ("areaviz.cli.show", "Check stored traces, or print their JSON schema."),
    "digests": (
        "areaviz.cli.models",
        "Verify model files against the SHA-256 digests on their cards, and add missing digests.",
    ),
}
_ORDER = (
    *("serve", "status", "jobs", "train", "evaluate", "analyse", "forget"),
    *("compare", "heads", "align", "faithfulness", "trace", "show", "export"),
    *("live", "site", "validate", "bench", "data", "digests", "openings"),
    "figures",
)
"""The order of the list. Commands of other packages follow."""


def table_problem(thing: object) -> str:
    """Return what is wrong with a table of commands, in words that follow "it"."""
    if isinstance(thing, Mapping) and all(
        isinstance(entry, tuple) and len(entry) == 2 for entry in thing.values()
    ):
        return ""
    return "does not map commands to modules and lines of help"


TABLES: Mapping[str, Table] = ExtensibleRegistry("commands", {"areaviz": _OURS}, table_problem)


def list_commands() -> Table:
    """Return every command that is installed. Those of areaviz cannot be replaced."""
    found: dict[str, tuple[str, str]] = {}
    for table in TABLES.values():
        found = {**table, **found}
    known = [name for name in _ORDER if name in found]
    return {name: found[name] for name in dict.fromkeys((*known, *sorted(found)))}


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
    for name, (module, line) in list_commands().items():
        if name != chosen:
            app.command(name, help=line)(_do_nothing)
            continue
        command = getattr(import_module(module), name)
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
